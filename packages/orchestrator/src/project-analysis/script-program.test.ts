import { expect, it } from 'vitest';
import { programOfScript } from './script-program.ts';

async function programOf(
  test: string,
  {
    command = 'npm test',
    setup = null,
    ...manifest
  }: Readonly<Record<string, unknown>> & { command?: string; setup?: string | null } = {},
) {
  const scripts = { test, unit: 'deno test', loop: 'npm run loop' };
  const texts: Readonly<Record<string, string>> = {
    'package.json': JSON.stringify({ scripts, ...manifest }),
    'app/package.json': JSON.stringify({ scripts: { test: 'make check' } }),
  };
  return programOfScript({ command, setup, read: async (path) => texts[path] ?? null });
}

it.each([
  ['bun test', 'bun'],
  ['NODE_ENV=test bun test', 'bun'],
  ['bun test && tsc', 'bun'],
  ['npm run unit', 'deno'],
  ['yarn unit --fast', 'deno'],
])('finds the program of the script `%s`', async (script, program) => {
  expect(await programOf(script)).toBe(program);
});

it.each([
  'npm t',
  'npm run test -- --fast',
  'pnpm test',
  'yarn run test',
  '$(command -v pnpm || echo npx --yes pnpm@9.0.0) test',
  'node .yarn/releases/yarn-4.cjs test',
  'npm test && echo done',
])('finds it behind `%s`', async (command) => {
  expect(await programOf('bun test', { command })).toBe('bun');
});

it('finds it in a folder', async () => {
  expect(await programOf('node --test', { command: '(cd app && npm test)' })).toBe('make');
});

it.each([
  'node --test',
  'vitest run',
  'NODE_ENV=test mocha',
  'cross-env A=b bun test',
  'npx bun test',
  './bun test',
  'cd app && bun test',
  'bun test || node --test',
  'bun test; node --test',
  'bun test | tee log',
  'PATH=./tools:$PATH bun test',
  'A="x bun y" bun test',
  'command -v bun && bun test',
  'npm run loop',
  'npm run absent',
  'npm ci',
])('takes the script `%s` for one that may run', async (script) => {
  expect(await programOf(script)).toBeNull();
});

it('takes a program for brought by a dependency, an install script or the install step, and not by types', async () => {
  expect(await programOf('bun test', { devDependencies: { bun: '1' } })).toBeNull();
  expect(await programOf('deno test', { devDependencies: { 'deno-bin': '1' } })).toBeNull();
  expect(await programOf('bun test', { workspaces: ['packages/*'] })).toBeNull();
  expect(await programOf('bun test', { setup: 'npm install -g bun' })).toBeNull();
  expect(await programOf('python -m unittest', { setup: 'python3 -m venv .venv' })).toBeNull();
  expect(await programOf('x', { scripts: { test: 'bun test', postinstall: 'sh install bun' } })).toBeNull();
  expect(await programOf('bun test', { devDependencies: { '@types/bun': '1', 'bun-types': '1' } })).toBe('bun');
  expect(await programOf('bun test', { command: 'npm test || true' })).toBeNull();
  expect(await programOf('bun test', { command: 'npm --prefix app test' })).toBeNull();
});
