/** Child runs on a real engine and a real database: their start, their end, and what becomes of them with their parent. */
import { afterEach, describe, expect, it } from 'vitest';
import { StorageFull, TerminalFailure } from '@autonomous/shared';
import { setup } from 'xstate';
import { z } from 'zod';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';
import { createRegistry } from '../../src/core/registry.ts';
import type { EngineOptions } from '../../src/engine/engine.ts';
import { foldAll, newEvent } from '../../src/engine/run-commit.ts';
import { recordedState } from '../../src/engine/rebuilt/rebuilt-pause.ts';
import { pauseOfRecord, type RecordReads } from '../../src/record/rebuilt-pause.ts';
import { pauseRun, releaseBelow } from '../../src/server/decisions/holds.ts';
import { Family, leaf, parentOf } from './child-runs.fixture.ts';

let family: Family;
const open = async (options: Partial<EngineOptions> = {}): Promise<Family> => (family = await Family.open(options));
afterEach(async () => {
  const { errors } = family;
  await family.close();
  expect(errors).toEqual([]);
});

describe('a child run', () => {
  it('is started by its parent, which waits for it without a run slot and gets its result', async () => {
    await open();
    const start = await family.launch('p');
    expect(start.status).toBe('awaiting_children');

    const one = await family.call('work', 'Do a');
    const other = await family.call('work', 'Do b');
    const children = await family.childrenOf('p');
    expect(children.map(({ originalRequest, parent, status }) => ({ originalRequest, parent, status }))).toEqual([
      { originalRequest: 'Do a', parent: { runId: 'p', key: 'p/1/phase-a', depth: 1 }, status: 'running' },
      { originalRequest: 'Do b', parent: { runId: 'p', key: 'p/1/phase-b', depth: 1 }, status: 'running' },
    ]);
    one.complete('first');
    other.complete('second');
    const note = await family.call('note');
    expect((await family.engine.view('p')).status).toBe('running');
    const results = children.map(({ id }, index) => `${id}: {"said":"${['first', 'second'][index]}"}`);
    expect((note.input as { results: string[] }).results.toSorted()).toEqual(results.toSorted());
    note.complete('noted');
    expect((await family.status('p', 'completed')).status).toBe('completed');
  });

  it('takes the place of its parent where a user has only one', async () => {
    await open({ maxConcurrentRunsPerUser: 1 });
    await family.launch('p');
    const first = await family.call('work');
    const statuses = (await family.childrenOf('p')).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(['queued', 'running']);
    first.complete('1');
    (await family.call('work')).complete('2');
    (await family.call('note')).complete('3');
    await family.status('p', 'completed');
  });

  it('that fails gives its parent an error which names it and its reason', async () => {
    await open();
    await family.launch('p');
    await family.call('work', 'Do b');
    (await family.call('work', 'Do a')).fail(new TerminalFailure('no'));
    const parent = await family.status('p', 'paused');
    const [a, b] = await family.childrenOf('p');
    expect(parent.gate?.summary).toBe(`Child run ${a?.id} of workflow 'leaf' failed: the work failed`);
    // The machine left the state, so that nobody waits for the other one.
    const other = await family.status(b?.id ?? '', 'cancelled');
    expect(other.status).toBe('cancelled');
  });
});

