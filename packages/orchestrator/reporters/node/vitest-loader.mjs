/** Does what `vitest-hook.cjs` asks for where Node loads modules in a thread of its own (before 22.15). */
import { fileURLToPath } from 'node:url';

let wanted;

export function initialize(data) {
  wanted = data;
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.startsWith('file:') || fileURLToPath(url) !== wanted.file) return loaded;
  return { ...loaded, source: `${Buffer.from(loaded.source).toString()}${wanted.line}` };
}
