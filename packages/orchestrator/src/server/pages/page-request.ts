/** Tells requests of a browser that opens an address, which get a page, from those of programs, which get JSON. */
import type { IncomingMessage } from 'node:http';

/** Pages may be asked for everywhere but below `/api`, however that is written. */
export function wantsPage({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return takesHtml(headers.accept ?? '') && !/^\/+api\b/i.test(decoded(url));
}

function takesHtml(accept: string): boolean {
  return accept.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
