/** `init` in real clones, and that a run has what it writes. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePlace, type Place } from './program.fixture.ts';

let place: Place;
beforeEach(() => {
  place = makePlace();
  rmSync(join(place.clone, '.autonomous'), { recursive: true, force: true });
});
afterEach(() => place.remove());

const init = (...args: readonly string[]) => place.command(['init', ...args], {}, place.clone);
const written = (): unknown => JSON.parse(readFileSync(join(place.clone, '.autonomous/config.json'), 'utf8'));

it('writes the commands that it finds, and says what comes next', async () => {
  writeFileSync(
    join(place.clone, 'package.json'),
    JSON.stringify({ scripts: { test: 'node --test' }, dependencies: { ms: '2.1.3' } }),
  );
  writeFileSync(
    join(place.clone, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'node_modules/ms': { version: '2.1.3' } } }),
  );
  place.git('-C', place.clone, 'add', '-A');
  const { exitCode, stdout } = await init();
  expect(exitCode).toBe(0);
  expect(written()).toEqual({
    defaultRunConfig: { commands: { setup: expect.stringContaining('npm ci'), test: 'npm test' } },
  });
  expect(stdout).toContain('tests: npm test (from package.json)');
  expect(stdout).toContain(
    'git add .autonomous/config.json && git commit -m "Configure Autonomous" && git push origin main',
  );
  expect(stdout).toContain(`run "…" --project ${place.clone}`);
  const again = await init();
  expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Nothing was changed') });
});

it('takes commands that a person names, from a folder inside the clone too', async () => {
  const inside = join(place.clone, 'docs');
  mkdirSync(inside, { recursive: true });
  const { exitCode } = await place.command(['init', '--test', 'make check', '--setup', 'make deps'], {}, inside);
  expect(exitCode).toBe(0);
  expect(written()).toEqual({ defaultRunConfig: { commands: { setup: 'make deps', test: 'make check' } } });
});

it('says what is missing where it finds no tests', async () => {
  for (const name of ['package.json', 'Makefile']) rmSync(join(place.clone, name), { force: true });
  place.git('-C', place.clone, 'add', '-A');
  const { stderr, exitCode } = await init();
  expect(exitCode).toBe(0);
  expect(stderr).toContain('No tests were found');
  expect(written()).toEqual({ defaultRunConfig: { commands: {} } });
});

it('names what is wrong, and changes nothing', async () => {
  mkdirSync(join(place.clone, '.autonomous'), { recursive: true });
  writeFileSync(join(place.clone, '.autonomous/config.json'), '{"defaultRunConfig": {"maxFixAttempts": "many"}}');
  const { exitCode, stderr } = await init();
  expect(exitCode).toBe(1);
  expect(stderr).toContain('.autonomous/config.json is there and runs would ignore it');
  expect(stderr).toContain('maxFixAttempts');
  const outside = await place.command(['init'], {}, '/');
  expect(outside).toMatchObject({ exitCode: 64, stderr: expect.stringContaining('is not in a git clone') });
});

it.each(['.autonomous', '.autonomous/config.json'])('follows no link of the clone: %s', async (link) => {
  const elsewhere = join(place.data, '..', 'elsewhere');
  if (link === '.autonomous') mkdirSync(elsewhere);
  else mkdirSync(join(place.clone, '.autonomous'));
  symlinkSync(elsewhere, join(place.clone, link));
  const { exitCode, stderr } = await init();
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${link} is a symbolic link`)]);
  expect(existsSync(link === '.autonomous' ? join(elsewhere, 'config.json') : elsewhere)).toBe(false);
});

it('reads only regular files of a bounded size', async () => {
  const outside = join(place.data, '..', 'outside.json');
  writeFileSync(outside, JSON.stringify({ scripts: { test: 'node --test' } }));
  rmSync(join(place.clone, 'package.json'), { force: true });
  writeFileSync(join(place.clone, 'Makefile'), 'test:\n\ttrue\n');
  symlinkSync(outside, join(place.clone, 'package.json'));
  place.git('-C', place.clone, 'add', '-A');
  rmSync(join(place.clone, 'Makefile'));
  execFileSync('mkfifo', [join(place.clone, 'Makefile')]);
  expect((await init()).exitCode).toBe(0);
  expect(written()).toEqual({ defaultRunConfig: { commands: {} } });
  truncateSync(join(place.clone, '.autonomous/config.json'), 3_000_000_000);
  const { exitCode, stderr } = await init();
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('is no file of at most 2 MB')]);
});
