import { expect, it } from 'vitest';
import { COMMANDS, SETTINGS, VIEWS, VIEW_CONTAINER } from './identifiers.ts';

it('keeps every identifier in the namespace of the extension, each of them once', () => {
  const identifiers = [...Object.values(COMMANDS), ...Object.values(VIEWS), ...Object.values(SETTINGS)];
  for (const identifier of identifiers)
    expect(identifier).toMatch(new RegExp(String.raw`^${VIEW_CONTAINER}\.[a-z][a-zA-Z]+$`));
  expect(new Set(identifiers).size).toBe(identifiers.length);
});
