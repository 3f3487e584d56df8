/** Repositories that name programs, and everything that the extension does with git in them: none of the programs is started. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { fetchBranch, fileAt, folderWithCommit, remoteUrl, startMerge, switchTo, uncommitted } from './git-checkout.ts';

const BRANCH = 'autonomous/r-1-login';
let place: string;
let clone: string;
let marks: string;
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t.invalid', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'autonomous-guard-'));
  const theirs = path.join(place, 'theirs');
  [clone, marks] = [path.join(place, 'clone'), path.join(place, 'marks')];
  mkdirSync(theirs);
  mkdirSync(marks);
  git(theirs, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(path.join(theirs, '.gitattributes'), '*.txt filter=x merge=x diff=x\n');
  writeFileSync(path.join(theirs, 'a.txt'), 'base\n');
  git(theirs, 'add', '--all');
  git(theirs, 'commit', '--quiet', '--message=one');
  git(place, 'clone', '--quiet', theirs, clone);
  git(theirs, 'switch', '--quiet', '--create', BRANCH);
  writeFileSync(path.join(theirs, 'a.txt'), 'result\n');
  git(theirs, 'commit', '--quiet', '--all', '--message=two');
});
afterEach(() => rmSync(place, { recursive: true }));

/** A command that leaves a mark when it is started. */
const program = (name: string): string => `touch ${path.join(marks, name)}`;
const started = (): string[] => readdirSync(marks);

/**
 * Uses git in a folder in every way that the extension does, and continues after failures.
 * @returns the error messages
 */
async function useAll(folder: string): Promise<string> {
  const said: string[] = [];
  const quietly = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => said.push(error instanceof Error ? error.message : String(error)));
  };
  const commit = git(clone, 'rev-parse', 'HEAD');
  await quietly(folderWithCommit([folder], 'a'.repeat(40)));
  await quietly(fileAt(folder, commit, 'a.txt'));
  await quietly(remoteUrl(folder));
  await quietly(uncommitted(folder));
  // The first is found on the first remote, the second asks all of them.
  await quietly(fetchBranch([folder], BRANCH));
  await quietly(fetchBranch([folder], 'autonomous/none'));
  await quietly(switchTo({ folder, remote: 'origin' }, BRANCH));
  await quietly(switchTo({ folder, remote: 'origin' }, 'main'));
  await quietly(switchTo({ folder, remote: 'origin' }, BRANCH));
  await quietly(startMerge({ folder, remote: 'origin' }, BRANCH, 'main'));
  return said.join('\n');
}

/** Asks for a password, whatever is asked of it. */
async function startServer(): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
}

