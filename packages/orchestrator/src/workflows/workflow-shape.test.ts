import { describe, expect, it } from 'vitest';
import { shapeFaults } from './workflow-shape.ts';

const gate = { title: 'Split', presents: 'message' };

describe('The shape of a workflow', () => {
  it('has labels and details of a gate, and the word for its progress', () => {
    const labels = { reject: { button: 'Give guidance', field: 'Guidance' }, retry: { button: 'Verify' } };
    const details = { attempts: 'Attempts' };
    expect(shapeFaults({ gates: { split: { ...gate, labels, details } }, progressWord: 'merged' })).toEqual([]);
  });

  it('is wrong where a label has no button, or labels no decision that there is', () => {
    const labels = { reject: { field: 'Guidance' }, refuse: { button: 'No' } };
    const faults = shapeFaults({ gates: { split: { ...gate, labels } } }).map(({ message }) => message);
    expect(faults.join('\n')).toMatch(/gates\.split\.labels\.reject\.button/);
    expect(faults.join('\n')).toMatch(/refuse/);
  });
});