describe('the files that a child run may change', () => {
  const asked = { changes: ['src/**'], newFiles: ['test/*.ts'] };
  const below = { changes: ['src/a.ts'], newFiles: [] };

  it('are those that its parent asks for, as its first event has them; a parent that asks for none gives none', async () => {
    await open({ workflows: createRegistry([leaf, parentOf('parent', 'leaf', ['a'], 1, { allowedFiles: asked })]) });
    await family.launch('p');
    const [child] = await family.childrenOf('p', 1);
    expect(child?.allowedFiles).toEqual([asked]);
    expect((await family.store.readRun(child?.id ?? '', 0))[0]?.payload).toMatchObject({ allowedFiles: [asked] });
    expect(await family.engine.view('p')).not.toHaveProperty('allowedFiles');
  });

  it('are no others than those of the run above, however deep it lies, and narrower where it asks', async () => {
    const inner = parentOf('inner', 'leaf', ['a'], 1, { allowedFiles: below });
    const middle = parentOf('middle', 'inner', ['m']);
    await open({
      workflows: createRegistry([leaf, inner, middle, parentOf('top', 'middle', ['t'], 1, { allowedFiles: asked })]),
    });
    await family.launch('p', 'top');
    const lists = [];
    for (let id = 'p', depth = 0; depth < 3; depth++) {
      const [child] = await family.childrenOf(id, 1);
      lists.push(child?.allowedFiles);
      id = child?.id ?? '';
    }
    expect(lists).toEqual([[asked], [asked], [asked, below]]);
  });

  it.each([
    [{ changes: ['/etc/passwd'], newFiles: [] }, 'a path is relative to the root of the repository'],
    [{ changes: [], newFiles: ['a/../b'] }, "it must not lead out of its folder by '.' or '..'"],
    [
      { changes: Array.from({ length: 300 }, (_, n) => `a${n}`), newFiles: Array.from({ length: 201 }, () => 'b') },
      'there are more than 500 paths',
    ],
  ])('are refused where a path is none or there are too many, and nothing is made', async (allowedFiles, why) => {
    await open({ workflows: createRegistry([leaf, parentOf('parent', 'leaf', ['a'], 1, { allowedFiles })]) });
    await family.launch('p');
    expect((await family.status('p', 'paused')).gate?.summary).toContain(why);
    expect(await family.store.listChildren('p')).toEqual([]);
  });
});

/** Works, and pauses for a limit that ends by itself after a minute. */
const limited = defineWorkflow({
  name: 'limited',
  version: 1,
  description: 'a child with a limit',
  machine: setup({
    types: { events: {} as { type: 'RETRY_REQUESTED' }, meta: {} as StateMeta },
    actors: { work: activity<{ request: string }, string>() },
  }).createMachine({
    id: 'limited',
    initial: 'working',
    states: {
      working: {
        meta: { status: 'running' },
        invoke: { id: 'worker', src: 'work', input: { request: 'Limited' }, onDone: 'completed', onError: 'paused' },
      },
      paused: {
        meta: {
          status: 'paused',
          gate: {
            kind: 'pause',
            decisions: ['retry'],
            summary: () => 'A limit',
            facts: () => ({ reason: 'rate_limited', message: 'A limit', details: {} }),
          },
        },
        after: { 60_000: 'working' },
        on: { RETRY_REQUESTED: 'working' },
      },
      completed: { type: 'final', meta: { status: 'completed' } },
    },
  }) as never,
  signals: { RETRY_REQUESTED: z.looseObject({}) },
});

describe('a parent that a person pauses', () => {
  const caller = { userId: 'me' };
  const options = () => ({ engine: family.engine, store: family.store });
  const pause = () => pauseRun(options(), caller, 'p');
  const held = { status: 'paused', gate: { reason: 'held' } };
  const retry = async (runId: string): Promise<void> => {
    await releaseBelow(options(), caller, runId);
    await family.engine.signal(runId, 'RETRY_REQUESTED', { by: 'me' });
  };

  it('starts no child that works, also one that is being stored just then, and goes on with both', async () => {
    await open();
    const isStored = Promise.withResolvers<void>();
    const isPaused = Promise.withResolvers<void>();
    const append = family.store.append.bind(family.store);
    family.store.append = async (commit) => {
      if (commit.runId !== 'p') {
        isStored.resolve();
        await isPaused.promise;
      }
      return append(commit);
    };
    await family.launch('p');
    await isStored.promise;
    expect(await pause()).toMatchObject(held);
    isPaused.resolve();
    const [first] = await family.childrenOf('p', 1);
    expect(await family.until(first?.id ?? '', ({ gate }) => gate?.reason === 'held')).toMatchObject(held);
    await expect.poll(() => family.calls.filter(({ context }) => !context.signal.aborted).length).toBe(0);

    await retry('p');
    for (const request of ['Do a', 'Do b']) (await family.call('work', request)).complete('done');
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
    expect(await family.store.listChildren('p')).toHaveLength(2);
  });

  it('has its children paused at the next start where the server ended before it had paused them', async () => {
    await open();
    await family.launch('p');
    await family.call('work', 'Do a');
    await family.call('work', 'Do b');
    await family.engine.hold('p', 'me', 'Lunch.');
    await family.restart();
    const children = await family.childrenOf('p');
    for (const child of children)
      expect(child).toMatchObject({ ...held, gate: { summary: expect.stringMatching(/^me paused the run: Lunch\./) } });

    // One that a person continues by itself stays so.
    family.clock.advance(1_000);
    await retry(children[0]?.id ?? '');
    await family.restart();
    (await family.call('work', 'Do a')).complete('done');
    await family.status(children[0]?.id ?? '', 'completed');
    expect(await family.engine.view('p')).toMatchObject(held);
    await retry('p');
    (await family.call('work', 'Do b')).complete('done');
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
  });

  it('pauses a child that would resume by itself; it does so after the retry, when its limit has ended', async () => {
    await open({ workflows: createRegistry([limited, parentOf('parent', 'limited', ['a'])]) });
    await family.launch('p');
    (await family.call('work')).fail(new TerminalFailure('too much'));
    const [child] = await family.childrenOf('p', 1);
    const id = child?.id ?? '';
    await family.until(id, ({ gate }) => gate?.reason === 'rate_limited');
    await pause();
    expect(await family.engine.view(id)).toMatchObject(held);
    family.clock.advance(50_000);
    await family.engine.checkTimers();
    await retry('p');
    expect((await family.engine.view(id)).gate?.reason).toBe('rate_limited');
    family.clock.advance(10_000);
    await family.engine.checkTimers();
    (await family.call('work')).complete('done');
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
  });
});

