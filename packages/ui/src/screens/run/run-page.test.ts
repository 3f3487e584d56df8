import type { RunView } from '@autonomous/shared';
import { aGate, aRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { RunPage } from './run-page.tsx';

const workflows = [aWorkflow()];
const shown = (run: RunView, tab?: string, others: readonly RunView[] = []): string =>
  shownIn(
    { runs: [run, ...others], workflows },
    createElement(RunPage, { screen: { name: 'run', runId: run.id, tab } }),
  );
const countOf = (html: string, text: string): number => html.split(text).length - 1;

describe('The notices of a run', () => {
  const notices = ['The file .env is left out of the sandbox.'];

  it.each([undefined, 'overview', 'transcript'])('stand once beside an open gate, in the tab %s', (tab) => {
    const run = aRun({ notices, gate: aGate(), status: 'awaiting_approval' });
    const html = shown(run, tab);
    expect(countOf(html, 'The file .env is left out of the sandbox.')).toBe(1);
    expect(html.indexOf('class="notices"')).toBeGreaterThan(html.indexOf('Approve the plan for a login page?'));
    expect(html.indexOf('class="notices"')).toBeLessThan(html.indexOf('class="tabs"'));
  });

  it('stand once in the overview while no gate is open', () => {
    expect(countOf(shown(aRun({ notices })), 'The file .env')).toBe(1);
    expect(countOf(shown(aRun({ notices }), 'transcript'), 'The file .env')).toBe(0);
  });

  it('are folded from the fourth on', () => {
    const html = (count: number) =>
      shown(aRun({ notices: ['one', 'two', 'three', 'four', 'five'].slice(0, count), gate: aGate() }));
    expect(html(3)).not.toContain('more notice');
    expect(html(4)).toContain('<li>three</li></ul><details><summary>1 more notice</summary><ul><li>four</li>');
    expect(html(5)).toContain('2 more notices');
  });
});

describe('A run that works', () => {
  const pause = 'Pause run</button>';

  it.each(['running', 'awaiting_children'] as const)('can be paused while it is %s', (status) => {
    expect(shown(aRun({ status, gate: null }))).toContain(pause);
  });

  it.each(['queued', 'completed', 'cancelled'] as const)('cannot be paused while it is %s', (status) => {
    expect(shown(aRun({ status, gate: null }))).not.toContain(pause);
  });

  it('cannot be paused while it waits for a person', () => {
    expect(shown(aRun({ status: 'awaiting_approval', gate: aGate() }))).not.toContain(pause);
  });

  it.each([
    ['held', 'Continue', 'Try again'],
    ['agent_failed', 'Try again', 'Continue'],
  ] as const)('goes on after a pause of reason %s by: %s', (reason, button, other) => {
    const gate = aGate({ kind: 'pause', reason, decisions: ['retry'] });
    const html = shown(aRun({ status: 'paused', gate }));
    expect(html).toContain(button);
    expect(html).not.toContain(other);
  });
});

describe('The page of a parent', () => {
  const parent = aRun({ id: 'parent', status: 'awaiting_children', originalRequest: 'The whole' });
  const child = (id: string, of = 'parent', parts: Partial<RunView> = {}): RunView =>
    aRun({ id, originalRequest: `Phase ${id}`, parent: { runId: of, key: `${of}/1/${id}`, depth: 1 }, ...parts });
  const waits = (id: string, of?: string): RunView =>
    child(id, of, { status: 'awaiting_approval', gate: aGate({ id: `${id}.4`, runId: id }) });

  it.each([undefined, 'transcript'])('leads to each run below it that waits for a person, in the tab %s', (tab) => {
    const html = shown(parent, tab, [waits('1'), child('2'), waits('3', '2')]);
    expect(html).toContain('2 child runs wait for you');
    expect(html).toContain('<a href="/runs/1/gates/4">Phase 1</a> <span class="quiet">Plan</span>');
    expect(html).toContain('<a href="/runs/3/gates/4">Phase 3</a> <span class="quiet">Plan</span>');
    expect(html.indexOf('wait for you')).toBeLessThan(html.indexOf('class="tabs"'));
    expect(shown(parent, tab, [waits('1')])).toContain('1 child run waits for you');
  });

  it('says nothing of waiting where no run below it waits', () => {
    expect(shown(parent, undefined, [child('1')])).not.toContain('for you');
    expect(shown(waits('1'))).not.toContain('child run');
  });
});

it('shows time and size of what is under way before its command, since a narrow screen cuts the end of the line', () => {
  const run = aRun();
  const pulse = { runId: run.id, activity: 'install', kind: 'pulse', text: 'npm ci', at: run.createdAt } as const;
  const html = shownIn(
    { runs: [run], progress: [{ ...pulse, elapsedMs: 80_000, bytes: 212_000_000, lastLine: 'added 12 packages' }] },
    createElement(RunPage, { screen: { name: 'run', runId: run.id } }),
  );
  expect(html).toContain('<span>1 min 20 s · 212 MB · npm ci · added 12 packages</span>');
});

describe('A run that completed with failures', () => {
  const failures = ['F003 Pictures is skipped: it failed 3 times.', 'F004 Both cannot be reached: it depends on F003.'];
  const run = aRun({ status: 'completed', failures, completedAt: '2030-01-01T01:00:00.000Z' });

  it('names each failure in its overview, and no success', () => {
    const html = shown(run);
    expect(html).toContain('Completed with failures');
    expect(html).toContain('<section class="fault" aria-label="Failures">');
    for (const failure of failures) expect(html).toContain(`<li>${failure}</li>`);
    expect(html).not.toContain('status completed');
  });

  it('has the sign of a warning on the page of its parent', () => {
    const parent = aRun({ id: 'parent', status: 'running' });
    const html = shown(parent, undefined, [{ ...run, id: 'child', parent: { runId: 'parent', key: 'k', depth: 1 } }]);
    expect(html).toContain('status failed');
    expect(html).toContain('Completed with failures');
    expect(html).not.toContain('status completed');
  });

  it('shows hidden characters of a failure as escapes', () => {
    const html = shown({ ...run, failures: ['F001 \u202Egnp.exe is skipped.'] });
    expect(html).not.toContain('\u202E');
    expect(html).toContain('is skipped.');
  });
});

describe('The overview of a run that its workflow projects', () => {
  const projected = [aWorkflow({ hasProjection: true })];
  const parent = aRun({ id: 'parent', progress: { done: 1, total: 3 } });
  const child = aRun({ id: 'c', originalRequest: 'Child', parent: { runId: 'parent', key: 'k', depth: 1 } });

  it('has its progress above the projection and its child runs below it', () => {
    const html = shownIn(
      { runs: [parent, child], workflows: projected },
      createElement(RunPage, { screen: { name: 'run', runId: 'parent' } }),
    );
    expect(html).toContain('<h2>Progress <span class="quiet">1 of 3</span></h2><progress');
    expect(html).toContain('<h2>Child runs <span class="quiet">1</span></h2><ul class="children">');
    expect(html.indexOf('<progress')).toBeLessThan(html.indexOf('<h2>Child runs'));
  });
});
