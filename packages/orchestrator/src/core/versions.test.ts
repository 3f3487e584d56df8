/** Versions of a workflow as numbers, and conversions over several of them. */
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import type { StoredState } from './definition.ts';
import { defineVersions, type WorkflowVersions } from './versions.ts';

const versions = (change: Partial<WorkflowVersions> = {}) =>
  defineVersions({
    name: 'flow',
    newest: 3,
    description: '',
    machine: (version) => createMachine({ id: 'flow', meta: { status: 'running' }, context: { version } }),
    signals: {},
    ...change,
  });
const state = (way: readonly number[]): StoredState => ({ value: 'a', context: { way }, history: {} });
/** Adds its number to the way. */
const step = (from: number) => ({
  [from]: ({ context }: StoredState) => state([...(context['way'] as readonly number[]), from]),
});

it('are those from the oldest to the newest, each with its own machine; by default the newest alone', () => {
  expect(versions().map(({ version }) => version)).toEqual([3]);
  const all = versions({ oldest: 2 });
  expect(all.map(({ version, machine }) => [version, machine.config.context])).toEqual([
    [2, { version: 2 }],
    [3, { version: 3 }],
  ]);
});

it('are reached from each older one over the conversions between, where none is missing', () => {
  const [, second, third, fourth] = versions({ oldest: 1, newest: 4, migrations: { ...step(1), ...step(2) } });
  expect(third?.migrations?.[1]?.(state([0]))).toEqual(state([0, 1, 2]));
  expect(third?.migrations?.[2]?.(state([0]))).toEqual(state([0, 2]));
  expect(Object.keys(second?.migrations ?? {})).toEqual(['1']);
  expect(fourth?.migrations).toEqual({});
});

it.each([
  [{ oldest: 4 }, "has 4 as its oldest version and 3 as its newest: give the smaller number as 'oldest'"],
  [{ migrations: step(3) }, "migrates from version 3, and its newest is 3: name an older one in 'migrations'"],
  [{ newest: 1.5 }, 'its version is 1.5; versions are whole numbers from 1'],
])('are refused by name: %j', (change, why) => {
  expect(() => versions(change)).toThrow(why);
});
