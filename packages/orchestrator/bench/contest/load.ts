/** Load on an engine, and the state in which its memory is measured. */

/** Works through as many as can be begun in the time, `concurrency` at once. @returns how many */
export async function drive(
  all: readonly string[],
  concurrency: number,
  seconds: number,
  work: (id: string) => Promise<void>,
): Promise<number> {
  const until = performance.now() + seconds * 1_000;
  const next = all.values();
  let done = 0;
  const client = async (): Promise<void> => {
    for (const id of next) {
      if (performance.now() >= until) return;
      await work(id);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, all.length) }, client));
  return done;
}

export function ids(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** What is only waiting to be collected is no memory that a waiting run needs. */
export async function settleMemory(): Promise<void> {
  const SETTLING_MS = 300;
  for (let round = 0; round < 2; round++) {
    // The usual kinds keep pages for later; this one gives back what it can, as an idle process does in time.
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    await new Promise((resolve) => {
      setTimeout(resolve, SETTLING_MS);
    });
  }
}
