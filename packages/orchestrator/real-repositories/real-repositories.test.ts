import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manyFiles } from './many-files.ts';
import { changedPaths, fileAt } from './place.ts';
import type { RealRepository } from './repositories.ts';
import { countOf, tableOf } from './table.ts';
import { tryRepository } from './try-repository.ts';

const run = promisify(execFile);

const TEST =
  "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { one } from '../src/one.mjs';\ntest('one', () => assert.equal(one, 1));\n";

/** A folder with one clone, and its entry of the table. */
async function aClone({ one = 1 } = {}): Promise<{ readonly from: string; readonly repository: RealRepository }> {
  const from = await mkdtemp(path.join(tmpdir(), 'clones-'));
  onTestFinished(() => rm(from, { recursive: true, force: true }));
  const clone = path.join(from, 'ones');
  const files = {
    'package.json': '{"name":"ones","private":true,"type":"module","scripts":{"test":"node --test"}}\n',
    'src/one.mjs': `export const one = ${one};\n`,
    'test/one.test.mjs': TEST,
  };
  for (const [file, content] of Object.entries(files)) {
    await mkdir(path.join(clone, path.dirname(file)), { recursive: true });
    await writeFile(path.join(clone, file), content);
  }
  const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'commit.gpgSign=false'];
  await run('git', ['-C', clone, 'init', '--quiet', '--initial-branch=trunk']);
  await run('git', ['-C', clone, 'add', '--all']);
  await run('git', ['-C', clone, ...identity, 'commit', '--quiet', '-m', 'Start']);
  const { stdout } = await run('git', ['-C', clone, 'rev-parse', 'HEAD']);
  return {
    from,
    repository: {
      name: 'ones',
      url: 'https://example.com/ones',
      commit: stdout.trim(),
      language: 'JavaScript',
      kind: 'small',
      request: 'Add two.',
      change: [
        { path: 'src/one.mjs', text: 'export const two = 2;\n' },
        {
          path: 'test/two.test.mjs',
          text: TEST.replaceAll('one', 'two').replace('two.mjs', 'one.mjs').replace('two, 1', 'two, 2'),
        },
      ],
    },
  };
}

function options(from: string) {
  return {
    from,
    variables: {},
    agent: null,
    limitMs: 100_000,
    signal: new AbortController().signal,
    tell: () => {},
  };
}

async function leftOvers(): Promise<readonly string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('real-repositories-'));
}

describe('A try', () => {
  it('completes where the checks passed before and after, and leaves neither clone nor machine changed', async () => {
    const { from, repository } = await aClone();
    const before = await leftOvers();

    const one = await tryRepository(repository, options(from));

    expect(one).toMatchObject({
      outcome: 'completed',
      reason: '',
      baseline: 'passed, 1 tests, 0 failed',
      setupS: null,
    });
    expect(one.testsS).toBeGreaterThan(0);
    expect((await leftOvers()).filter((name) => !before.includes(name))).toEqual([]);
    const { stdout } = await run('git', ['-C', path.join(from, 'ones'), 'branch', '--all', '--format=%(refname)']);
    expect(stdout).toBe('refs/heads/trunk\n');
    expect(countOf([one])).toBe('1 completed (0 not JavaScript), 0 refused before any cost, 0 failed');
    expect(tableOf([one]).split('\n')[2]).toContain('| ones | JavaScript, small | passed, 1 tests, 0 failed | – |');
  });

  it('fails where the checks do not pass on the base commit', async () => {
    const { from, repository } = await aClone({ one: 2 });

    const one = await tryRepository(repository, options(from));

    expect(one).toMatchObject({ outcome: 'failed', baseline: 'red, 1 tests, 1 failed' });
    expect(one.reason).toMatch(/^checks do not pass on the base commit; /);
  });

  it('fails at the end of its time', async () => {
    const { from, repository } = await aClone();

    const one = await tryRepository(repository, { ...options(from), limitMs: 1 });

    expect(one).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(/^not done after 0 minutes/) });
  });

  it('names the command that brings a clone or a commit that is missing', async () => {
    const { from, repository } = await aClone();
    const absent = { ...repository, commit: '0'.repeat(40) };

    await expect(tryRepository({ ...repository, name: 'twos' }, options(from))).rejects.toThrow(
      `is missing. Clone it: git clone https://example.com/ones ${path.join(from, 'twos')}`,
    );
    await expect(tryRepository(absent, options(from))).rejects.toThrow(
      `fetch https://example.com/ones ${absent.commit}`,
    );
  });
});

it('A repository of many files has the same commit each time, and its tests', async () => {
  const commits: string[] = [];
  for (const name of ['a', 'b']) {
    const folder = await mkdtemp(path.join(tmpdir(), `many-${name}-`));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await run('git', ['-C', folder, 'init', '--quiet', '--bare', '--initial-branch=main']);
    commits.push(await manyFiles(folder, 250));
    expect(await fileAt(folder, 'main', 'src/002/049.mjs')).toBe('export const value = 249;\n');
    expect(await fileAt(folder, 'main', 'test/sum.test.mjs')).toContain("from '../src/000/000.mjs'");
    const { stdout } = await run('git', ['-C', folder, 'ls-tree', '-r', '--name-only', 'main']);
    expect(stdout.trim().split('\n')).toHaveLength(252);
    expect(await changedPaths(folder, 'main', 'main')).toEqual([]);
  }
  expect(commits[0]).toBe(commits[1]);
});
