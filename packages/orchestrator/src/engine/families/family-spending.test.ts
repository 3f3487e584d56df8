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

/** Spending of the family, as the run of this call is told when it spends. */
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
  const known: number[] = [];
  const waiting = two.context.spend((_run, family) => {
    known.push(family.costUsd - family.underWay.costUsd);
    return known.at(-1) === 0 ? 'later' : null;
  });
  // As an agent does that is told to end: it does not wait for its last words.
  const written = write(one, settled);
  one.fail(new Error('cancelled'));
  await written;
  await waiting;
  expect(known.at(-1)).toBe(0.5);
  expect(await look(two)).toMatchObject({ costUsd: 0.5, ...underWay(0) });
});

it('counts a call of a run that a person paused as it was booked once its activity has ended without a word', async () => {
  const { test, one, two } = await twoRuns();
  await test.engine.hold('a', 'me');
  one.fail(new Error('cancelled'));
  await expect.poll(() => look(two)).toMatchObject({ costUsd: 2, ...underWay(0) });
});

it('counts a call of a cancelled run as it was booked once its activity has ended without a word', async () => {
  const { test, one, two } = await twoRuns();
  await test.engine.signal('a', 'RUN_CANCELLED', { by: 'me' });
  one.fail(new Error('cancelled'));
  await expect.poll(() => look(two)).toMatchObject({ costUsd: 2, ...underWay(0) });
});

it('refuses a reservation that waits for others once its run is cancelled', async () => {
  const { test, two } = await twoRuns();
  const reserved = two.context.spend(() => 'later');
  const [refused] = await Promise.allSettled([reserved, test.engine.signal('b', 'RUN_CANCELLED', { by: 'me' })]);
  expect(refused).toMatchObject({ reason: { message: expect.stringContaining('no more spending is accepted') } });
});

const ENDS = {
  'a person cancels it': ({ engine }) => engine.signal('a', 'RUN_CANCELLED', { by: 'me' }),
  'a person pauses it': ({ engine }) => engine.hold('a', 'me'),
  'it is quarantined': ({ engine }) => engine.quarantine('a', 'others know more of it'),
} satisfies Record<string, (test: EngineUnderTest) => Promise<unknown>>;

it.each(Object.entries(ENDS))('keeps what a call came to in the log of its run when %s', async (_how, end) => {
  const { test, one, two, settled } = await twoRuns();
  await end(test);
  const { status } = await test.engine.view('a');
  await write(one, settled);
  for (const { fail } of [one, two]) fail(new Error('the server stops'));
  await test.restart();
  expect(await test.engine.view('a')).toMatchObject({ status, cost: { costUsd: 0.5 } });
  expect(await test.store.verifyRun('a')).toBeNull();
});

it('keeps what a call came to that a stop of the engine cuts short', async () => {
  const { test, one, two, settled } = await twoRuns();
  one.context.signal.addEventListener('abort', () => {
    void write(one, settled);
    for (const { fail } of [one, two]) fail(new Error('the server stops'));
  });
  await test.restart();
  expect(await test.engine.view('a')).toMatchObject({ cost: { costUsd: 0.5 } });
});
