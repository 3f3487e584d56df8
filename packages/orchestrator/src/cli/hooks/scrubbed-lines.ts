/** Takes secrets out of a transcript: what looks like a token, and the secrets among the variables of this process. */
import { createScrubber } from '../../secrets/secrets.ts';

/** Names of variables whose values are secrets. */
const SECRET_NAME = /key|token|secret|passw|credential/i;
/** Values that are none: figures, words and paths. */
const NO_SECRET = /^(?:\d*|[a-z]{0,20}|[~/].*)$/i;

/**
 * The lines without secrets, beginning with the last one. Lines that are not looked through within `maxMs` milliseconds are left out.
 */
export function scrubbedLines(
  lines: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  maxMs: number,
): { readonly lines: readonly string[]; readonly isCut: boolean } {
  const { scrub } = createScrubber(secretsIn(env));
  const until = performance.now() + maxMs;
  const scrubbed: string[] = [];
  for (const line of lines.toReversed()) {
    if (performance.now() > until) break;
    scrubbed.push(scrub(line));
  }
  return { lines: scrubbed.toReversed(), isCut: scrubbed.length < lines.length };
}

function secretsIn(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && !NO_SECRET.test(value) ? [value] : [],
  );
}
