import { expect, it } from 'vitest';
import { type Concern, concernsHashOf } from './concerns.ts';
import { acceptsConcerns, bindingOf, hashWordOf, missingOf, movedOf, readHashWord, shownAt } from './shown-gate.ts';

const HASH = 'a'.repeat(64);
const TREE = 'b'.repeat(40);
const gate = { id: 'r-1.7', artifactHash: HASH, codeTree: TREE };

const item = { path: 'a.sh', line: 3, reason: 'runs', hash: 'h' };
const concern: Concern = { kind: 'runs_code', title: 'A changed file', items: [item], hash: 'c' };
const concernsHash = concernsHashOf([concern]);

it('has one hash over all that is shown of concerns', () => {
  expect(concernsHash).toMatch(/^[0-9a-f]{64}$/);
  expect(concernsHashOf([structuredClone(concern)])).toBe(concernsHash);
  const others: readonly (readonly Concern[])[] = [
    [],
    [concern, concern],
    [{ ...concern, title: 'Nothing' }],
    [{ ...concern, items: [] }],
    [{ ...concern, items: [{ ...item, reason: 'runs not' }] }],
    [{ ...concern, items: [{ reason: 'runs', line: 3, hash: 'h' }] }],
    [{ ...concern, items: [{ ...item, path: 'b.sh' }] }],
  ];
  expect(new Set([concernsHash, ...others.map(concernsHashOf)]).size).toBe(others.length + 1);
});

it('binds an approval to the concerns of the gate', () => {
  const open = { ...gate, concerns: [concern], concernsHash };
  expect(bindingOf('approve', open)).toEqual({ ...shownAt(gate), concernsHash });
  expect(bindingOf('reject', open)).toEqual({ gateId: 'r-1.7' });
  expect(missingOf(open, shownAt(gate))).toEqual(['concernsHash']);
  expect(missingOf(open, shownAt(open))).toEqual([]);
  expect(movedOf(open, { concernsHash: 'other' })).toEqual(['concernsHash']);
  expect(movedOf(gate, { concernsHash })).toEqual(['concernsHash']);
  expect(acceptsConcerns('accept', open)).toBe(true);
  expect(acceptsConcerns('retry', open)).toBe(false);
  expect(acceptsConcerns('approve', { concerns: [] })).toBe(false);
});

it('binds an approval to the gate and its hashes, and a rejection to the gate alone', () => {
  expect(bindingOf('approve', gate)).toEqual({ gateId: 'r-1.7', artifactHash: HASH, codeTree: TREE });
  expect(bindingOf('accept', { id: 'r-1.7', codeTree: TREE })).toEqual({ gateId: 'r-1.7', codeTree: TREE });
  expect(bindingOf('reject', gate)).toEqual({ gateId: 'r-1.7' });
  expect(shownAt({ id: 'r-1.9' })).toEqual({ gateId: 'r-1.9' });
});

it('writes the hashes of a gate as one word and reads the same word again', () => {
  const own = { artifactHash: 'version 3: of the draft', codeTree: 'a%b' };
  for (const shown of [{ artifactHash: HASH, codeTree: TREE }, { artifactHash: HASH }, { codeTree: TREE }, own])
    expect(readHashWord(hashWordOf(shown) ?? '')).toEqual(shown);
  for (const shown of [gate, { artifactHash: HASH }, {}]) {
    const word = hashWordOf({ ...shown, concernsHash }) ?? '';
    const { id: _id, ...hashes } = { id: '', ...shown };
    expect(readHashWord(word)).toEqual({ ...hashes, concernsHash });
  }
  expect(hashWordOf({})).toBeNull();
  for (const other of ['', ':', `${HASH}:`, `${HASH}:x:y:z`, `${HASH}::`, 'a b', '%'])
    expect(readHashWord(other)).toBeNull();
});

it('names what an approval leaves out and what it names otherwise than the gate shows it', () => {
  expect(missingOf(gate, {})).toEqual(['gateId', 'artifactHash', 'codeTree']);
  expect(missingOf(gate, { gateId: 'r-1.7', artifactHash: HASH })).toEqual(['codeTree']);
  expect(missingOf({}, { gateId: 'r-1.7' })).toEqual([]);
  expect(movedOf(gate, { artifactHash: 'c', codeTree: TREE })).toEqual(['artifactHash']);
  expect(movedOf({}, { codeTree: TREE })).toEqual(['codeTree']);
});
