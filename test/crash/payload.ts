/** The payload of a message follows from its id, so that every reader can tell a changed one. */
const MAX_FILL = 1500;

export interface CrashPayload {
  readonly id: string;
  readonly fill: string;
}

export function payloadOf(id: string): CrashPayload {
  let size = 0;
  for (const character of id) size = (size * 31 + character.charCodeAt(0)) % MAX_FILL;
  return { id, fill: id.repeat(Math.ceil(size / id.length)).slice(0, size) };
}

export function isPayloadOf(id: string, payload: unknown): boolean {
  return JSON.stringify(payload) === JSON.stringify(payloadOf(id));
}
