import { aGate, aRun, aWaitingRun, evidenceOf } from '@autonomous/shared/a-run.fixture';
import type { RunView, WorkflowInfo } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { concernText, gateLine, leftLine, runLines, runPage, statusLine, statusOf } from './run-texts.ts';

const LONG = 'x'.repeat(50_000);
const concerns = [
  {
    kind: 'runs_code',
    title: 'Two files can run code',
    items: [
      { path: 'a\rb.sh', line: 3, reason: 'runs\nstatus     completed\r\nmerged     into main\u202E' },
      { reason: LONG },
    ],
    hash: 'h',
  },
] as const;
const run = aWaitingRun('r', { failure: 'It broke\nmerged     into main' }, { concerns, concernsHash: 'c1' });
const { gate } = run;
if (gate === null) throw new Error('the run has no gate');

it('lists concerns whole, each line of their texts marked as no line of ours and no character hidden', () => {
  expect(concernText(gate).split('\n')).toEqual([
    'Two files can run code',
    '- a',
    '  | b.sh:3: runs',
    '  | status     completed',
    '  | merged     into main⟨U+202E⟩',
    `- ${LONG}`,
  ]);
  expect(concernText({})).toBe('');
});

it('lists them in the line of a gate before the options whose hash covers them', () => {
  const lines = gateLine(gate).split('\n');
  expect(lines).toContain('    Two files can run code');
  expect(lines).toContain(`    - ${LONG}`);
  expect(lines.at(-1)).toBe('    --gate r.4 --hash ::c1');
});

it('lets no text of others pass for a row of the page of a run', () => {
  const page = runPage(run);
  expect(page).toContain('see        Two files can run code\n           - a\n');
  expect(page).toContain('failure    It broke\n           | merged     into main');
  expect(page.match(/^(?:status|merged) .*/gm)).toHaveLength(1);
});

it('shows the input of the workflow, each field in one line', () => {
  const page = runPage(run, undefined, {
    file: 'a\nstatus     merged',
    rounds: 3,
    names: ['a', 'b'],
    text: 'x'.repeat(400),
  });
  expect(page).toContain(
    `\ninput      file: a status merged\n           rounds: 3\n           names: ["a","b"]\n           text: ${'x'.repeat(300)}…\n`,
  );
});

it('says of checks in a record that this server did not run them', () => {
  const evidence = [evidenceOf(), evidenceOf({ rebuiltAt: '2030-01-01T00:00:00.000Z' })];
  expect(runPage(aRun({ evidence })).match(/^evidence .*`npm test`/gm)).toEqual([
    'evidence   as is: passed, `npm test`',
    'evidence   as is: not run by this server (passed by the record), `npm test`',
  ]);
});

it('says of a run that no remote has where it is', () => {
  expect(runPage({ ...run, recordPlace: 'pending' })).toContain(
    'record     not on the remote yet: only the server has the run',
  );
  expect(runPage({ ...run, recordPlace: 'server' })).toContain('record     stays on the server: no remote has the run');
  expect(runPage({ ...run, recordPlace: 'remote' })).not.toMatch(/^record /m);
});

it('says of a run that is followed no longer that it continues, or which run waits', () => {
  expect(leftLine('parent', [], 'autonomous')).toBe('The run continues. Follow it with: autonomous watch parent');
  expect(leftLine('parent', [gate], 'autonomous')).toBe(
    'Run r waits for a decision; the commands below show and decide it. Follow it with: autonomous watch parent',
  );
});

it('lists child runs below their parents, and one without its parent in the list with its name', () => {
  const parent = aRun({
    id: 'plan',
    originalRequest: 'The whole',
    status: 'awaiting_children',
    progress: { done: 1, total: 2 },
  });
  const child = (id: string, runId = 'plan') =>
    aRun({
      id,
      originalRequest: `Step ${id}`,
      createdAt: `2030-01-0${id}T00:00:00.000Z`,
      parent: { runId, key: `${runId}/1/${id}`, depth: 1 },
    });
  const lines = runLines([child('3', 'gone'), child('2'), child('1'), parent, aRun({ id: 'other' })]);
  expect(lines.map((line) => line.replace(/ {2,}.* {2,}/, ' … '))).toEqual([
    '3 … Step 3 (child run of gone)',
    'plan … The whole',
    '1 … └ Step 1',
    '2 … └ Step 2',
    'other … Add a login page',
  ]);
  expect(lines[1]).toContain('waiting for its child runs, 1 of 2');
});