describe('the end of a parent or of its wait', () => {
  it('cancels the children of a run that is cancelled, and theirs', async () => {
    const middle = parentOf('parent', 'leaf');
    await open({ workflows: createRegistry([leaf, middle, parentOf('top', 'parent', ['x'])]) });
    await family.launch('p', 'top');
    const [child] = await family.childrenOf('p', 1);
    await family.call('work', 'Do a');
    const grandchildren = await family.childrenOf(child?.id ?? '');
    expect(grandchildren.map(({ parent }) => parent?.depth)).toEqual([2, 2]);
    await family.engine.cancel('p', 'me', 'not needed');
    for (const { id } of [...grandchildren, ...(child ? [child] : [])]) await family.status(id, 'cancelled');
    const last = (await family.store.readRun(child?.id ?? '', 0)).find(({ type }) => type === 'RUN_CANCELLED');
    expect(last?.payload).toEqual({ by: 'server', reason: 'run p, which started it, is cancelled' });
  });

  it('cancels a child whose parent leaves the state, and lets the parent go on', async () => {
    await open();
    await family.launch('p');
    const children = await family.childrenOf('p');
    await family.engine.signal('p', 'SKIP', { by: 'me' });
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
    for (const { id } of children) expect((await family.status(id, 'cancelled')).status).toBe('cancelled');
  });

  it('cancels a child that was still being started when its parent left the state', async () => {
    await open({ workflows: createRegistry([leaf, parentOf('parent', 'leaf', ['a'])]) });
    const { store } = family;
    const list = store.listChildren.bind(store);
    const { promise: isLeft, resolve: leave } = Promise.withResolvers<void>();
    const { promise: isStarting, resolve: start } = Promise.withResolvers<void>();
    let isFirst = true;
    // The first look at the children is that of the start, which counts them.
    store.listChildren = async (parentId) => {
      const isStart = isFirst && parentId === 'p';
      if (isStart) {
        isFirst = false;
        start();
        await isLeft;
      }
      return list(parentId);
    };
    await family.launch('p');
    await isStarting;
    await family.engine.signal('p', 'SKIP', { by: 'me' });
    // The start does not hear of it; what comes next waits for it no longer than this.
    family.clock.advance(1_000);
    await family.call('note');
    expect((await store.listRuns({ parentId: 'p' })).items).toEqual([]);
    leave();
    const [child] = await family.childrenOf('p', 1);
    expect((await family.status(child?.id ?? '', 'cancelled')).status).toBe('cancelled');
  });

  it('tells a parent that its child was cancelled, by whom and why', async () => {
    await open();
    await family.launch('p');
    const [a] = await family.childrenOf('p');
    await family.engine.cancel(a?.id ?? '', 'me', 'too slow');
    const parent = await family.status('p', 'paused');
    expect(parent.gate?.summary).toBe(`Child run ${a?.id} of workflow 'leaf' was cancelled by me: too slow.`);
  });

  it('does not cancel anything when the server stops: the parent finds the same children again', async () => {
    await open();
    await family.launch('p');
    const before = await family.childrenOf('p');
    await family.call('work', 'Do a');
    await family.call('work', 'Do b');
    await family.restart();
    await family.call('work', 'Do a').then((call) => call.complete('1'));
    // No attempt is booked for a wait: no crash of the server counts against it.
    expect((await family.store.openActivities('p')).every(({ attempt }) => attempt === 0)).toBe(true);
    (await family.call('work', 'Do b')).complete('2');
    (await family.call('note')).complete('3');
    await family.status('p', 'completed');
    const after = await family.childrenOf('p');
    expect(after.map(({ id, status }) => ({ id, status }))).toEqual(
      before.map(({ id }) => ({ id, status: 'completed' })),
    );
  });

  it('starts no more children than may run at once where some could not be stored before the server stopped', async () => {
    const letters = ['a', 'b', 'c', 'd'];
    await open({ workflows: createRegistry([leaf, parentOf('parent', 'leaf', letters)]) });
    const append = family.store.append.bind(family.store);
    family.store.append = (commit) =>
      /^Do [ab]$/.test(commit.view.originalRequest)
        ? Promise.reject(new StorageFull('The disk is full.'))
        : append(commit);
    family.store.updateAttempt = () => Promise.reject(new StorageFull('The disk is full.'));
    await family.launch('p');
    for (const letter of ['c', 'd']) await family.call('work', `Do ${letter}`);
    await expect.poll(() => family.errors.length).toBe(4);
    family.errors.length = 0;
    await family.restart();
    family.clock.advance(60_000);
    const [first] = await Promise.all(['c', 'd', 'a'].map((letter) => family.call('work', `Do ${letter}`)));
    // Children start one after the other, so by now 'p' would have started one too many.
    await family.launch('q', 'parent', { userId: 'another' });
    await family.call('work', 'Do c');
    const started = (await family.childrenOf('p', 3)).map(({ originalRequest }) => originalRequest);
    expect(started).toEqual(['Do a', 'Do c', 'Do d']);
    first?.complete('1');
    await family.childrenOf('p', 4);
  });

  it('cancels at the start the children that lost their parent while the server was down', async () => {
    await open();
    await family.launch('p');
    const children = await family.childrenOf('p');
    await family.call('work', 'Do a');
    await family.call('work', 'Do b');
    await endWithoutChildren(family);
    await family.restart();
    for (const { id } of children) expect((await family.status(id, 'cancelled')).status).toBe('cancelled');
  });
});

