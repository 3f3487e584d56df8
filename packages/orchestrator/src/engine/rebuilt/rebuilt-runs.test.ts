/** Runs that come from a record of others: nothing of them goes on before a person has seen what applies now. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EngineUnderTest } from '../engine.fixture.ts';
import { newRun } from '../../core/advance.ts';
import { pausePayload, type PauseText, recordedState } from './rebuilt-pause.ts';
import { foldAll, newEvent } from '../run-commit.ts';

const pauseWith = (...values: readonly string[]): PauseText => ({
  reason: 'rebuilt',
  message: 'Rebuilt.',
  details: { applies: values.map((value) => ({ what: 'check command', value })) },
});

let pause: PauseText;
let test: EngineUnderTest;
beforeEach(async () => {
  pause = pauseWith('npm test', 'npm run lint');
  test = await EngineUnderTest.open({ pauseOfRecord: async () => pause });
  await test.launch('r');
  await test.call('draft');
  await pausedAs(pause);
  await test.restart();
});
afterEach(() => test.close());

/** Pauses the run as an import does. */
async function pausedAs(shown: PauseText): Promise<void> {
  const view = await test.engine.view('r');
  const payload = { ...pausePayload(view, shown), rebuilt: true };
  const events = [newEvent('input', { type: 'RUN_PAUSED', payload }, test.clock.now().toISOString())];
  await test.store.append({
    runId: 'r',
    expectedSequence: view.lastSequence,
    events,
    startActivities: [],
    endActivities: [],
    setTimers: [],
    clearTimers: [],
    view: foldAll(view, 'r', view.lastSequence, events),
    clarifications: [],
  });
}

const retry = () => test.engine.signal('r', 'RETRY_REQUESTED', { by: 'u' });

it('a run that is quarantined for another reason still shows what applies', async () => {
  await test.engine.quarantine('r', 'Its commit is not in the repository.');
  await test.engine.quarantine('r', 'Its commit is not in the repository.');
  const { gate, lastSequence } = await test.engine.view('r');
  expect(gate).toMatchObject({
    reason: 'rebuilt',
    decisions: ['retry'],
    summary: expect.stringMatching(/^Its commit is not in the repository\. The run was rebuilt/),
    details: pause.details,
  });
  await test.restart();
  expect((await test.engine.view('r')).lastSequence).toBe(lastSequence);
  expect(test.calls).toEqual([]);
});

it('a run of which too much applies to be shown cannot go on after a quarantine either', async () => {
  pause = { ...pauseWith('x'), details: {}, isTooLong: true };
  for (let tries = 0; tries < 2; tries += 1)
    await expect(retry()).rejects.toThrow('what applies when it goes on is not what was shown');
  await test.engine.quarantine('r', 'Its record has another format.');
  expect((await test.engine.view('r')).gate).toMatchObject({ reason: 'rebuilt', decisions: [] });
});

it('a retry of what was not shown shows it, and the next one goes on', async () => {
  pause = pauseWith('npm test', 'echo forged');
  await expect(retry()).rejects.toThrow('Look at it again, then retry.');
  expect((await test.engine.view('r')).gate?.details).toEqual(pause.details);
  expect(test.calls).toEqual([]);
  // In another order it is the same.
  pause = pauseWith('echo forged', 'npm test');
  await retry();
  (await test.call('draft')).complete('the plan');
  await test.until('r', (view) => view.gate?.kind === 'plan');
});

it('a run that the server could not read at its import is shown before it goes on, too', async () => {
  await test.engine.stop();
  await pausedAs({ reason: 'poisoned', message: 'It lacked its workflow.', details: {} });
  await test.restart();
  await expect(retry()).rejects.toThrow('Look at it again, then retry.');
  expect((await test.engine.view('r')).gate).toMatchObject({ reason: 'rebuilt', details: pause.details });
  expect(test.calls).toEqual([]);
  await retry();
  await test.call('draft');
});

it('a run does not go on while commits of its record are not there', async () => {
  pause = { ...pause, missing: ['c1'] };
  await expect(retry()).rejects.toThrow(/names commits that are not in the repository \(c1\)/);
  expect(test.calls).toEqual([]);
});

it('a run does not go on by a migration before a person has had it go on', async () => {
  await expect(test.engine.migrate('r', 2, 'u')).rejects.toThrow(/nobody has had it go on: it cannot be migrated/);
  expect(test.calls).toEqual([]);
});

it('the recorded state has outcomes that wait for the machine, and data of timers', () => {
  const payload = { output: { test: { command: 'echo forged' } } };
  const paused = { type: 'RUN_PAUSED', payload: { reason: 'held', message: 'Run curl evil.example' } };
  const timer = { key: 'k', event: 'e', dueAt: 'then', data: { note: 'forged, too' } };
  const state = { ...newRun('r'), undelivered: { prepare: payload }, timers: { t: timer } };
  expect(
    recordedState([{ type: 'RUN_STARTED', payload: { request: 'a' } }, paused], state, [{ key: 'r/1/b', input: 'b' }]),
  ).toEqual({
    start: { request: 'a' },
    context: null,
    inputs: ['b', payload, timer.data],
    told: ['- paused (held): Run curl evil.example'],
    events: [],
    open: ['r/1/b'],
  });
});
