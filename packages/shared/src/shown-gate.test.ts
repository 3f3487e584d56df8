import { expect, it } from 'vitest';
import { bindingOf, hashWordOf, missingOf, movedOf, readHashWord, shownAt } from './shown-gate.ts';

const HASH = 'a'.repeat(64);
const TREE = 'b'.repeat(40);
const gate = { id: 'r-1.7', artifactHash: HASH, codeTree: TREE };

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
  expect(hashWordOf({})).toBeNull();
  for (const other of ['', ':', `${HASH}:`, `${HASH}:x:y`, 'a b', '%']) expect(readHashWord(other)).toBeNull();
});

it('names what an approval leaves out and what it names otherwise than the gate shows it', () => {
  expect(missingOf(gate, {})).toEqual(['gateId', 'artifactHash', 'codeTree']);
  expect(missingOf(gate, { gateId: 'r-1.7', artifactHash: HASH })).toEqual(['codeTree']);
  expect(missingOf({}, { gateId: 'r-1.7' })).toEqual([]);
  expect(movedOf(gate, { artifactHash: 'c', codeTree: TREE })).toEqual(['artifactHash']);
  expect(movedOf({}, { codeTree: TREE })).toEqual(['codeTree']);
});
