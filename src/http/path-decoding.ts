/**
 * Makes any request path safe for a router that insists on valid percent escapes: a `%` not followed
 * by two hex digits is kept literally (messages.md §1.1), and so is an escape run that is no UTF-8.
 */
const HEX = /^[0-9a-fA-F]{2}/;

/** Rewrites only what is broken; the common path without `%` returns the same string. */
export function repairPathEscapes(url: string): string {
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  if (!path.includes('%')) return url;
  const repaired = path
    .split('/')
    .map((segment) => repairSegment(segment))
    .join('/');
  return queryAt < 0 ? repaired : repaired + url.slice(queryAt);
}

function repairSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  let out = '';
  for (let i = 0; i < segment.length; i += 1) {
    const char = segment.charAt(i);
    out += char === '%' && !HEX.test(segment.slice(i + 1)) ? '%25' : char;
  }
  return isDecodable(out) ? out : segment.replaceAll('%', '%25');
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}
