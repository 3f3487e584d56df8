import type { SpendingFact } from '@autonomous/shared';
import { expect, it, onTestFinished } from 'vitest';
import type { FamilyNow } from '../../core/activity.ts';
import { EngineUnderTest, type PendingCall } from '../engine.fixture.ts';

const MOST = { inputTokens: 1_000, outputTokens: 1_000, costUsd: 2 };
const USED = { inputTokens: 10, outputTokens: 1, costUsd: 0.5 };

/** Two runs of a family, each with its activity at work; that of the first one has a call under way and does not listen to its signal. */
async function twoRuns() {
  const test = await EngineUnderTest.open();
  test.endsWhenAborted = false;
  await test.launch('a');
  const one = await test.call('draft');
  await test.launch('b', 'u', { treeId: 'a' });
  const two = await test.call('draft');
  onTestFinished(() => {
    for (const { fail } of [one, two]) fail(new Error('the test is over'));
    return test.close();
  });
  const call = { call: `${one.context.key}#1.1`, stage: null, role: 'planner', model: 'x:y' };
  await write(one, { type: 'CALL_BOOKED', payload: { ...call, ...MOST } });
  const settled = { type: 'CALL_SETTLED', payload: { ...call, ...USED, booked: MOST, toolCalls: 0 } } as const;
  return { test, one, two, settled };
}

const write = ({ context }: PendingCall, fact: SpendingFact): Promise<void> => context.spend(() => fact);

/** What a run of the family sees. */
async function look({ context }: PendingCall): Promise<Pick<FamilyNow, 'costUsd' | 'underWay'>> {
  const seen = Promise.withResolvers<FamilyNow>();
  await context.spend((_run, family) => {
    seen.resolve(family);
    return null;
  });
  const { costUsd, underWay } = await seen.promise;
  return { costUsd, underWay };
}

const underWay = (costUsd: number) => ({ underWay: expect.objectContaining({ costUsd }) });

it('keeps a call of a cancelled run under way until what it came to is known', async () => {
  const { test, one, two, settled } = await twoRuns();
  expect(await look(two)).toMatchObject({ costUsd: 2, ...underWay(2) });
  await test.engine.signal('a', 'RUN_CANCELLED', { by: 'me' });
  expect(await look(two)).toMatchObject({ costUsd: 2, ...underWay(2) });
  // As an agent does that is told to end: it does not wait for its last words.
  const refused = expect(write(one, settled)).rejects.toThrow('no more spending is accepted');
  one.fail(new Error('cancelled'));
  await refused;
  expect(await look(two)).toMatchObject({ costUsd: 0.5, ...underWay(0) });
});

it('counts a call of a cancelled run as it was booked once its activity has ended without a word', async () => {
  const { test, one, two } = await twoRuns();
  await test.engine.signal('a', 'RUN_CANCELLED', { by: 'me' });
  one.fail(new Error('cancelled'));
  await expect.poll(() => look(two)).toMatchObject({ costUsd: 2, ...underWay(0) });
});

it('tells a reservation that waits for others when its activity has ended', async () => {
  const { test, one, two } = await twoRuns();
  const refused = expect(two.context.spend(() => 'later')).rejects.toThrow('no more spending is accepted');
  await look(one);
  await test.engine.signal('b', 'RUN_CANCELLED', { by: 'me' });
  await refused;
});