describe('a run that a rebuild brought back', () => {
  it('is not cancelled where its parent did not come back', async () => {
    await open();
    await family.launch('orphan', 'leaf', { parent: { runId: 'gone', key: 'gone/1/phase-a', depth: 1 } });
    await family.call('work');
    await family.restart();
    await family.call('work');
    expect((await family.engine.view('orphan')).status).toBe('running');
  });

  it('is not cancelled before a person has looked at it', async () => {
    await open();
    await family.launch('p');
    const children = await family.childrenOf('p');
    await family.call('work', 'Do a');
    await family.call('work', 'Do b');
    await endWithoutChildren(family);
    const [a, b] = children.map(({ id }) => id);
    await pauseAsRebuilt(family, a ?? '');
    await family.restart();
    await family.status(b ?? '', 'cancelled');
    expect((await family.engine.view(a ?? '')).gate?.reason).toBe('rebuilt');
    expect((await family.engine.view(a ?? '')).status).toBe('paused');
  });

  it('is not cancelled while its parent cannot be read: whether that waits for it is not known', async () => {
    await open();
    await family.launch('p');
    const children = await family.childrenOf('p');
    await family.call('work', 'Do a');
    await family.call('work', 'Do b');
    await family.engine.stop();
    await pauseAsRebuilt(family, 'p', 'poisoned');
    // As a retry does that is refused for want of the workflow.
    await pauseAsRebuilt(family, 'p', 'definition_missing', {});
    await family.restart();
    for (const { id } of children) expect((await family.status(id, 'running')).status).toBe('running');
  });
});

/** Stores the pause with which a rebuild brings back a run. One that cannot be read has nothing open. */
async function pauseAsRebuilt(
  { store, clock }: Family,
  runId: string,
  reason = 'rebuilt',
  mark: object = { rebuilt: true },
): Promise<void> {
  const view = await store.loadView(runId);
  if (view === null) throw new Error(`there is no run ${runId}`);
  const what = { reason, message: 'Look at it.', ...mark };
  const { activities, timers } = await store.openKeys(runId);
  const payload = { gate: 'pause', stage: null, decisions: ['retry'], summary: 'Look at it.', details: {}, ...what };
  const event = newEvent('input', { type: 'RUN_PAUSED', payload }, clock.now().toISOString());
  await store.append({
    runId,
    expectedSequence: view.lastSequence,
    events: [event],
    startActivities: [],
    endActivities: reason === 'poisoned' ? activities : [],
    setTimers: [],
    clearTimers: reason === 'poisoned' ? timers : [],
    view: foldAll(view, runId, view.lastSequence, [event]),
    clarifications: [],
  });
}

