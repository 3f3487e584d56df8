import { expect, it } from 'vitest';
import { createDecisionKeys } from './decision-keys.ts';

it('gives the same decision of the same gate the same key', () => {
  const { keyOf } = createDecisionKeys();
  const key = keyOf('r-1.4', { decision: 'approve', artifactHash: 'a' });
  expect(key).toMatch(/^[\x21-\x7e]{1,200}$/);
  expect(keyOf('r-1.4', { decision: 'approve', codeTree: undefined, artifactHash: 'a' })).toBe(key);
  // The server compares the bytes that are sent: in another order they are another request.
  expect(keyOf('r-1.4', { artifactHash: 'a', decision: 'approve' })).not.toBe(key);
});

it('gives a decision that was refused another key: a refusal is remembered under the first one', () => {
  const { keyOf, forget } = createDecisionKeys();
  const key = keyOf('r-1.4', { decision: 'approve' });
  const other = keyOf('r-1.9', { decision: 'approve' });
  forget('r-1.4', { decision: 'approve' });
  expect(keyOf('r-1.4', { decision: 'approve' })).not.toBe(key);
  expect(keyOf('r-1.9', { decision: 'approve' })).toBe(other);
});

it('gives another decision, another gate and another client a key of its own', () => {
  const { keyOf } = createDecisionKeys();
  const keys = [
    keyOf('r-1.4', { decision: 'approve' }),
    keyOf('r-1.9', { decision: 'approve' }),
    keyOf('r-1.4', { decision: 'reject', feedback: 'a' }),
    keyOf('r-1.4', { decision: 'reject', feedback: 'b' }),
    createDecisionKeys().keyOf('r-1.4', { decision: 'approve' }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});
