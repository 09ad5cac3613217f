/**
 * Why a request body was refused, as a value: `bad_body` when the JSON or its shape is wrong,
 * `bad_request` when the shape is right and a value is not (architecture §11).
 */

export interface BodyRefusal {
  readonly code: 'bad_body' | 'bad_request';
  readonly text: string;
}

export function badBody(text: string): BodyRefusal {
  return { code: 'bad_body', text };
}

export function badRequest(text: string): BodyRefusal {
  return { code: 'bad_request', text };
}

/** A field name as the scanners compare it. */
export function fieldName(name: string): Uint8Array {
  return Uint8Array.from(name, (letter) => letter.charCodeAt(0));
}
