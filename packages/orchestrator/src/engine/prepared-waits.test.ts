/** Work before a run waits: it holds up the step that makes the run wait, and nothing else. */
import type { JsonObject } from '@autonomous/shared';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EngineUnderTest } from './engine.fixture.ts';

/** An engine whose waits are held for some runs until a test lets them go. */
async function anEngine(isHeld: (runId: string) => boolean) {
  const asked: { readonly runId: string; readonly payload: JsonObject }[] = [];
  const held = Promise.withResolvers<void>();
  const under = await EngineUnderTest.open({
    beforeWait: (runId, payload) => {
      asked.push({ runId, payload });
      return isHeld(runId) ? held.promise : Promise.resolve();
    },
  });
  onTestFinished(() => under.close());
  await under.engine.start();
  const isAsked = (count: number) => vi.waitFor(() => expect(asked).toHaveLength(count), 120_000);
  return { under, asked, isAsked, letGo: () => held.resolve() };
}

it('comes before the step, which is stored when it has ended', async () => {
  const { under, asked, isAsked, letGo } = await anEngine(() => true);
  await under.launch('r-1');
  (await under.call('draft')).complete('the plan');
  await isAsked(1);
  expect(asked[0]).toMatchObject({ runId: 'r-1', payload: { activity: 'drafter', output: 'the plan' } });
  expect(await under.types('r-1')).not.toContain('ACTIVITY_COMPLETED');
  expect((await under.engine.view('r-1')).status).toBe('running');
  letGo();
  await under.until('r-1', ({ gate }) => gate?.kind === 'plan');
  expect(asked).toHaveLength(1);
});

it('is asked for once for each wait, and for no step that leads elsewhere', async () => {
  const { under, asked } = await anEngine(() => false);
  await under.launch('r-1');
  await under.toGate('r-1');
  await under.approve('r-1');
  (await under.call('work')).complete('done');
  await under.until('r-1', ({ status }) => status === 'completed');
  expect(asked).toHaveLength(1);
});

it('is asked for again where the run has stepped meanwhile', async () => {
  const { under, asked, isAsked, letGo } = await anEngine(() => true);
  await under.launch('r-1');
  (await under.call('draft')).complete('the plan');
  await isAsked(1);
  await under.engine.signal('r-1', 'MESSAGE_SENT', { by: 'me', text: 'hello' });
  letGo();
  await under.until('r-1', ({ gate }) => gate?.kind === 'plan');
  expect(asked).toHaveLength(2);
});

it('holds up no other timer where a timer makes the run wait', async () => {
  const { under, asked, isAsked, letGo } = await anEngine((runId) => runId === 'r-1' && asked.length > 2);
  for (const runId of ['r-1', 'r-2']) {
    await under.launch(runId);
    await under.toGate(runId);
    await under.approve(runId);
    await under.call('work');
    under.clock.advance(30_000);
  }
  // The minute of the first is over.
  await isAsked(3);
  under.clock.advance(30_000);
  await under.until('r-2', ({ status }) => status === 'paused');
  expect((await under.engine.view('r-1')).status).toBe('running');
  letGo();
  await under.until('r-1', ({ status }) => status === 'paused');
  expect((await under.types('r-1')).filter((type) => type === 'TIMER_FIRED')).toHaveLength(1);
});

it('keeps nobody from cancelling the run', async () => {
  const { under, isAsked, letGo } = await anEngine(() => true);
  await under.launch('r-1');
  (await under.call('draft')).complete('the plan');
  await isAsked(1);
  expect((await under.engine.cancel('r-1', 'me')).status).toBe('cancelled');
  letGo();
  expect(await under.types('r-1')).not.toContain('APPROVAL_REQUESTED');
});

it('does not keep the engine from stopping; the next one performs the activity again', async () => {
  const { under, isAsked, letGo } = await anEngine(() => true);
  await under.launch('r-1');
  (await under.call('draft')).complete('the plan');
  await isAsked(1);
  await under.restart();
  letGo();
  expect((await under.toGate('r-1')).gate?.kind).toBe('plan');
});
