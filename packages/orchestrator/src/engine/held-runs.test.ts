/** Runs that a person pauses while they work. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineUnderTest } from './engine.fixture.ts';

const DAY = 24 * 60 * 60_000;

describe('a run that a person pauses', () => {
  let test: EngineUnderTest;
  beforeEach(async () => {
    test = await EngineUnderTest.open({ places: 1 });
    await test.engine.start();
    await test.launch('r1');
    await test.toGate('r1');
    await test.approve('r1');
  });
  afterEach(() => test.close());

  it('ends what it does, begins it again at the retry, and its stage has the time that was left', async () => {
    const work = await test.call('work');
    test.clock.advance(40_000);
    const paused = await test.engine.hold('r1', 'me', 'Lunch.');
    expect(paused).toMatchObject({ status: 'paused', gate: { reason: 'held', decisions: ['retry'] } });
    expect(paused.gate?.summary).toMatch(/^me paused the run: Lunch\. A retry/);
    expect(work.context.signal.aborted).toBe(true);
    test.clock.advance(DAY);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).gate?.reason).toBe('held');

    await test.engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' });
    expect(await test.engine.view('r1')).toMatchObject({ status: 'running', gate: null });
    await test.call('work');
    test.clock.advance(19_000);
    await test.engine.checkTimers();
    expect((await test.engine.view('r1')).status).toBe('running');
    test.clock.advance(2_000);
    expect((await test.until('r1', (view) => view.status === 'paused')).gate?.reason).toBe('agent_failed');
  });

  it('stays paused over a crash, gives its slot to others, and completes after the retry', async () => {
    await test.call('work');
    await test.launch('r2');
    expect((await test.engine.view('r2')).status).toBe('queued');
    await test.engine.hold('r1', 'me');
    await test.until('r2', (view) => view.status !== 'queued');
    await test.restart();
    expect((await test.engine.view('r1')).gate?.reason).toBe('held');
    await test.engine.cancel('r2', 'me');
    await test.engine.signal('r1', 'RETRY_REQUESTED', { by: 'me' });
    (await test.call('work')).complete('done');
    await test.until('r1', (view) => view.status === 'completed');
    const types = await test.types('r1');
    expect(types.filter((type) => type === 'RUN_PAUSED' || type === 'RETRY_REQUESTED')).toHaveLength(2);
  });

  it('is paused where it waits in the queue, and takes its turn after the retry', async () => {
    await test.call('work');
    await test.launch('r2');
    await test.engine.hold('r2', 'me');
    await test.engine.cancel('r1', 'me');
    expect((await test.engine.view('r2')).gate?.reason).toBe('held');
    await test.engine.signal('r2', 'RETRY_REQUESTED', { by: 'me' });
    (await test.call('draft')).complete('the plan');
    await test.until('r2', (view) => view.gate?.kind === 'plan');
  });

  it('is not one that was quarantined meanwhile, which keeps its reason', async () => {
    await test.call('work');
    const holding = test.engine.hold('r1', 'me');
    const quarantined = test.engine.quarantine('r1', 'another server knows more');
    await quarantined;
    await holding.catch(() => undefined);
    expect((await test.engine.view('r1')).gate?.reason).toBe('poisoned');
    const again = test.engine.quarantine('r1', 'another server knows more');
    await expect(Promise.all([again, test.engine.hold('r1', 'me')])).rejects.toThrow("at its gate 'pause'");
  });

  it('cannot be forked where it is paused, and the refusal says so', async () => {
    await test.call('work');
    const { lastSequence } = await test.engine.hold('r1', 'me', 'Lunch.');
    const fork = { at: lastSequence, by: 'me', branch: 'b', prepare: async () => {} };
    await expect(test.engine.fork('f1', 'r1', fork)).rejects.toThrow('the run was paused there (me paused the run');
  });

  it('is not one that has ended, or waits for a person anyway', async () => {
    await test.call('work');
    await test.engine.cancel('r1', 'me');
    await expect(test.engine.hold('r1', 'me')).rejects.toThrow('Run r1 has already ended: it is cancelled.');
    await test.launch('r2');
    await test.toGate('r2');
    await expect(test.engine.hold('r2', 'me')).rejects.toThrow("waits for a person already, at its gate 'plan'");
  });
});
