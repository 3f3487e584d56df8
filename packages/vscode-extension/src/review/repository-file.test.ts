import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { committedFile, isOf, reachedAt } from './repository-file.ts';

let place: string;
let clone: string;
let remote: string;
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@t.invalid', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();
const write = (name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(clone, name)), { recursive: true });
  writeFileSync(path.join(clone, name), text);
};
const commit = (): void => {
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '--message=one');
};
const plan = (): Promise<{ root: string; path: string }> => committedFile(path.join(clone, 'docs', 'my plan.md'));

beforeEach(() => {
  place = mkdtempSync(path.join(tmpdir(), 'autonomous-file-'));
  [clone, remote] = [path.join(place, 'clone'), path.join(place, 'remote.git')];
  git(place, 'init', '--quiet', '--bare', '--initial-branch=main', remote);
  git(place, 'clone', '--quiet', remote, clone);
  git(clone, 'symbolic-ref', 'HEAD', 'refs/heads/main');
  write('docs/my plan.md', '# Plan\n');
  write('.gitignore', 'drafts/\n');
  commit();
  git(clone, 'push', '--quiet', 'origin', 'main');
});
afterEach(() => rmSync(place, { recursive: true }));

it('finds the path of a file from the root of its repository, through a link to it as well', async () => {
  expect((await plan()).path).toBe('docs/my plan.md');
  symlinkSync(clone, path.join(place, 'link'));
  expect((await committedFile(path.join(place, 'link', 'docs', 'my plan.md'))).path).toBe('docs/my plan.md');
});

it('refuses a file that is in no repository, is new, changed or ignored, each in its own words', async () => {
  writeFileSync(path.join(place, 'loose.md'), '# Plan\n');
  await expect(committedFile(path.join(place, 'loose.md'))).rejects.toThrow(/^loose\.md lies in no git repository/);
  write('docs/new.md', '# Plan\n');
  await expect(committedFile(path.join(clone, 'docs', 'new.md'))).rejects.toThrow(
    'docs/new.md is not committed yet. Commit and push it first.',
  );
  write('drafts/idea.md', '# Plan\n');
  await expect(committedFile(path.join(clone, 'drafts', 'idea.md'))).rejects.toThrow(/ignored by git/);
  write('docs/my plan.md', '# Another\n');
  await expect(plan()).rejects.toThrow('docs/my plan.md has changes that are not committed');
});

it('knows a file that the branch has, lacks, or has with another text', async () => {
  expect(await reachedAt(await plan(), remote, 'main')).toEqual({ kind: 'same' });
  expect(await reachedAt(await plan(), remote, 'next')).toMatchObject({
    kind: 'missing',
    words: 'origin has no branch next. Push it, or choose another one.',
  });
  write('docs/my plan.md', '# Another\n');
  write('docs/new.md', '# Plan\n');
  commit();
  expect(await reachedAt(await plan(), remote, 'main')).toMatchObject({
    kind: 'different',
    words: expect.stringMatching(/^docs\/my plan\.md has another text in the branch main of origin\./),
  });
  const fresh = await committedFile(path.join(clone, 'docs', 'new.md'));
  expect(await reachedAt(fresh, remote, 'main')).toMatchObject({
    kind: 'missing',
    words: expect.stringMatching(/^docs\/new\.md is not in the branch main of origin\./),
  });
  git(clone, 'push', '--quiet', 'origin', 'main');
  expect(await reachedAt(fresh, remote, 'main')).toEqual({ kind: 'same' });
});

it('sees what somebody else pushed meanwhile', async () => {
  const theirs = path.join(place, 'theirs');
  git(place, 'clone', '--quiet', remote, theirs);
  writeFileSync(path.join(theirs, 'docs', 'my plan.md'), '# Theirs\n');
  git(theirs, 'commit', '--quiet', '--all', '--message=theirs');
  git(theirs, 'push', '--quiet');
  write('docs/other.md', '# Mine\n');
  commit();
  expect(await reachedAt(await plan(), remote, 'main')).toMatchObject({
    kind: 'newer',
    words: expect.stringMatching(/^docs\/my plan\.md is newer in the branch main of origin than in this checkout,/),
  });
  write('docs/my plan.md', '# Mine\n');
  commit();
  expect(await reachedAt(await plan(), remote, 'main')).toMatchObject({ kind: 'different' });
});

it('looks into the checkout itself where that is the project, and says nothing where neither it nor a remote is', async () => {
  expect(await reachedAt(await plan(), clone, 'main')).toEqual({ kind: 'same' });
  expect(await reachedAt(await plan(), '/somewhere/else.git', 'main')).toMatchObject({ kind: 'unknown' });
  git(clone, 'remote', 'set-url', 'origin', path.join(place, 'gone.git'));
  expect(await reachedAt(await plan(), path.join(place, 'gone.git'), 'main')).toMatchObject({ kind: 'unknown' });
});

it('knows the repository of a project in every spelling of its address', async () => {
  const file = await plan();
  git(clone, 'remote', 'set-url', 'origin', 'git@Example.org:team/notes.git');
  for (const address of [
    'https://example.org/team/notes',
    'ssh://git@example.org/team/notes.git/',
    'example.org:team/notes',
  ])
    expect(await isOf(file, address)).toBe(true);
  expect(await isOf(file, 'https://example.org/team/other')).toBe(false);
  git(clone, 'remote', 'set-url', 'origin', `file://${remote}`);
  expect(await isOf(file, remote)).toBe(true);
  expect(await isOf(file, `${remote}/`)).toBe(true);
});
