import { describe, expect, it } from 'vitest';
import { modelsOfRoles } from './model-status.ts';

describe('the line of the roles and their models', () => {
  it('is one model where all roles have the same', () => {
    expect(
      modelsOfRoles([
        ['planner', 'toy-1'],
        ['reviewer', 'toy-1'],
      ]),
    ).toBe('all roles: toy-1');
  });

  it('names the model of most roles, and the roles that have another one', () => {
    const roles = [
      ['planner', 'big-2'],
      ['reviewer', 'toy-1'],
      ['judge', 'big-2'],
      ['critic', 'toy-1'],
      ['scout', 'toy-1'],
      ['writer', 'mid-3'],
    ] as const;
    expect(modelsOfRoles(roles)).toBe('all roles: toy-1, but planner, judge: big-2; writer: mid-3');
  });
});
