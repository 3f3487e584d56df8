import { createElement } from 'react';
import { expect, it, vi } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { SignIn } from './sign-in.tsx';

it.each([
  ['', true],
  ['#link-refused', false],
])('at an address that ends with %j the first link is advised: %s', (hash, isAdvised) => {
  vi.stubGlobal('window', { location: { hash, origin: 'http://127.0.0.1:3001' } });
  vi.stubGlobal('document', { documentElement: { dataset: {} } });
  const html = shownIn({}, createElement(SignIn));
  vi.unstubAllGlobals();
  expect(html.includes('printed when it started')).toBe(isAdvised);
  expect(html.includes('was cut off while it was copied')).toBe(!isAdvised);
  expect(html).toMatch(/Print a new link with:<\/p><pre>.* sign-in<\/pre>/);
});
