import { expect, it } from 'vitest';
import { findCheckCommands } from './check-commands.ts';

const found = (files: Readonly<Record<string, string>>) =>
  findCheckCommands(Object.keys(files).toSorted(), (path) => files[path] ?? null);

it.each([
  [{ 'package.json': '{"scripts":{"lint":"eslint .","test":"node --test"}}' }, 'npm test', 'npm run lint'],
  [{ 'package.json': '{"scripts":{"lint":"x"}}', 'pnpm-lock.yaml': '' }, null, 'pnpm run lint'],
  [{ 'package.json': '{"scripts":{"lint":"x"}}', 'yarn.lock': '' }, null, 'yarn run lint'],
  [{ 'package.json': '{"scripts":{"lint":"x"}}', 'bun.lockb': '' }, null, 'bun run lint'],
  [{ Makefile: 'test lint: all\n\ttrue\n' }, 'make test', 'make lint'],
  [{ Makefile: 'lint := x\n# lint: no\n' }, null, null],
  [
    { 'CONTRIBUTING.md': 'Run `make check` first.\n\n```sh\n$ ruff check .\npytest -q\n```\n' },
    'make check',
    'ruff check .',
  ],
  [{ 'README.md': 'The `test` folder, `npm test -- <name>`, `rm -rf test` and `lint`.' }, null, null],
  [{ 'README.md': 'Run `npm test`.', 'CONTRIBUTING.md': '`just test`' }, 'just test', null],
  [{ 'package.json': '{' }, null, null],
  [{ 'package.json': 'null' }, null, null],
])('finds the commands of %j', async (files, test, lint) => {
  const commands = await found(files);
  expect([commands.test?.command ?? null, commands.lint?.command ?? null]).toEqual([test, lint]);
});

it('names the file that a command comes from', async () => {
  expect(await found({ 'README.md': '`npm run lint`', Makefile: 'test:\n' })).toEqual({
    test: { command: 'make test', source: 'Makefile' },
    lint: { command: 'npm run lint', source: 'README.md' },
  });
});