const CONFIGS: readonly (readonly [what: string, config: (url: string) => string])[] = [
  [
    'core.sshCommand',
    () => `[core]\n\tsshCommand = "${program('ssh')}"\n[remote "two"]\n\turl = ssh://git@localhost/x\n`,
  ],
  ['core.gitProxy', () => `[core]\n\tgitProxy = "${program('proxy')}"\n[remote "two"]\n\turl = git://localhost/x\n`],
  ['core.fsmonitor', () => `[core]\n\tfsmonitor = "${program('fsmonitor')}"\n`],
  ['core.askPass', (url) => `[core]\n\taskPass = "${program('askpass')}"\n[remote "two"]\n\turl = ${url}\n`],
  ['core.pager', () => `[core]\n\tpager = "${program('pager')}"\n[pager]\n\tstatus = "${program('pager')}"\n`],
  ['credential.helper', (url) => `[credential]\n\thelper = "!${program('helper')}"\n[remote "two"]\n\turl = ${url}\n`],
  ['remote.*.uploadpack', () => `[remote "two"]\n\turl = ${clone}\n\tuploadpack = "${program('uploadpack')}"\n`],
  ['a remote named as an option', () => `[remote "--upload-pack=${program('named')}"]\n\turl = ${clone}\n`],
  [
    'an address that is a command',
    () => `[remote "two"]\n\turl = ext::${program('ext')}\n[protocol "ext"]\n\tallow = always\n`,
  ],
  [
    'url.*.insteadOf',
    () => `[url "ext::${program('instead')} "]\n\tinsteadOf = there:\n[remote "two"]\n\turl = there:x\n`,
  ],
  [
    'filter.*.smudge and clean',
    () => `[filter "x"]\n\tsmudge = "${program('smudge')}; cat"\n\tclean = "${program('clean')}; cat"\n`,
  ],
  ['filter.*.process', () => `[filter "x"]\n\tprocess = "${program('process')}"\n\trequired = true\n`],
  [
    'diff.*.textconv and command',
    () => `[diff "x"]\n\ttextconv = "${program('textconv')}"\n\tcommand = "${program('diff')}"\n`,
  ],
  ['merge.*.driver', () => `[merge "x"]\n\tdriver = "${program('merge')}"\n`],
  ['gpg.program', () => `[gpg]\n\tprogram = ${marks}/gpg.sh\n[merge]\n\tverifySignatures = true\n`],
  ['an alias of a command', () => `[alias]\n\tstatus = "!${program('alias')}"\n\tfetch = "!${program('alias')}"\n`],
  [
    'a lazy fetch',
    () =>
      `[core]\n\trepositoryFormatVersion = 1\n\tsshCommand = "${program('lazy')}"\n[extensions]\n\tpartialClone = two\n[remote "two"]\n\turl = ssh://git@localhost/x\n\tpromisor = true\n`,
  ],
  ['an included file', () => `[include]\n\tpath = ${path.join(place, 'included')}\n`],
];

it.each(CONFIGS)('starts no program that a repository names: %s', async (_, config) => {
  const url = await startServer();
  writeFileSync(
    path.join(place, 'included'),
    `[remote "two"]\n\turl = ${clone}\n\tuploadpack = "${program('included')}"\n`,
  );
  appendFileSync(path.join(clone, '.git', 'config'), config(url));
  await useAll(clone);
  expect(started()).toEqual([]);
});

it.each(CONFIGS)('B03: starts none in a folder that is shaped like a bare repository: %s', async (_, config) => {
  const url = await startServer();
  const bare = path.join(clone, 'sub', 'bare');
  mkdirSync(path.join(bare, 'objects'), { recursive: true });
  mkdirSync(path.join(bare, 'refs'));
  writeFileSync(path.join(bare, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(bare, 'config'), `[core]\n\tbare = true\n${config(url)}`);
  mkdirSync(path.join(bare, 'inside'));
  for (const folder of [bare, path.join(bare, 'inside')]) {
    expect(await useAll(folder)).toContain(
      `${bare} looks like a bare git repository and is not a checkout. Open the folder that contains its '.git'.`,
    );
  }
  expect(started()).toEqual([]);
});

it('runs no hook of a repository', async () => {
  for (const hook of [
    'post-checkout',
    'reference-transaction',
    'post-merge',
    'pre-auto-gc',
    'pre-merge-commit',
    'post-index-change',
  ]) {
    const file = path.join(clone, '.git', 'hooks', hook);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\n${program(hook)}\n`);
    chmodSync(file, 0o755);
  }
  expect(await useAll(clone)).toBe('');
  expect(git(clone, 'branch', '--show-current')).toBe(BRANCH);
  expect(started()).toEqual([]);
});

it('names the setting that is in the way, and the way out', async () => {
  git(clone, 'config', 'remote.origin.uploadpack', program('uploadpack'));
  await expect(fetchBranch([clone], BRANCH)).rejects.toThrow(
    `The repository of ${clone} sets 'remote.origin.uploadpack' itself, and no program that a repository names is started here. Use git in a terminal, or move the setting to your own git settings.`,
  );
  expect(existsSync(path.join(marks, 'uploadpack'))).toBe(false);
});

it("uses the folder of a repository below its '.git', and the next one where one is refused", async () => {
  const below = path.join(clone, 'src');
  mkdirSync(below);
  const bare = path.join(place, 'bare');
  git(place, 'init', '--quiet', '--bare', bare);
  expect(await fetchBranch([bare, below], BRANCH)).toEqual({ folder: below, remote: 'origin' });
});
