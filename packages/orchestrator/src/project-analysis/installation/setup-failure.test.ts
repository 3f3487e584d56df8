/** Reasons of failed install steps, from what the tools really print. */
import { expect, it } from 'vitest';
import { missingToolOf } from './missing-tool.ts';
import { explainSetupFailure, scriptHintOf, type SetupEnd } from './setup-failure.ts';

const end = (change: Partial<SetupEnd>): SetupEnd => ({
  command: 'npm ci',
  source: 'package-lock.json',
  exitCode: 1,
  timedOut: false,
  minutes: 40,
  output: '',
  hasNetwork: true,
  refused: [],
  ...change,
});

it.each<[string, Partial<SetupEnd>, RegExp]>([
  [
    'a time limit with the last line',
    {
      exitCode: null,
      timedOut: true,
      output: 'Resolving\nstill waiting for the lock\n[ended by the sandbox: 40 minutes]\n',
    },
    /^The install step `npm ci` \(from package-lock\.json\) was ended after 40 minutes; its last line was: still waiting for the lock\. Retry/,
  ],
  ['a time limit in silence', { exitCode: null, timedOut: true }, /after 40 minutes without any output/],
  [
    'a question of npx',
    { output: 'Need to install:\nxo@1\nOk to proceed? (y) ' },
    /asked a question \(Ok to proceed\? \(y\)\)/,
  ],
  ['a question of apt', { output: 'Do you want to continue? [Y/n] Abort.' }, /asked a question/],
  ['a question for a password', { output: '[sudo] password for agent:' }, /no terminal answers/],
  ['a full disk', { output: 'tar: write error: No space left on device' }, /ran out of space/],
  ['no network', { hasNetwork: false }, /ALLOW_SETUP_NETWORK/],
  ['a refused host', { refused: ['x.test is not on the allow-list'] }, /x\.test.*EGRESS_ALLOW/],
  ['a missing program', { exitCode: 127, output: 'sh: 1: uv: not found' }, /The program uv is missing/],
])('names %s', (_what, change, words) => {
  expect(explainSetupFailure(end(change)).join('\n')).toMatch(words);
});

it('says no more than the exit code where the output names no reason', () => {
  expect(
    explainSetupFailure(end({ exitCode: 3, output: 'no such package: [yes]\npassword.js was not found' })),
  ).toEqual(['The install step `npm ci` (from package-lock.json) failed with exit code 3.']);
});

it.each([
  [
    'Error: Could not locate the bindings file. Tried:\n → /workspace/node_modules/better-sqlite3/build',
    'A package with',
  ],
  ['Error: The package "@esbuild/linux-x64" could not be found, and is needed by esbuild.', 'esbuild needs'],
  ['Error: Could not load the "sharp" module using the linux-x64 runtime', 'sharp needs'],
  ["Error: Bun's postinstall script was not run.", 'Bun needs'],
])('tells from %j that an install script did not run', (output, words) => {
  expect(scriptHintOf(output)).toContain(words);
  expect(scriptHintOf(output)).toContain('commands.installScripts');
});

it.each([
  ['/usr/bin/python3: No module named pytest', 1, 'pytest'],
  ['error: no such command: `nextest`', 101, 'cargo-nextest'],
  ['Error: spawn xo ENOENT', 1, 'xo'],
  ["/usr/bin/env: 'ruby': No such file or directory", 127, 'ruby'],
  ['make: go: No such file or directory', 2, 'go'],
  ['sh: 1: jest: not found', 127, 'jest'],
  ["ModuleNotFoundError: No module named 'shop'", 1, null],
])('takes from %j with exit code %i that %s is missing', (output, exitCode, tool) => {
  expect(missingToolOf({ command: 'npm test', exitCode, output })).toBe(tool);
});
