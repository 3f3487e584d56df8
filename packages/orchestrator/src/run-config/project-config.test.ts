import { expect, it } from 'vitest';
import { CONFIG_PATH, ownConfigOf, readProjectConfig } from './project-config.ts';

it.each([
  ['that is absent', null, { config: null, fault: null, notices: [] }],
  ['that is valid', '{ "reviewPaths": ["a"] }', { config: { reviewPaths: ['a'] }, fault: null, notices: [] }],
  [
    'with an unknown key',
    '{ "review": ["a"] }',
    { config: {}, fault: null, notices: [expect.stringMatching(/^The key "review" .* is ignored/)] },
  ],
  [
    'with a wrong value',
    '{ "excludePaths": "\\u202Ea" }',
    {
      config: null,
      fault: expect.stringMatching(/^\.autonomous\/config\.json is not valid and is ignored: excludePaths: /),
      notices: [],
    },
  ],
  [
    'that is no JSON',
    '{ \u202E',
    { config: null, fault: expect.stringMatching(/ is ignored: is not valid JSON: [^\u202E]*$/), notices: [] },
  ],
])('a configuration %s counts as far as it can be understood', (_, text, expected) => {
  expect(ownConfigOf(text)).toEqual(expected);
});

it("a project's configuration is read from the commit", async () => {
  const read: unknown[] = [];
  const repository = {
    readFile: (...asked: unknown[]) => {
      read.push(asked);
      return Promise.resolve('{ "reviewPaths": ["a"] }');
    },
  };
  expect((await readProjectConfig(repository, 'p', 'c')).config).toEqual({ reviewPaths: ['a'] });
  expect(read).toEqual([['p', 'c', CONFIG_PATH]]);
});
