import type { Baseline, RunView } from '@autonomous/shared';
import { aRun, evidenceOf, redEvidence } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { EvidenceList } from './evidence.tsx';

const shown = (run: RunView, others: readonly RunView[] = []): string =>
  shownIn({ runs: [run, ...others] }, createElement(EvidenceList, { run }));
const aBaseline = (parts: Partial<Baseline> = {}): Baseline => ({
  commit: 'af822ecc00',
  codeTree: 't0',
  passed: false,
  command: { command: 'npm test', exitCode: 1, durationMs: 1_200, output: 'not ok 3 - greets by name' },
  sandbox: 'bubblewrap',
  tests: { runner: 'node:test', executed: 3, failed: 1, skipped: 0, finished: true },
  ...parts,
});

describe('The evidence of a run', () => {
  it('shows the output of checks that failed on the base commit already, before there is a result', () => {
    const html = shown(aRun({ evidence: [], baseline: aBaseline() }));
    expect(html).toContain('The base commit: failed');
    expect(html).toContain('On the base commit the checks failed already (exit code 1); 3 tests ran, 1 failed.');
    expect(html).toContain('not ok 3 - greets by name');
    expect(html).toContain('No checks of a result have run yet.');
  });

  it('calls a baseline without an outcome neither passed nor failed', () => {
    const html = shown(aRun({ evidence: [], baseline: aBaseline({ failure: 'npm ci ended with exit code 1' }) }));
    expect(html).toContain('The base commit: no outcome');
    expect(html).toContain('npm ci ended with exit code 1');
    expect(html).not.toContain('was ended');
  });

  it('leads to the child runs of a parent whose own checks have not run', () => {
    const run = aRun({ id: 'parent', evidence: [] });
    const child = aRun({ id: 'child', parent: { runId: 'parent', key: 'parent/1/child', depth: 1 } });
    const link = '<a href="/runs/parent">See its child runs</a>.';
    expect(shown(run, [child])).toContain(`No checks of this run itself have run yet. ${link}`);
    expect(shown(run, [child])).not.toContain('No checks have run yet.');
    expect(shown({ ...run, baseline: aBaseline() }, [child])).toContain(`of this run itself have run yet. ${link}`);
  });

  it('names the failed tests, without characters that are not seen', () => {
    const tests = {
      runner: 'r',
      executed: 9,
      failed: 5,
      skipped: 0,
      finished: true,
      failedNames: ['a.js: pays\u202e 2 of 3', 'b.js: old'],
      failedAnew: ['a.js: pays\u202e 2 of 3'],
    };
    const html = shown(aRun({ evidence: [redEvidence({ tests })] }));
    expect(html).toMatch(
      /Failed, and not on the base commit:<\/p><ul><li><code>a\.js: pays⟨U\+202E⟩ 2 of 3<\/code><\/li><\/ul>/,
    );
    expect(html).toMatch(
      /Failed, on the base commit too:<\/p><ul><li><code>b\.js: old<\/code><\/li><li class="quiet">and 3 more, whose names are not stored<\/li>/,
    );
  });

  it('does not call checks passed that stand in a record alone', () => {
    const html = shown(aRun({ evidence: [evidenceOf({ rebuiltAt: '2030-01-01T00:00:00.000Z' })] }));
    expect(html).toContain('The result as it is: not run by this server (passed by the record)');
    expect(html).not.toContain('status completed');
  });

  it('says that nothing has run where neither is there', () => {
    expect(shown(aRun({ evidence: [] }))).toContain('No checks have run yet.');
  });
});
