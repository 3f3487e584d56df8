/** A fan-out on a real engine and a real database, whose server stops and starts between its results. */
import { readFile } from 'node:fs/promises';
import { type JsonValue, TerminalFailure } from '@autonomous/shared';
import { afterEach, expect, it } from 'vitest';
import { assign, enqueueActions, setup, stopChild } from 'xstate';
import { z } from 'zod';
import { childRun, type ChildRequest } from '../../src/core/child-runs.ts';
import { activity, type ActivityEvent, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';
import { createRegistry } from '../../src/core/registry.ts';
import {
  failed,
  type FailurePolicy,
  type FanOut,
  fanOut,
  startable,
  started,
  succeeded,
  verdictOf,
} from '../../src/workflows/parts/fan-out.ts';
import { Family, leaf } from './child-runs.fixture.ts';
import { parts } from './fan-out-guide.fixture.ts';

interface Context {
  readonly fan: FanOut;
}

/** Spawns `src` for each id, so many at once; ends as the fan-out does, and stops what is left of it then. */
function fanOf(src: 'work' | 'phase', ids: readonly string[], atOnce: number, policy: FailurePolicy = 'fail-fast') {
  const machine = setup({
    types: {
      context: {} as Context,
      events: {} as { type: 'RUN_CANCELLED' } | ActivityEvent<JsonValue>,
      meta: {} as StateMeta<Context>,
    },
    actors: { work: activity<ChildRequest, JsonValue>(), phase: childRun('leaf') },
    actions: {
      stopTheRest: enqueueActions(({ context, enqueue }) => {
        for (const id of context.fan.running) enqueue(stopChild(id));
      }),
    },
  }).createMachine({
    id: 'fan',
    initial: 'spread',
    context: { fan: fanOut(ids, atOnce, policy) },
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      spread: {
        meta: { status: 'running' },
        entry: enqueueActions(({ context, enqueue }) => {
          const next = startable(context.fan);
          for (const id of next) enqueue.spawnChild(src, { id, input: { request: `Do ${id}` } });
          enqueue.assign({ fan: started(context.fan, next) });
        }),
        on: {
          'xstate.done.actor.*': {
            target: 'spread',
            reenter: true,
            actions: assign({ fan: ({ context, event }) => succeeded(context.fan, event.actorId, event.output) }),
          },
          'xstate.error.actor.*': {
            target: 'spread',
            reenter: true,
            actions: assign({ fan: ({ context, event }) => failed(context.fan, event.actorId, 'it failed') }),
          },
        },
        always: [
          { guard: ({ context }) => verdictOf(context.fan) === 'succeeded', target: 'completed' },
          { guard: ({ context }) => verdictOf(context.fan) === 'failed', target: 'failed', actions: 'stopTheRest' },
        ],
      },
      completed: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed', message: () => 'too many failed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
  return defineWorkflow({
    name: 'fan',
    version: 1,
    description: 'a fan-out',
    machine: machine as never, // A machine is any machine; its full type says nothing more to the engine.
    signals: { RUN_CANCELLED: z.looseObject({}) },
  });
}

let family: Family;
const open = async (...fan: Parameters<typeof fanOf>): Promise<Family> =>
  (family = await Family.open({ workflows: createRegistry([leaf, fanOf(...fan)]) }));
afterEach(async () => {
  const { errors } = family;
  await family.close();
  expect(errors).toEqual([]);
});

const outcomesOf = async (runId: string): Promise<readonly unknown[]> =>
  (await family.store.readRun(runId, 0))
    .filter(({ type }) => type === 'ACTIVITY_COMPLETED' || type === 'ACTIVITY_FAILED')
    .map(({ payload }) => payload['activity']);
const openIn = async (runId: string): Promise<readonly string[]> =>
  (await family.store.openKeys(runId)).activities.map((key) => key.split('/').at(-1) ?? '').toSorted();

it('continues where it was after a restart between any two results, within its concurrency limit', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  await open('work', ids, 2);
  await family.launch('r', 'fan');
  const keys = new Set<string>();
  for (const [index, id] of ids.entries()) {
    const call = await family.call('work', `Do ${id}`);
    keys.add(call.context.key);
    call.complete(id);
    await expect.poll(() => openIn('r')).not.toContain(id);
    await family.restart();
    // Activities that were under way are performed again with the same keys, and nothing else is.
    expect(await openIn('r')).toEqual(ids.slice(index + 1, index + 3));
  }
  await family.status('r', 'completed');
  expect(await outcomesOf('r')).toEqual(ids);
  expect(keys.size).toBe(ids.length);
});

it('repeats what was under way under the same key', async () => {
  await open('work', ['a', 'b', 'c'], 2);
  await family.launch('r', 'fan');
  const before = [await family.call('work', 'Do a'), await family.call('work', 'Do b')];
  await family.restart();
  const after = [await family.call('work', 'Do a'), await family.call('work', 'Do b')];
  expect(after.map(({ context }) => context.key)).toEqual(before.map(({ context }) => context.key));
  expect(family.calls).toEqual([]);
});

it('starts nothing more after its verdict, and leaves nothing open, over a restart', async () => {
  await open('work', ['a', 'b', 'c', 'd'], 2, { atLeast: 3 });
  await family.launch('r', 'fan');
  (await family.call('work', 'Do a')).fail(new TerminalFailure('no'));
  await family.call('work', 'Do c');
  await family.restart();
  (await family.call('work', 'Do c')).fail(new TerminalFailure('no'));
  const ended = await family.status('r', 'failed');
  expect(ended.failure).toBe('too many failed');
  expect(await openIn('r')).toEqual([]);
  expect(await outcomesOf('r')).toEqual(['a', 'c']);
});

it('of child runs starts each of them once over restarts', async () => {
  const ids = ['a', 'b', 'c'];
  await open('phase', ids, 2);
  await family.launch('r', 'fan');
  for (const [index, id] of ids.entries()) {
    (await family.call('work', `Do ${id}`)).complete(id);
    await expect.poll(() => openIn('r')).not.toContain(id);
    await family.restart();
    expect(await openIn('r')).toEqual(ids.slice(index + 1, index + 3));
  }
  await family.status('r', 'completed');
  const children = await family.childrenOf('r', 3);
  expect(children.map(({ originalRequest, status }) => `${originalRequest}: ${status}`)).toEqual(
    ids.map((id) => `Do ${id}: completed`),
  );
});

it('is written as the guide shows it: results by id, one failure more than the policy takes stops the rest', async () => {
  family = await Family.open({ workflows: createRegistry([parts]) });
  const [page, code] = await Promise.all(
    ['../../../../docs/child-runs.md', './fan-out-guide.fixture.ts'].map((file) =>
      readFile(new URL(file, import.meta.url), 'utf8'),
    ),
  );
  const shown = /^```ts\n([\s\S]*?)^```$/m.exec(page ?? '')?.[1];
  expect(code?.slice(code.indexOf('import'))).toBe(shown);

  await family.launch('r', 'parts');
  (await family.call('work', 'Do north')).complete('n');
  (await family.call('work', 'Do east')).fail(new TerminalFailure('no'));
  (await family.call('work', 'Do south')).complete('s');
  (await family.call('work', 'Do west')).complete('w');
  const done = await family.engine.finished('r');
  expect(done).toMatchObject({
    status: 'completed',
    output: { parts: { north: { ok: true, output: 'n' }, east: { ok: false }, west: { ok: true, output: 'w' } } },
  });

  await family.launch('q', 'parts');
  (await family.call('work', 'Do north')).fail(new TerminalFailure('no'));
  const east = await family.call('work', 'Do east');
  (await family.call('work', 'Do south')).fail(new TerminalFailure('no'));
  expect(await family.status('q', 'failed')).toMatchObject({ failure: 'Fewer than three parts succeeded.' });
  expect([await openIn('q'), east.context.signal.aborted]).toEqual([[], true]);
});
