/** Runs of one project that merge at the same time: how often the whole suite is run for them. */
import type { RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aPlan, aScript, aServer, passes, when, writes } from '../fixtures/orchestrator.fixture.ts';

const RUNS = Number(process.env['MERGING_RUNS'] ?? 3);
const names = Array.from({ length: RUNS }, (_, index) => `change ${String.fromCharCode(97 + index)}.`);
/** Finds the call of a run by its own request: the memory names those of runs before it too. */
const asked = (name: string) => `BEGIN request =====\nMake ${name}`;

describe('runs that merge into one base at the same time', () => {
  it('are each checked once against the newest base, and not twice where the code is the same', async () => {
    const server = await aServer({
      script: aScript({
        planner: names.map((name) => when(asked(name), aPlan({ title: name }))),
        implementer: names.map((name) =>
          when(asked(name), writes({ [`${name.replace(/\W+/g, '-')}sh`]: `echo ${name}\n` })),
        ),
        validator: Array.from({ length: 3 * RUNS }, () => passes()),
      }),
    });
    const config = { trustMode: { planning: 'auto' as const }, git: { autoMerge: true } };
    const launched = await Promise.all(names.map((name) => server.launch(`Make ${name}`, config)));
    const done: RunView[] = [];
    // One after the other: the last to merge waits for all others.
    for (const run of launched) done.push(await server.until(run, { status: 'completed' }));
    expect(done.map(({ merged }) => merged?.baseBranch)).toEqual(names.map(() => 'main'));
    const evidence = (await Promise.all(done.map(({ id }) => server.payloads(id, 'EVIDENCE_RECORDED')))).flat();
    const made = evidence.filter(({ reusedFrom }) => reusedFrom === undefined);
    // Once for each result, and once more for each that finds a newer base: the first to merge finds none.
    expect(made.length).toBeLessThanOrEqual(2 * RUNS - 1);
    for (const { id, codeTree } of done) {
      const final = evidence.filter((each) => each.codeTree === codeTree && each.passed);
      expect(final.map(({ mode }) => mode).sort(), id).toEqual(['as_is', 'base_tests']);
    }
    if (process.env['MERGING_RUNS'] !== undefined)
      process.stdout.write(`${RUNS} runs: ${evidence.length} pieces of evidence, ${made.length} runs of the suite\n`);
  });
});
