/** Text without what differs each time the same thing is done: times, durations, ids of runs and commits. Pure. */

const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '<time>'],
  [/\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b/g, '<duration>'],
  // Durations in output of test runners, such as `# duration_ms 12.3` and `time: 0.5`.
  [/\b(duration(?:_ms)?|time|elapsed)(["']?[ \t]{0,4}[:=]?[ \t]{0,4})\d+(?:\.\d+)?/gi, '$1$2<duration>'],
  [/\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g, '<hash>'],
  [/\b0x[0-9a-f]{6,16}\b/gi, '<address>'],
  // Ids of runs.
  [/\b[a-km-z2-9]{6}-[a-km-z2-9]{6}\b/g, '<run>'],
];

/** The text with a mark in place of each such piece. Two texts that are then the same say the same. */
export function withoutVolatile(text: string): string {
  return VOLATILE.reduce((rest, [pattern, mark]) => rest.replace(pattern, mark), text);
}
