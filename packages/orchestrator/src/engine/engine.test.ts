import { Conflict, InvalidRequest, NotFound, RetryableFailure, StorageFull, Unavailable } from '@autonomous/shared';
import Database from 'better-sqlite3';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineUnderTest } from './engine.fixture.ts';

describe('the engine', () => {
  let test: EngineUnderTest;
  beforeEach(async () => {
    test = await EngineUnderTest.open();
    await test.engine.start();
  });
  afterEach(() => test.close());

  it('carries a run from launch to its end, and the log holds every step', async () => {
    expect((await test.launch('r1')).status).toBe('running');
    const gated = await test.toGate('r1');
    expect(gated.gate).toMatchObject({ id: 'r1.6', summary: 'Approve the plan' });
    await test.approve('r1', 'r1.6');
    (await test.call('work')).complete('done');
    expect((await test.until('r1', (view) => view.status === 'completed')).gates).toMatchObject([
      { decision: 'approve', by: 'me' },
    ]);
    expect(await test.types('r1')).toEqual([
      'RUN_STARTED',
      'STAGE_STARTED',
      'STATE_CHANGED',
      'ACTIVITY_COMPLETED',
      'STATE_CHANGED',
      'APPROVAL_REQUESTED',
      'APPROVAL_GRANTED',
      'STAGE_COMPLETED',
      'STAGE_STARTED',
      'STATE_CHANGED',
      'ACTIVITY_COMPLETED',
      'STAGE_COMPLETED',
      'STATE_CHANGED',
      'RUN_COMPLETED',
    ]);
    expect(await test.store.openActivities()).toEqual([]);
    expect(await test.store.openTimers()).toEqual([]);
  });

  it('tells who waits for the end of a run, in memory or not, and once it has ended', async () => {
    await test.launch('r1');
    const early = test.engine.finished('r1').catch(String);
    const { gate } = await test.toGate('r1');
    await test.restart();
    const late = test.engine.finished('r1');
    await test.approve('r1', gate?.id);
    (await test.call('work')).complete('done');
    expect(await late).toMatchObject({ id: 'r1', status: 'completed' });
    expect(await test.engine.finished('r1')).toMatchObject({ id: 'r1', status: 'completed' });
    await expect(test.engine.finished('nobody')).rejects.toThrow(NotFound);
    expect(await early).toContain('was stopped before run r1 ended');
  });

  it('knows the result of a run that ends in memory without reading its history again', async () => {
    const read = vi.spyOn(test.store, 'loadRun');
    await test.launch('r1');
    const end = test.engine.finished('r1');
    await test.approve('r1', (await test.toGate('r1')).gate?.id);
    (await test.call('work')).complete('done');
    const inMemory = await end;
    expect(read).not.toHaveBeenCalled();
    expect(inMemory).toMatchObject({ id: 'r1', status: 'completed', context: expect.anything() });
    expect(await test.engine.finished('r1')).toEqual(inMemory);
    expect(read).toHaveBeenCalledOnce();
  });

  it('gives the same run for the same id', async () => {
    const first = await test.launch('r1');
    const second = await test.launch('r1');
    expect(second.createdAt).toBe(first.createdAt);
    expect((await test.types('r1')).filter((type) => type === 'RUN_STARTED')).toHaveLength(1);
  });

  it('takes one of fifty approvals that come at once, and shows the others the winner', async () => {
    await test.launch('r1');
    const { gate } = await test.toGate('r1');
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => test.approve('r1', gate?.id)));
    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(1);
    const refused = answers.filter((answer) => answer.status === 'rejected').map((answer) => answer.reason as Conflict);
    expect(refused.every((error) => error instanceof Conflict && error.message.includes("'approve' by me"))).toBe(true);
    expect((await test.types('r1')).filter((type) => type === 'APPROVAL_GRANTED')).toHaveLength(1);
  });

  it('does what is asked for under a key once, and answers as it did the first time, also after a restart', async () => {
    await test.launch('r1');
    const { gate } = await test.toGate('r1');
    const once = { key: 'my-key', hash: 'reject' };
    const reject = (hash = once.hash) =>
      test.engine.signal('r1', 'APPROVAL_REJECTED', { by: 'me', feedback: 'No' }, undefined, { ...once, hash });
    const [first, twin] = await Promise.all([reject(), reject()]);
    expect(twin).toEqual(first);
    await test.toGate('r1');
    expect((await test.engine.view('r1')).gate?.id).not.toBe(gate?.id);
    await test.restart();
    expect(await reject()).toEqual(first);
    await expect(reject('something else')).rejects.toThrow("'my-key' was used for something else");
    expect((await test.types('r1')).filter((type) => type === 'APPROVAL_REJECTED')).toHaveLength(1);
    expect(await test.store.recallStep('my-key')).toMatchObject({ runId: 'r1', requestHash: 'reject' });
  });

  it('refuses for now what is asked for while it stops', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.engine.stop();
    await expect(test.approve('r1')).rejects.toThrow(Unavailable);
    await expect(test.launch('r2')).rejects.toThrow(Unavailable);
    await expect(test.engine.cancel('r1', 'me')).rejects.toThrow(Unavailable);
  });

  it('refuses undeclared signals, wrong payloads, unknown runs and signals out of place, by name', async () => {
    await test.launch('r1');
    await expect(test.engine.signal('r1', 'xstate.done.actor.drafter', {})).rejects.toThrow(InvalidRequest);
    await expect(test.engine.signal('r1', 'APPROVAL_GRANTED', { by: 1 })).rejects.toThrow('by:');
    await expect(test.engine.signal('nobody', 'APPROVAL_GRANTED', { by: 'me' })).rejects.toThrow(NotFound);
    await expect(test.approve('r1')).rejects.toThrow('stage planning');
    await expect(test.approve('r1', 'r1.99')).rejects.toThrow("no open gate 'r1.99'");
  });

  it('takes up work after a restart under the same key, with a higher attempt', async () => {
    await test.launch('r1');
    const first = await test.call('draft');
    await test.restart();
    const second = await test.call('draft');
    expect(second.context).toMatchObject({ key: first.context.key, attempt: 2, startedAt: first.context.startedAt });
    second.complete('the plan');
    await test.until('r1', (view) => view.gate !== null);
  });

  it('approves after a stop of three days', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.engine.stop();
    test.clock.advance(3 * 86_400_000);
    await test.restart();
    await test.approve('r1');
    (await test.call('work')).complete('done');
    expect((await test.until('r1', (view) => view.status === 'completed')).gates).toHaveLength(1);
  });

  it('fires a timer that became due while it was down, and ends the work that it ends', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
    const work = await test.call('work');
    await test.engine.stop();
    test.clock.advance(120_000);
    await test.restart();
    const view = await test.until('r1', (run) => run.status === 'paused');
    expect(view.gate).toMatchObject({ reason: 'agent_failed' });
    expect(work.context.signal.aborted).toBe(true);
    expect(await test.store.openActivities()).toEqual([]);
  });

  it('fires a timer in time while it runs', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
    const work = await test.call('work');
    test.clock.advance(59_000);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).status).toBe('running');
    test.clock.advance(1_000);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).status).toBe('paused');
    expect(work.context.signal.aborted).toBe(true);
  });

  it('tries again with back-off what time may mend, and pauses when the attempts are used up', async () => {
    await test.launch('r1');
    for (const attempt of [1, 2, 3]) {
      const call = await test.call('draft');
      expect(call.context.attempt).toBe(attempt);
      const booked = test.store.openActivities('r1');
      call.fail(new RetryableFailure('the model is busy', { reason: 'model_unavailable' }));
      expect((await booked)[0]?.attempt).toBe(attempt);
      if (attempt < 3) await waitForBackoff(test);
    }
    expect((await test.until('r1', (view) => view.status === 'paused')).gate?.kind).toBe('pause');
    const failed = (await test.store.readRun('r1', 0)).find((event) => event.type === 'ACTIVITY_FAILED');
    expect(failed?.payload).toMatchObject({
      error: { kind: 'retryable', reason: 'model_unavailable', message: 'the model is busy' },
    });
  });

  it('ignores the late outcome of work that was left', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
    const work = await test.call('work');
    await test.engine.cancel('r1', 'me', 'enough');
    work.complete('too late');
    await test.restart();
    expect(await test.engine.view('r1')).toMatchObject({ status: 'cancelled', gate: null });
    expect((await test.types('r1')).filter((type) => type === 'ACTIVITY_COMPLETED')).toHaveLength(1);
    await expect(test.engine.cancel('r1', 'me')).rejects.toThrow('already ended');
  });

  it('quarantines a run whose history was changed, says why, and lets the others go on', async () => {
    await test.launch('r1');
    await test.launch('r2');
    await test.toGate('r1');
    await test.toGate('r2');
    await test.engine.stop();
    await test.store.close();
    const db = new Database(path.join(test.folder, 'test.db'));
    db.prepare(
      "update workflow_steps set events = replace(events, 'awaiting_approval', 'running') where run = (select number from workflow_runs where id = 'r1')",
    ).run();
    db.close();
    await test.restart();
    await expect(test.approve('r1')).rejects.toThrow('quarantined');
    expect(await test.engine.view('r1')).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
    await test.approve('r2');
    (await test.call('work')).complete('done');
    await test.until('r2', (view) => view.status === 'completed');
    expect((await test.engine.cancel('r1', 'me')).status).toBe('cancelled');
  });

  it('keeps a bounded number of the runs that wait in memory, and none of those that ended', async () => {
    const count = 300;
    for (let i = 0; i < count; i += 1) await test.launch(`r${i}`, `user${i}`);
    for (let i = 0; i < count; i += 1) (await test.call('draft')).complete('the plan');
    for (let i = 0; i < count; i += 1) await test.until(`r${i}`, (view) => view.gate !== null);
    expect(test.engine.runsInMemory).toBe(256);
    for (let i = 0; i < count; i += 1) await test.engine.cancel(`r${i}`, 'me');
    expect(test.engine.runsInMemory).toBe(0);
  });

  it('begins what a step started although the step that was to end it could not be stored', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    // The approval goes through; the cancellation, which is made on top of it before it is stored, meets a full disk.
    const append = test.store.append.bind(test.store);
    let before: Promise<unknown> | undefined;
    test.store.append = (commit) => {
      if (before === undefined) {
        const first = append(commit);
        before = first;
        return first;
      }
      test.store.append = append;
      return before.then(() => Promise.reject(new StorageFull('The disk is full.')));
    };
    const [approved, cancelled] = await Promise.allSettled([test.approve('r1'), test.engine.cancel('r1', 'me')]);
    expect([approved.status, cancelled.status]).toEqual(['fulfilled', 'rejected']);
    (await test.call('work')).complete('done');
    expect((await test.until('r1', (view) => view.status === 'completed')).status).toBe('completed');
  });

  it('shows the same view as a fold of the stored events', async () => {
    const { foldRun } = await import('@autonomous/shared');
    await test.launch('r1');
    await test.toGate('r1');
    const events = await test.store.readRun('r1', 0);
    expect(events.reduce(foldRun, null as Parameters<typeof foldRun>[0])).toEqual(await test.engine.view('r1'));
  });
});

