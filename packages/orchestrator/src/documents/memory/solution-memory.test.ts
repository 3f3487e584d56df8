import { describe, expect, it } from 'vitest';
import { extendMemory, parseMemory } from './memory.ts';
import { MAX_OF_RUNS, MOST_OF_RUNS, selectMemory, type Solution } from './solution-memory.ts';

const stale: Solution = {
  problem: 'Snapshot tests of the invoices fail after a rename',
  cause: 'The generated client is not rebuilt',
  fix: 'Run the generator before the tests',
  files: ['src/invoices/client.ts'],
};

function extended(text: string | null, runId: string, solutions: readonly Solution[]): string {
  const update = { project: 'Shop', date: '2026-02-25', title: 'Rename', runId, decisions: [] };
  return extendMemory(text, { ...update, techStack: [], patterns: [], solutions }).text;
}

describe('what runs learned', () => {
  it('stands in a section of its own, once for a run', () => {
    const text = extended(null, 'r-1', [stale, stale]);
    expect(text).toContain(`## Past Decisions

### 2026-02-25: Rename (run: r-1)
- No decisions were recorded

## Solutions

### 2026-02-25: Snapshot tests of the invoices fail after a rename (run: r-1)
- Cause: The generated client is not rebuilt
- Fix: Run the generator before the tests
- Files: src/invoices/client.ts
`);
    expect(extended(text, 'r-1', [stale])).toBe(text);
    expect(parseMemory(text).pastDecisions.map(({ title }) => title)).toEqual(['Rename']);
  });

  it('is added behind what people wrote there, and sections after it stay', () => {
    const written = `## Solutions

A word before.

### The port is taken in CI
Use port 0.

## Notes

Keep this.
`;
    const text = extended(written, 'r-1', [stale]);
    expect(text).toContain('A word before.\n\n### The port is taken in CI\nUse port 0.\n\n### 2026-02-25: Snapshot');
    expect(text).toMatch(/- Files: src\/invoices\/client\.ts\n\n## Notes\n\nKeep this\.\n/);
    const windows = extended(written.replaceAll('\n', '\r\n'), 'r-1', [stale]);
    expect(windows.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  it('cannot pass for an entry of another run, or of a person', () => {
    const text = extended(null, 'r-1', [
      { ...stale, problem: 'x (run: r-9)\n\n### A person says (run: r-8)', cause: 'y\n### Mine', files: ['a\n## B'] },
    ]);
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '## Past Decisions',
      '### 2026-02-25: Rename (run: r-1)',
      '## Solutions',
      '### 2026-02-25: x ( r-9) ### A person says ( r-8) (run: r-1)',
    ]);
  });

  it('is bounded: the oldest of runs go first, those of people never', () => {
    let text = '## Solutions\n\n### A person’s own\nKeep it.\n';
    for (let run = 0; run < MOST_OF_RUNS + 5; run += 1)
      text = extended(text, `r-${run}`, [{ ...stale, problem: `Problem ${run}` }]);
    const headings = text.split('\n').filter((line) => /^### .*(?:Problem|person)/.test(line));
    expect(headings).toHaveLength(MOST_OF_RUNS + 1);
    expect(headings[0]).toBe('### A person’s own');
    expect(headings[1]).toContain('Problem 5 (run: r-5)');
    const long = { ...stale, cause: 'c'.repeat(500), fix: 'f'.repeat(500) };
    const solutions = Array.from({ length: 60 }, (_, index) => ({ ...long, problem: `Long ${index}` }));
    const bounded = extended(null, 'r-1', solutions);
    expect(bounded.length).toBeLessThan(MAX_OF_RUNS + 1_000);
    expect(bounded).toContain('Long 59 (run');
    expect(bounded).not.toContain('Long 0 (run');
  });
});

describe('the memory of a prompt', () => {
  const memory = [
    ['r-1', stale],
    ['r-2', { problem: 'Colours of the chart are wrong', cause: 'Two palettes', fix: 'Use theme.ts', files: [] }],
    ['r-3', { problem: 'The build is slow', cause: 'No cache', fix: 'Keep the folder', files: ['tools/build.mjs'] }],
  ].reduce<string | null>((text, [runId, solution]) => extended(text, runId as string, [solution as Solution]), null);

  it('has the solutions that have words in common with the work, and no others', () => {
    const text = selectMemory(memory ?? '', 'Rename the total of InvoiceRow and adapt the snapshot tests');
    expect(text).toContain('Snapshot tests of the invoices');
    expect(text).not.toMatch(/palettes|build\.mjs/);
    expect(text).toContain('### 2026-02-25: Rename (run: r-1)');
  });

  it('has those whose files the work names', () => {
    expect(selectMemory(memory ?? '', 'Touch build.mjs')).toContain('- Files: tools/build.mjs');
  });

  it('finds the names of files in any sentence, and looks for few of an entry', () => {
    for (const about of ['See `tools/build.mjs`.', 'at tools/build.mjs:12:3', '(./build.mjs)', 'build.mjs, then'])
      expect(selectMemory(memory ?? '', about)).toContain('- Files: tools/build.mjs');
    const files = Array.from({ length: 19 }, (_, index) => `q${index}zz`);
    const text = `## Solutions\n\n### 2026-01-01: Q (run: r-9)\n- Files: ${files.join(', ')}, wanted.ts, last.ts\n`;
    expect(selectMemory(text, 'wanted.ts')).toContain('last.ts');
    expect(selectMemory(text, 'last.ts')).not.toContain('wanted.ts');
  });

  it('passes over one that is too long for the prompt', () => {
    const text = `${memory ?? ''}\n### Snapshot of the invoices\n${'long '.repeat(2_000)}\n`;
    const shown = selectMemory(text, 'Rename the total of InvoiceRow and adapt the snapshot tests');
    expect(shown).toContain('Snapshot tests of the invoices');
    expect(shown).not.toContain('long long');
  });

  it('has none where nothing meets', () => {
    const text = selectMemory(memory ?? '', 'Translate the footer');
    expect(text).not.toContain('Solutions');
    expect(text).toContain('## Past Decisions');
  });

  it('has what people wrote first, and few of many', () => {
    const many = Array.from({ length: 40 }, (_, index) => ({
      ...stale,
      problem: `Snapshot tests fail, case ${index}`,
    }));
    const text = `${extended(null, 'r-1', many)}\n### Snapshots\nNever update them by hand.\n`;
    const shown = selectMemory(text, 'Snapshot tests of the invoices client');
    const headings = shown.split('\n').filter((line) => line.startsWith('### '));
    expect(headings[1]).toBe('### Snapshots');
    expect(headings).toHaveLength(11);
    expect(headings[2]).toContain('case 39');
  });

  it('is the file as it is without such a section', () => {
    expect(selectMemory('# Notes\n\nx\n', 'anything')).toBe('# Notes\n\nx\n');
  });
});
