import { Conflict, type JsonValue } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineUnderTest } from './engine.fixture.ts';
import type { ForkOptions } from './engine.ts';
import { foldAll, newEvent } from './run-commit.ts';

let test: EngineUnderTest;
beforeEach(async () => {
  test = await EngineUnderTest.open({ places: 2 });
  await test.engine.start();
});
afterEach(() => test.close());

const options = (at: number, change: Partial<ForkOptions> = {}): ForkOptions => ({
  at,
  by: 'u',
  branch: 'autonomous/b',
  prepare: async () => {},
  ...change,
});

describe('forking a run', () => {
  it('at a gate gives a run that waits there by itself and is decided by itself', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    const fork = await test.engine.fork('b', 'a', options(lastSequence));
    expect(fork).toMatchObject({ status: 'awaiting_approval', gate: { id: `b.${lastSequence}` } });
    await test.approve('b', fork.gate?.id);
    (await test.call('work')).complete('done');
    await test.until('b', (view) => view.status === 'completed');
    expect(await test.engine.view('a')).toMatchObject({ status: 'awaiting_approval' });
  });

  it('at work starts that work anew under its own key, once, also after a restart', async () => {
    await test.launch('a');
    await test.toGate('a');
    const { lastSequence } = await test.approve('a');
    const first = await test.call('work');
    test.clock.advance(30_000);
    const fork = await test.engine.fork('b', 'a', options(lastSequence));
    expect(fork).toMatchObject({ status: 'running', forkedFrom: { runId: 'a', at: lastSequence } });
    const second = await test.call('work');
    expect([first.context.key, second.context.key]).toEqual([
      expect.stringMatching(/^a\//),
      first.context.key.replace(/^a/, 'b'),
    ]);
    await test.restart();
    const keys = [await test.call('work'), await test.call('work')].map(({ context }) => context.key);
    expect(keys.toSorted()).toEqual([first.context.key, second.context.key]);
    expect(test.calls).toEqual([]);
  });

  it('from what others could have written begins nothing before a person has it go on, also after a restart', async () => {
    await test.launch('a');
    await test.toGate('a');
    const { lastSequence } = await test.approve('a');
    await test.call('work');
    const ended = await test.engine.cancel('a', 'u');
    const payload = { message: 'Rebuilt.', rebuilt: true };
    const events = [newEvent('input', { type: 'NOTICE', payload }, test.clock.now().toISOString())];
    await test.store.append({
      runId: 'a',
      expectedSequence: ended.lastSequence,
      events,
      startActivities: [],
      endActivities: [],
      setTimers: [],
      clearTimers: [],
      view: foldAll(ended, 'a', ended.lastSequence, events),
      clarifications: [],
    });
    await test.restart();
    const fork = await test.engine.fork('b', 'a', options(lastSequence));
    expect(fork).toMatchObject({ status: 'paused', gate: { reason: 'rebuilt', decisions: ['retry'] } });
    await test.restart();
    await test.engine.checkTimers();
    expect(test.calls).toEqual([]);
    await test.engine.signal('b', 'RETRY_REQUESTED', { by: 'u' });
    (await test.call('work')).complete('done');
    await test.until('b', (view) => view.status === 'completed');
  });

  it('gives its timers the time that they had left', async () => {
    await test.launch('a');
    await test.toGate('a');
    const { lastSequence } = await test.approve('a');
    test.clock.advance(50_000);
    await test.engine.fork('b', 'a', options(lastSequence));
    test.clock.advance(59_999);
    await test.engine.checkTimers();
    expect(await test.engine.view('a')).toMatchObject({ status: 'paused' });
    expect(await test.engine.view('b')).toMatchObject({ status: 'running' });
    test.clock.advance(1);
    await test.engine.checkTimers();
    expect(await test.engine.view('b')).toMatchObject({ status: 'paused' });
  });

  it('of a run that ended, failed over or was cancelled works at an earlier event', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    await test.engine.cancel('a', 'u');
    await expect(test.engine.fork('b', 'a', options(lastSequence + 1))).rejects.toThrow(
      `Run a cannot be forked at event ${lastSequence + 1}: the run had ended there (cancelled); choose an event before ${lastSequence + 1}.`,
    );
    expect(await test.engine.fork('b', 'a', options(lastSequence))).toMatchObject({ status: 'awaiting_approval' });
  });

  it('takes a place, or waits for one like a run that is started', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    await test.launch('c');
    await test.launch('d');
    const signal = { type: 'APPROVAL_GRANTED', payload: { by: 'u' }, gateId: `b.${lastSequence}` };
    const fork = await test.engine.fork('b', 'a', options(lastSequence, { signal }));
    expect(fork).toMatchObject({ status: 'queued', queuePosition: 1, forkedFrom: { runId: 'a', at: lastSequence } });
    expect(await test.store.openActivities('b')).toHaveLength(1);
    await test.toGate('c');
    const admitted = await test.until('b', (view) => view.status === 'running');
    expect(admitted.currentStage).toBe('implementation');
    (await test.call('work')).complete('done');
    await test.until('b', (view) => view.status === 'completed');
  });

  it('decides the gate in the same step, and makes nothing when the gate does not take it', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    const signal = (type: string, payload: Record<string, JsonValue>, gateId = `b.${lastSequence}`) => ({
      type,
      payload,
      gateId,
    });
    const prepared: string[] = [];
    const prepare = async () => void prepared.push('ref');
    for (const [refused, words] of [
      [signal('RETRY_REQUESTED', { by: 'u' }), 'cannot take RETRY_REQUESTED'],
      [signal('APPROVAL_GRANTED', { by: 'u' }, 'b.999'), "no open gate 'b.999'"],
      [signal('APPROVAL_GRANTED', {}), 'The payload of APPROVAL_GRANTED is not valid'],
    ] as const) {
      const fork = test.engine.fork('b', 'a', options(lastSequence, { signal: refused, prepare }));
      await expect(fork).rejects.toThrow(words);
    }
    expect(prepared).toEqual([]);
    expect(await test.store.loadView('b')).toBeNull();
    const rejected = signal('APPROVAL_REJECTED', { by: 'u', feedback: 'smaller' });
    const fork = await test.engine.fork('b', 'a', options(lastSequence, { signal: rejected, prepare }));
    expect(fork).toMatchObject({ status: 'running', gates: [{ decision: 'reject', notes: 'smaller' }] });
    expect((await test.call('draft')).input).toEqual({ round: 1 });
    expect(prepared).toEqual(['ref']);
  });

  it('makes what it needs outside before it is stored, and one run of the same request however often it is sent', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    const prepare = async () => {
      expect(await test.store.loadView('b')).toBeNull();
    };
    const both = await Promise.all([1, 2].map(() => test.engine.fork('b', 'a', options(lastSequence, { prepare }))));
    const third = await test.engine.fork('b', 'a', options(1, { prepare: () => Promise.reject(new Error('again')) }));
    expect(both.concat(third).map(({ id, lastSequence: last }) => [id, last])).toEqual(
      Array.from({ length: 3 }, () => ['b', lastSequence + 1]),
    );
    await expect(
      test.engine.fork('e', 'a', options(lastSequence, { prepare: () => Promise.reject(new Conflict('no such ref')) })),
    ).rejects.toThrow('no such ref');
    expect(await test.store.loadView('e')).toBeNull();
  });

  it('tells the feed every event of the new run, in order', async () => {
    await test.launch('a');
    const { lastSequence } = await test.toGate('a');
    const told: string[] = [];
    test.engine.subscribe((message) => {
      if ('events' in message) told.push(...message.events.map((event) => `${event.sequence} ${event.type}`));
    });
    await test.engine.fork('b', 'a', options(lastSequence));
    const types = [...(await test.types('a')), 'RUN_FORKED'];
    expect(told).toEqual(types.map((type, index) => `${index + 1} ${type}`));
    const [source, fork] = await Promise.all(['a', 'b'].map((id) => test.store.readRun(id, 0)));
    expect(fork?.slice(0, -1).map(({ timestamp }) => timestamp)).toEqual(source?.map(({ timestamp }) => timestamp));
  });
});
