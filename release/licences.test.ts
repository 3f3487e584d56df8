import { describe, expect, it } from 'vitest';
import { isAccepted, noticesOf } from './licences.ts';

const carried = { name: 'a', version: '1.0.0', license: 'MIT', text: 'Permission is hereby granted' };

describe('licences of carried code', () => {
  it.each(['MIT', '(MPL-2.0 OR Apache-2.0)', 'Apache-2.0 AND BSD-3-Clause'])('accept %s', (expression) => {
    expect(isAccepted(expression)).toBe(true);
  });

  it.each(['GPL-3.0-only', 'LGPL-2.1', 'MPL-2.0', 'MIT AND GPL-2.0', 'SEE LICENSE IN x', ''])(
    'refuse %j',
    (expression) => {
      expect(isAccepted(expression)).toBe(false);
    },
  );

  it('stand in the notices with their texts', () => {
    expect(noticesOf([carried])).toContain('a 1.0.0 (MIT)\n\nPermission is hereby granted');
  });

  it('name every package that is refused', () => {
    const others = [
      { ...carried, name: 'b', license: 'GPL-3.0' },
      { ...carried, name: 'c', license: null },
    ];
    expect(() => noticesOf([carried, ...others])).toThrow(/b@1\.0\.0: GPL-3\.0\n {2}c@1\.0\.0: no licence\n/);
  });
});