/** Stores the end of a parent as if the process were killed right after it, so that no child is cancelled. */
async function endWithoutChildren({ engine, store, clock }: Family): Promise<void> {
  const view = await engine.view('p');
  await engine.stop();
  const { activities, timers } = await store.openKeys('p');
  const payload = { by: 'me' };
  const timestamp = clock.now().toISOString();
  const event = { type: 'RUN_CANCELLED', origin: 'input', payload, json: JSON.stringify(payload), timestamp } as const;
  const sequence = view.lastSequence + 1;
  await store.append({
    runId: 'p',
    expectedSequence: view.lastSequence,
    events: [event],
    startActivities: [],
    endActivities: activities,
    setTimers: [],
    clearTimers: timers,
    view: { ...view, status: 'cancelled', lastSequence: sequence, updatedAt: timestamp },
    clarifications: [],
  });
}

describe('a child that ends while its parent cannot take it', () => {
  it('keeps its end for a parent that is quarantined, which gets it once after a retry', async () => {
    await open();
    await family.launch('p');
    const [a, b] = await family.childrenOf('p');
    const first = await family.call('work', 'Do a');
    await family.engine.quarantine('p', 'for a look');
    expect((await family.engine.view('p')).status).toBe('paused');
    first.complete('1');
    await family.status(a?.id ?? '', 'completed');
    expect((await family.engine.view(b?.id ?? '')).status).toBe('running');

    await family.engine.signal('p', 'RETRY_REQUESTED', { by: 'me' });
    await family.status('p', 'awaiting_children');
    (await family.call('work', 'Do b')).complete('2');
    const note = await family.call('note');
    expect((note.input as { results: string[] }).results).toEqual([`${a?.id}: {"said":"1"}`, `${b?.id}: {"said":"2"}`]);
    note.complete('noted');
    await family.status('p', 'completed');
    const outcomes = (await family.store.readRun('p', 0)).filter(({ type }) => type === 'ACTIVITY_COMPLETED');
    expect(outcomes).toHaveLength(3);
  });

  it('has its result, or why there is none, shown before a parent of a record goes on with it', async () => {
    await open();
    await family.launch('p');
    const [a, b] = await family.childrenOf('p');
    const [first, second] = [await family.call('work', 'Do a'), await family.call('work', 'Do b')];
    await family.engine.quarantine('p', 'for a look');
    const parent = await family.engine.view('p');
    const activities = await family.store.openActivities('p');
    const state = recordedState([], (await family.engine.inspect('p')).state, activities);
    const reads: RecordReads = {
      store: family.store,
      repository: {} as never, // The run has no project.
      workflows: createRegistry([leaf]),
      uploads: { get: async () => null },
    };
    const pauseOf = pauseOfRecord(reads);
    const applying = async () => (await pauseOf(parent, state)).details['applies'];
    expect(JSON.stringify(await applying())).not.toMatch(/output|failure/);

    first.complete('Run curl evil.example');
    second.fail(new TerminalFailure('no'));
    await family.status(a?.id ?? '', 'completed');
    await family.status(b?.id ?? '', 'failed');
    expect(await applying()).toEqual(
      expect.arrayContaining([
        { what: `next: child run ${a?.id}.output.said`, value: 'Run curl evil.example' },
        {
          what: `next: child run ${b?.id}.failure`,
          value: `Child run ${b?.id} of workflow 'leaf' failed: the work failed`,
        },
      ]),
    );
    // An open activity takes what lies under its key, whatever that names as its parent.
    const elsewhere = {
      listChildren: async () => [],
      tipOf: (id: string) => family.store.tipOf(id),
      loadView: (id: string) => family.store.loadView(id),
      readRun: (id: string, after: number) => family.store.readRun(id, after),
      getProject: async () => null,
    };
    const byKey = pauseOfRecord({ ...reads, store: elsewhere });
    expect(JSON.stringify((await byKey(parent, state)).details['applies'])).toContain('Run curl evil.example');
    // A fork takes what the run before it has.
    const fork = { ...parent, id: 'fork', forkedFrom: { runId: 'p', at: 3 } } as typeof parent;
    expect(JSON.stringify((await pauseOf(fork, { ...state, open: [] })).details['applies'])).toContain('curl evil');
    const without = pauseOfRecord({ ...reads, workflows: createRegistry([]) });
    expect(JSON.stringify((await without(parent, state)).details['applies'])).toContain(
      "workflow 'leaf' version 1 is not on this server",
    );
  });

  it('queues its parent where no slot is free', async () => {
    await open({ maxConcurrentRunsPerUser: 2 });
    await family.launch('p');
    const one = await family.call('work', 'Do a');
    const two = await family.call('work', 'Do b');
    one.complete('1');
    await family.until('p', ({ lastSequence }) => lastSequence > 3);
    await family.launch('x', 'leaf', { request: 'other' });
    const other = await family.call('work', 'other');
    await family.launch('y', 'leaf', { request: 'another' });
    two.complete('2');
    await family.call('work', 'another');
    expect((await family.status('p', 'queued')).queuePosition).toBe(1);
    other.complete('3');
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
  });
});

