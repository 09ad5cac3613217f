/**
 * How answers leave: bytes with a status, no framework serialisation. Controllers on the hot path hand
 * the reply to a service that renders bytes and calls one of these.
 */
import type { FastifyReply } from 'fastify';

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
/**
 * Up to here a string is no dearer (Node sends it in one write together with the header), and the
 * memory the bytes were rendered in is free again at once.
 */
export const SMALL_BYTES = 32 * 1024;

/** Sends JSON that is already bytes; those up to SMALL_BYTES may be reused afterwards. */
export function sendJsonBytes(reply: FastifyReply, status: number, body: Uint8Array): void {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  void reply
    .code(status)
    .header('content-type', JSON_TYPE)
    .send(bytes.length <= SMALL_BYTES ? bytes.toString() : bytes);
}

/** Serialises and sends a small object. */
export function sendJson(reply: FastifyReply, status: number, body: unknown): void {
  void reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(body));
}

export function sendText(reply: FastifyReply, status: number, text: string): void {
  void reply.code(status).header('content-type', TEXT_TYPE).send(text);
}

/** 204: no body, no content-length. */
export function sendEmpty(reply: FastifyReply): void {
  void reply.code(204).send();
}
