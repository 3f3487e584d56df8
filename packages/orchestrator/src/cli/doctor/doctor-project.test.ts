/** `doctor PROJECT` on real repositories: what is there, and all that is missing, in one list. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import type { Check } from './doctor-check.ts';
import { makePlace, type Place, SCRIPT } from '../program.fixture.ts';

const bubblewrap = await createBubblewrapProvider().availability();

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

function aRepository(files: Readonly<Record<string, string>>): string {
  const folder = join(place.data, '../repository');
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args]);
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'First');
  return folder;
}

async function examine(project: string, env: Readonly<Record<string, string>> = {}) {
  const { exitCode, stdout } = await place.command(['doctor', project, '--json'], {
    ORCHESTRATOR_PORT: '0',
    AUTONOMOUS_SCRIPT: SCRIPT,
    ...env,
  });
  const { checks } = JSON.parse(stdout) as { checks: readonly Check[] };
  return { exitCode, check: (name: string) => checks.filter((check) => check.name === name) };
}

describe.skipIf(!bubblewrap.ok)('doctor PROJECT', () => {
  it('ends with 0 where the project has everything, and names its commands', async () => {
    const folder = aRepository({ 'package.json': '{"scripts":{"test":"node --test"},"devDependencies":{"xo":"*"}}' });
    const { exitCode, check } = await examine(folder);
    expect(exitCode).toBe(0);
    expect(check('repository')).toMatchObject([{ status: 'ok', detail: expect.stringMatching(/branch main at /) }]);
    expect(check('install step')).toMatchObject([{ detail: 'npm install --no-package-lock (from package.json)' }]);
    expect(check('tests')).toMatchObject([{ detail: 'npm test (from package.json)' }]);
    expect(check('commands')).toMatchObject([
      { status: 'optional', detail: expect.stringContaining('package.json has no lockfile') },
    ]);
    expect(check('network')).toEqual([]);
  });

  it('examines the branch from which a run of a clone would start, and names what that does not see', async () => {
    place.git('-C', place.clone, 'fetch', '-q');
    const fromOrigin = { status: 'ok', detail: expect.stringContaining(`${place.remote}, branch main at `) };
    expect((await examine(place.clone)).check('repository')).toMatchObject([fromOrigin]);
    place.git('-C', place.clone, 'switch', '-qc', 'topic');
    const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    place.git('-C', place.clone, ...author, 'commit', '-qm', 'Merge', '--allow-empty');
    const { exitCode, check } = await examine(place.clone);
    expect(exitCode).toBe(0);
    expect(check('repository')).toEqual([
      expect.objectContaining(fromOrigin),
      {
        name: 'repository',
        status: 'optional',
        detail: `Branch topic of ${place.clone} has commits that branch main of origin does not have (1), and runs do not see them`,
        way: `push the branch with git -C ${place.clone} push origin topic and start runs with --base topic`,
      },
    ]);
    expect((await examine(place.remote)).check('repository')).toHaveLength(1);
    // The branch was merged, and the clone has not fetched since.
    place.git('-C', place.clone, 'push', '-q', place.remote, 'topic:main');
    expect((await examine(place.clone)).check('repository')).toMatchObject([fromOrigin]);
    place.git('-C', place.clone, 'remote', 'set-url', 'origin', `${place.remote}x`);
    expect((await examine(place.clone)).check('repository')).toMatchObject([
      { detail: expect.stringContaining(`The origin of ${place.clone} is ${place.remote}x. There is no folder`) },
    ]);
  });

  it('reads the table that the configuration names, and says what is wrong with either', async () => {
    const backlog = { file: 'todo.md', columns: { id: 'Nr' } };
    const table = '| Nr | Status |\n|---|---|\n| A-1 | done |\n| A-2 | queued |\n';
    const folder = aRepository({ 'todo.md': table, '.autonomous/config.json': JSON.stringify({ backlog }) });
    const { check } = await examine(folder);
    expect(check('backlog')).toMatchObject([{ status: 'ok', detail: 'todo.md, 1 of 2 items done' }]);
    writeFileSync(join(folder, 'todo.md'), '| ID | Status |\n|---|---|\n| A-1 | done |\n');
    execFileSync('git', [
      '-C',
      folder,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@example.com',
      'commit',
      '-qam',
      'Other',
    ]);
    const { check: other } = await examine(folder);
    expect(other('backlog')).toMatchObject([
      {
        status: 'optional',
        detail: expect.stringContaining("todo.md cannot be worked through: No table of the file has the columns 'Nr'"),
      },
    ]);
    writeFileSync(join(folder, '.autonomous/config.json'), '{"backlog":{"columns":{"id":7}}}');
    execFileSync('git', ['-C', folder, '-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '-qam', 'Bad']);
    const { check: bad } = await examine(folder);
    expect(bad('configuration')).toMatchObject([
      { status: 'optional', detail: expect.stringContaining('is not valid and is ignored: backlog.columns.id') },
    ]);
  });

  it('lists all that is missing at once and ends with 1', async () => {
    const folder = aRepository({
      'package.json': '{\n  "name": x\n}\n',
      '.nvmrc': '8\n',
      '.gitattributes': '*.bin filter=lfs diff=lfs\n',
      'b\u202eth.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'b'.repeat(64)}\nsize 12345\n`,
      'model.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`,
      '.autonomous/config.json': '{"defaultRunConfig":{"commands":{"test":"no-such-tool --all"}}}',
    });
    const { exitCode, check } = await examine(folder);
    expect(exitCode).toBe(1);
    expect(check('package.json')).toMatchObject([
      { status: 'missing', detail: expect.stringContaining('package.json cannot be read (line 2)') },
    ]);
    expect(check('no-such-tool')).toMatchObject([
      {
        status: 'missing',
        detail: expect.stringContaining('is not in the sandbox'),
        way: expect.stringContaining('SANDBOX_PROGRAMS'),
      },
    ]);
    expect(check('node')).toContainEqual(
      expect.objectContaining({ status: 'optional', detail: expect.stringContaining('.nvmrc asks for node 8') }),
    );
    expect(check('LFS')).toMatchObject([
      { status: 'optional', detail: expect.stringMatching(/^2 of the tree .*b⟨U\+202E⟩th\.bin \(.*, model\.bin \(/) },
    ]);
  });

  it('names a program that the script behind npm test starts and no dependency brings', async () => {
    const folder = aRepository({ 'package.json': '{"scripts":{"test":"MIX_ENV=test mix test"}}' });
    const { exitCode, check } = await examine(folder, { SANDBOX_PROGRAMS: '' });
    expect(exitCode).toBe(1);
    expect(check('mix')).toMatchObject([
      {
        status: 'missing',
        detail: expect.stringContaining('(`npm test`, from package.json)'),
        way: expect.stringContaining('SANDBOX_PROGRAMS'),
      },
    ]);
  });

  it('shows the keys of the configuration that are ignored, and where they belong', async () => {
    const folder = aRepository({
      'test.sh': 'true\n',
      '.autonomous/config.json': '{"commands":{"test":"sh test.sh"},"colour":"red"}',
    });
    const { check } = await examine(folder);
    expect(check('configuration')).toEqual([
      {
        name: 'configuration',
        status: 'optional',
        detail: 'The key "commands" of the project\'s configuration is not known and is ignored',
        way: 'Write it as "defaultRunConfig.commands".',
      },
      {
        name: 'configuration',
        status: 'optional',
        detail: expect.stringContaining('The key "colour" of the project\'s configuration is not known and is ignored'),
      },
    ]);
  });

  it('says that the install step has no network where the server forbids it', async () => {
    const folder = aRepository({ 'package.json': '{"devDependencies":{"xo":"*"}}' });
    const { check } = await examine(folder, { ALLOW_SETUP_NETWORK: 'false' });
    expect(check('network')).toMatchObject([
      { status: 'optional', way: expect.stringContaining('ALLOW_SETUP_NETWORK') },
    ]);
    expect(check('tests')).toMatchObject([
      { status: 'optional', detail: expect.stringContaining('No tests were found') },
    ]);
  });

  it('names a folder that is no repository', async () => {
    mkdirSync(join(place.data, '../empty'), { recursive: true });
    const { exitCode, check } = await examine(join(place.data, '../empty'));
    expect(exitCode).toBe(1);
    expect(check('repository')).toMatchObject([{ status: 'missing', detail: expect.stringContaining('empty') }]);
  });
});