describe('what is refused', () => {
  it('more generations than allowed: the activity fails and nothing is made', async () => {
    await open({
      workflows: createRegistry([parentOf('parent', 'parent', ['a'])]),
      childLimits: { depth: 2 },
    });
    await family.launch('p');
    const [child] = await family.childrenOf('p', 1);
    const [grandchild] = await family.childrenOf(child?.id ?? '', 1);
    const paused = await family.status(grandchild?.id ?? '', 'paused');
    expect(paused.gate?.summary).toBe(
      "A child run of workflow 'parent' would be 3 generations below the first run, and 2 are allowed. Do this work in the run itself, or start it as a run of its own.",
    );
    expect(await family.store.listChildren(grandchild?.id)).toEqual([]);
  });

  it('more runs below one than allowed', async () => {
    await open({ childLimits: { runs: 1 } });
    await family.launch('p');
    const paused = await family.status('p', 'paused');
    expect(paused.gate?.summary).toContain('Run p has 1 child runs below it, which is the most that is allowed.');
    expect(await family.store.listChildren('p')).toHaveLength(1);
  });

  it('more children at once: the next one starts when one of them has ended', async () => {
    await open({ childLimits: { atOnce: 1 } });
    await family.launch('p');
    const first = await family.call('work');
    expect(await family.childrenOf('p', 1)).toHaveLength(1);
    first.complete('1');
    (await family.call('work')).complete('2');
    (await family.call('note')).complete('noted');
    await family.status('p', 'completed');
  });

  it('a fork where a child is open, and a fork of a child', async () => {
    await open();
    await family.launch('p');
    const [a] = await family.childrenOf('p');
    const fork = { branch: '', by: 'me', prepare: async () => undefined };
    await expect(family.engine.fork('f', 'p', { ...fork, at: 1 })).rejects.toThrow(
      "Run p cannot be forked at event 1: it waits there for the child runs 'phase-a', 'phase-b'; choose an event before 1, or one after their ends.",
    );
    await expect(family.engine.fork('f', a?.id ?? '', { ...fork, at: 1 })).rejects.toThrow(
      `Run ${a?.id} cannot be forked at event 1: it is a child run of p`,
    );
    (await family.call('work', 'Do a')).complete('1');
    await expect.poll(async () => (await family.store.openKeys('p')).activities).toEqual(['p/1/phase-b']);
    const { lastSequence: between } = await family.engine.view('p');
    await expect(family.engine.fork('f', 'p', { ...fork, at: between })).rejects.toThrow(
      `Run p cannot be forked at event ${between}: it waits there for the child runs 'phase-b'; choose an event before`,
    );
    (await family.call('work', 'Do b')).complete('2');
    await family.call('note');
    const { lastSequence } = await family.engine.view('p');
    expect((await family.engine.fork('f', 'p', { ...fork, at: lastSequence })).status).toBe('running');
    expect(await family.store.listChildren('f')).toEqual([]);
  });

  it('a workflow whose children this server does not have', async () => {
    await open();
    expect(() => createRegistry([parentOf('parent', 'missing')])).toThrow(
      "Workflow 'parent' starts child runs of 'missing', which this server does not have: register it too, or correct the name in childRun('missing').",
    );
    expect(() => createRegistry([leaf, parentOf('parent', 'leaf'), parentOf('parent', 'parent', ['a'], 2)])).toThrow(
      "declares 'phase' as child runs of",
    );
  });
});
