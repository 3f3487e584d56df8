/** The pause of a rebuilt run: data outside of its state that act when it goes on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { JsonObject, RunView, WorkflowEvent } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RecordedState } from '../engine/rebuilt/rebuilt-pause.ts';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { openUploads, type Uploads } from '../server/decisions/uploads.ts';
import { pauseOfRecord } from './rebuilt-pause.ts';

let folder: string;
let uploads: Uploads;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'uploads-'));
  uploads = await openUploads(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const STATE: RecordedState = { start: {}, context: {}, inputs: [], told: [], events: [], open: [] };

/** Rows of the pause of a run. `others` are further runs of the database, with their events. */
async function rowsOf(
  state: Partial<RecordedState>,
  others: Readonly<Record<string, Partial<RunView> & { readonly log: readonly object[] }>> = {},
  own: Partial<RunView> = {},
): Promise<ReadonlyMap<string, string>> {
  const store = {
    getProject: async () => null,
    listChildren: async () => [],
    tipOf: async (id: string) => (others[id] === undefined ? null : { sequence: 9, hash: '' }),
    loadView: async (id: string) => (others[id] === undefined ? null : { ...aView(id), ...others[id] }),
    readRun: async (id: string, after: number, limit = Infinity) =>
      (others[id]?.log ?? []).slice(after, after + limit) as readonly WorkflowEvent[],
  };
  const workflows = {
    find: () => undefined,
    isRead: (type: string) => type !== 'UNREAD',
  };
  const pauseOf = pauseOfRecord({ store, repository: {} as never, workflows, uploads });
  const pause = await pauseOf({ ...aView('r-1'), ...own }, { ...STATE, ...state });
  if (pause.isTooLong === true) return new Map([['too long', pause.message]]);
  const rows = pause.details['applies'] as readonly { readonly what: string; readonly value: string }[];
  return new Map(rows.map(({ what, value }) => [what, value]));
}

const kept = (claim: string): { readonly type: string; readonly payload: JsonObject } => ({
  type: 'FINDING_KEPT',
  payload: { claim, evidence: [{ quote: `it says ${claim}` }] },
});

it('shows events of the run that its activities read, once, and messages that an agent at work gets', async () => {
  const rows = await rowsOf({
    context: { hint: 'known' },
    events: [
      kept('tea is hot'),
      { type: 'FINDING_KEPT', payload: { claim: 'known' } },
      // The same quote rests below another claim.
      { type: 'FINDING_KEPT', payload: { claim: 'tea is warm', evidence: [{ quote: 'it says tea is hot' }] } },
      { type: 'UNREAD', payload: { claim: 'cold' } },
      { type: 'MESSAGE_SENT', payload: { text: 'hurry' } },
    ],
  });
  expect(rows.get('FINDING_KEPT 1: claim')).toBe('tea is hot');
  expect(rows.get('FINDING_KEPT 1: evidence.0.quote')).toBe('it says tea is hot');
  expect(rows.get('MESSAGE_SENT 4: text')).toBe('hurry');
  expect([...rows.values()].filter((value) => value === 'known')).toHaveLength(1);
  expect([...rows.values()]).not.toContain('cold');
});

it('shows such events of every other rebuilt run that the state names, whatever its id looks like', async () => {
  const rows = await rowsOf(
    { context: { researchRun: 'forged' }, inputs: [{ of: 'k7f3q2-9d8w4x' }, { of: 'abcdef-abcdef' }] },
    {
      forged: {
        rebuiltUpTo: 2,
        log: [kept('tea is cold'), { type: 'MESSAGE_SENT', payload: { text: 'for others' } }, kept('found here since')],
      },
      'k7f3q2-9d8w4x': { rebuiltUpTo: 9, log: [kept('milk is first')] },
      // This server made it itself.
      'abcdef-abcdef': { log: [kept('sugar is last')] },
      unnamed: { rebuiltUpTo: 9, log: [kept('lemon')] },
    },
  );
  expect(rows.get('run forged: FINDING_KEPT 1: claim')).toBe('tea is cold');
  expect(rows.get('run k7f3q2-9d8w4x: FINDING_KEPT 2: claim')).toBe('milk is first');
  for (const unseen of ['for others', 'found here since', 'sugar is last', 'lemon'])
    expect([...rows.values()]).not.toContain(unseen);
});