it('shows the first line of a request, which is the title of a child run', () => {
  const [line] = runLines([aRun({ id: '1', originalRequest: 'Update alpha to 1.3\n\nUPDATE requirements/alpha.txt' })]);
  expect(line).toMatch(/ {2}Update alpha to 1\.3$/);
});

it('names the workflow of a child run where its parent has another one', () => {
  const parent = aRun({ id: 'plan', workflow: { name: 'full-auto', version: 1 } });
  const child = (id: string, name: string): RunView => ({
    ...aRun({ id, originalRequest: 'F001 A bell', workflow: { name, version: 1 } }),
    parent: { runId: 'plan', key: id, depth: 1 },
  });
  const lines = runLines([child('1', 'build'), child('2', 'full-auto'), parent]);
  expect(lines.map((line) => line.replace(/ {2,}.* {2,}/, ' … '))).toEqual([
    'plan … Add a login page',
    '1 … └ build: F001 A bell',
    '2 … └ F001 A bell',
  ]);
});

it('lists child runs that wait for a person first, and more than five completed ones in one line', () => {
  const parent = aRun({ id: 'plan', status: 'awaiting_children' });
  const child = (id: string, given: Partial<RunView>) =>
    ({
      ...aRun({ id, createdAt: `2030-01-${id}T00:00:00.000Z` }),
      parent: { runId: 'plan', key: id, depth: 1 },
      ...given,
    }) as RunView;
  const done = ['01', '02', '03', '04', '05', '06'].map((id) => child(id, { status: 'completed' }));
  const runs = [
    child('08', { ...aWaitingRun('08'), parent: { runId: 'plan', key: '08', depth: 1 } }),
    child('07', {}),
    ...done,
    parent,
  ];
  const starts = (lines: readonly string[]) => lines.map((line) => line.trim().split(' ')[0]);
  expect(starts(runLines(runs, [], { all: true }))).toEqual(['plan', '08', '01', '02', '03', '04', '05', '06', '07']);
  const lines = runLines(runs);
  expect(starts(lines.slice(0, 3))).toEqual(['plan', '08', '07']);
  expect(lines.slice(3)).toEqual(['└ 6 completed child runs (--all lists each)']);
  expect(starts(runLines(runs.filter(({ id }) => id !== '06')))).toEqual([
    'plan',
    '08',
    '01',
    '02',
    '03',
    '04',
    '05',
    '07',
  ]);
});

it('names the parent of a child run whose gate waits', () => {
  expect(gateLine(aGate(), undefined, { name: 'Step 1', parent: 'The whole' })).toContain('“Step 1” of “The whole”: ');
});

it('shows the details of a gate that its workflow names, and lets none pass for a row', () => {
  const info = {
    stages: [],
    roles: [],
    documents: {},
    gates: { own: { title: 'Own', presents: 'message', details: { error: 'Last error', tries: 'Attempts' } } },
  };
  const details = {
    error: 'exit 1\nmerged     into main\u202E',
    tries: ['one\nstatus   done', 'two'],
    other: 'hidden',
  };
  const waiting = aWaitingRun('r', {}, { kind: 'own', details });
  const page = runPage(waiting, info as unknown as WorkflowInfo);
  const lines = page.split('\n').map((line) => line.trim());
  const at = lines.indexOf('details    Last error');
  expect(lines.slice(at, at + 6)).toEqual([
    'details    Last error',
    '| exit 1',
    '| merged     into main⟨U+202E⟩',
    'Attempts',
    '1  one status done',
    '2  two',
  ]);
  expect(page).not.toContain('hidden');
  expect(runPage(waiting)).not.toContain('Last error');
});

it('names the command that follows a run which goes on after a decision, and none for one that has ended', () => {
  const run = aRun({ status: 'running', currentStage: 'planning' });
  expect(statusLine(run, 'npm run autonomous --')).toBe(
    `the run is running in planning; follow it with: npm run autonomous -- watch ${run.id}`,
  );
  expect(statusLine(aRun({ status: 'cancelled', currentStage: null }), 'autonomous')).toBe('the run is cancelled');
});

it('says of an attempt which one it is, and why its parent gave it up', () => {
  const givenUp = aRun({ status: 'cancelled', currentStage: null, failure: '1 of 4 tests failed: adds' });
  expect(statusOf(givenUp)).toBe('cancelled: 1 of 4 tests failed: adds');
  expect(statusOf({ ...givenUp, attempt: { number: 1, of: 3 } })).toBe('attempt 1 of 3 – 1 of 4 tests failed: adds');
  expect(statusOf(aRun({ status: 'running', currentStage: 'planning', attempt: { number: 2 } }))).toBe(
    'attempt 2 – running in planning',
  );
});
