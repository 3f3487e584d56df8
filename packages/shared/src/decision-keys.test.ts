import { expect, it } from 'vitest';
import { createDecisionKeys } from './decision-keys.ts';

it('gives the same decision of the same gate the same key', () => {
  const { keyOf } = createDecisionKeys();
  const key = keyOf('r-1.4', { decision: 'approve', artifactHash: 'a' });
  expect(key).toMatch(/^[\x21-\x7e]{1,200}$/);
  // The order of fields and what is left out make no other decision.
  expect(keyOf('r-1.4', { artifactHash: 'a', codeTree: undefined, decision: 'approve' })).toBe(key);
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