it('shows the text of files that agents get, and says of others that they are not shown', async () => {
  const text = await uploads.put('notes.md', Buffer.from('Run curl.\nThen stop.'));
  const binary = await uploads.put('a.bin', Buffer.from([255, 254, 0]));
  const long = await uploads.put('long.txt', Buffer.alloc(100_001, 'a'));
  const rows = await rowsOf({
    context: { notes: [{ uploads: [text.id, binary.id, long.id, 'f'.repeat(64)].map((id) => ({ id })) }] },
  });
  const contents = [0, 1, 2, 3].map((index) => rows.get(`notes.0.uploads.${index}.content`));
  expect(contents).toEqual([
    expect.stringMatching(/^Run curl\..*Then stop\.$/s),
    'not shown: 3 bytes that are no text',
    'not shown: 100001 bytes',
    undefined,
  ]);
});

it.each<[what: string, state: () => Partial<RecordedState>]>([
  ['rows', () => ({ context: { ids: Array.from({ length: 300_000 }, (_, index) => `t${index}`) } })],
  ['characters of names', () => ({ events: [{ type: 'A', payload: { ['k'.repeat(10_000_000)]: ['a', 'b'] } }] })],
  [
    'fields in fields',
    () => ({ context: Array.from({ length: 2_000 }).reduce<JsonObject>((in_) => ({ a: in_ }), { b: 'c' }) }),
  ],
  ['events', () => ({ events: Array.from({ length: 500_000 }, () => ({ type: 'A', payload: { at: 10_000_000 } })) })],
])('of more %s than a person can be shown, the run cannot go on', async (_, state) => {
  expect((await rowsOf(state())).get('too long')).toContain('More applies than the 1500000 characters');
});

it('shows the configuration of a run that is not prepared with what was asked for', async () => {
  const requestedConfig = { git: { baseBranch: 'elsewhere', autoMerge: true }, commands: { test: 'sh evil.sh' } };
  const { baseCommit: _prepared, ...unprepared } = aView('r-1');
  const shown = ['base branch', 'autoMerge', 'check command'];
  for (const state of [{ context: { requestedConfig } }, { context: null, start: { requestedConfig } }]) {
    const rows = await rowsOf(state, {}, unprepared);
    expect(shown.map((what) => rows.get(what))).toEqual(['elsewhere', 'on', 'sh evil.sh']);
  }
  // An activity that is under way has what it was given.
  const changed = await rowsOf(
    { context: { requestedConfig: {} }, inputs: ['x', { requestedConfig }] },
    {},
    unprepared,
  );
  expect(shown.map((what) => changed.get(what))).toEqual(['elsewhere', 'on', 'sh evil.sh']);
  // A child run begins at the branch of its parent.
  const parent = { runId: 'r-0', key: 'k', depth: 1 };
  expect((await rowsOf({ context: { requestedConfig } }, {}, { parent })).get('base branch')).not.toBe('elsewhere');
  expect((await rowsOf({ context: { requestedConfig } }, {}, { baseCommit: 'b' })).get('autoMerge')).toBe('off');
});

it.each(['parent', 'forkedFrom'])(
  'of a run with more above it by %s than are looked at, too much applies',
  async (link) => {
    const linked = (number: number) => ({ [link]: { runId: `r-${number}`, key: 'k', depth: 1, at: 1 }, log: [] });
    const others = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`r-${index + 2}`, linked(index + 3)]));
    expect((await rowsOf({}, others, linked(2) as Partial<RunView>)).get('too long')).toContain('it cannot go on');
  },
);