describe('the queue', () => {
  let test: EngineUnderTest;
  beforeEach(async () => {
    test = await EngineUnderTest.open({ places: 1 });
    await test.engine.start();
  });
  afterEach(() => test.close());

  it('starts a run when a place is free, in the order in which they came', async () => {
    await test.launch('r1');
    expect(await test.launch('r2')).toMatchObject({ status: 'queued', queuePosition: 1 });
    expect(await test.launch('r3')).toMatchObject({ status: 'queued', queuePosition: 2 });
    expect((await test.launch('other', 'somebody else')).status).toBe('running');
    (await test.call('draft')).complete('the plan');
    await test.until('r2', (view) => view.status === 'running');
    expect((await test.engine.view('r3')).queuePosition).toBe(1);
  });

  it('puts a run that resumes to the front, starts its work only then, and gives its clock the time back', async () => {
    await test.launch('r1');
    await test.toGate('r1');
    await test.launch('r2');
    await test.launch('r3');
    expect(await test.approve('r1')).toMatchObject({ status: 'queued', queuePosition: 1 });
    expect(test.calls.filter((call) => call.src === 'work')).toEqual([]);
    test.clock.advance(45_000);
    (await test.call('draft')).complete('the plan');
    await test.until('r1', (view) => view.status === 'running');
    const work = await test.call('work');
    test.clock.advance(30_000);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).status).toBe('running');
    work.complete('done');
    await test.until('r1', (view) => view.status === 'completed');
    await test.until('r3', (view) => view.status === 'running');
  });

  it('starts no run in the place of one whose next step could not be stored', async () => {
    await test.launch('r1');
    expect((await test.launch('r2')).status).toBe('queued');
    const draft = await test.call('draft');
    // The message is stored; the way to the gate, which is taken on top of it before that, meets a full disk.
    const append = test.store.append.bind(test.store);
    const { promise: isMade, resolve: made } = Promise.withResolvers<void>();
    const { promise: isOnTop, resolve: onTop } = Promise.withResolvers<void>();
    let message: ReturnType<typeof append> | undefined;
    test.store.append = (commit) => {
      if (message !== undefined) {
        onTop();
        return message.then(() => Promise.reject(new StorageFull('The disk is full.')));
      }
      message = isOnTop.then(() => append(commit));
      made();
      return message;
    };
    const sent = test.engine.signal('r1', 'MESSAGE_SENT', { by: 'me', text: 'Hello' });
    await isMade;
    draft.complete('the plan');
    await sent;
    await expect.poll(() => test.errors.length).toBe(1);
    test.store.append = append;
    // By now the queue would have started r2.
    await test.launch('other', 'somebody else');
    expect((await test.engine.view('r1')).status).toBe('running');
    expect((await test.engine.view('r2')).status).toBe('queued');
    test.clock.advance(2_000);
    await test.until('r2', (view) => view.status === 'running');
  });

  it('keeps the turn of a run whose start could not be stored, and tries it again', async () => {
    await test.launch('r1');
    await test.launch('r2');
    await test.launch('r3');
    const append = test.store.append.bind(test.store);
    test.store.append = (commit) =>
      commit.runId === 'r2' ? Promise.reject(new StorageFull('The disk is full.')) : append(commit);
    (await test.call('draft')).complete('the plan');
    await expect.poll(() => test.errors.length).toBe(1);
    test.store.append = append;
    expect((await test.engine.view('r2')).queuePosition).toBe(1);
    expect((await test.engine.view('r3')).queuePosition).toBe(2);
    test.clock.advance(2_000);
    await test.until('r2', (view) => view.status === 'running');
    expect((await test.engine.view('r3')).status).toBe('queued');
  });

  it('keeps its order over a restart, and a queued run can be cancelled', async () => {
    await test.launch('r1');
    await test.launch('r2');
    await test.launch('r3');
    await test.restart();
    expect((await test.engine.view('r2')).queuePosition).toBe(1);
    expect((await test.engine.cancel('r2', 'me')).status).toBe('cancelled');
    expect((await test.engine.view('r3')).queuePosition).toBe(1);
    (await test.call('draft')).complete('the plan');
    await test.until('r3', (view) => view.status === 'running');
    await test.restart();
    await test.call('draft');
  });
});

/** Moves the clock once the wait before the next attempt is booked. */
async function waitForBackoff(test: EngineUnderTest): Promise<void> {
  for (;;) {
    const [activity] = await test.store.openActivities('r1');
    if (activity?.notBefore) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setImmediate(resolve));
  test.clock.advance(1_000);
}
