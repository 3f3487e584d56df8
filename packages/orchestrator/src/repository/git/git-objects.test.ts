/** Objects of a mirror, read by a git process that is kept: what others change meanwhile is seen. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectFacts, readObjects, runGit } from './git.ts';
import { readRef } from './git-refs.ts';
import { ObjectParser } from './object-reader.ts';

function aMirror() {
  const folder = mkdtempSync(path.join(tmpdir(), 'git-objects-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const place = { gitDir: path.join(folder, 'mirror.git'), home: folder };
  const git = (args: readonly string[], input = ''): string =>
    execFileSync('git', ['-C', folder, ...args], { input, encoding: 'utf8' }).trim();
  const inMirror = (args: readonly string[], input?: string): string =>
    git(['--git-dir', place.gitDir, ...args], input);
  const make = (): void => void git(['init', '--quiet', '--bare', place.gitDir]);
  make();
  const store = (text: string): string => inMirror(['hash-object', '-w', '--stdin'], text);
  const content = async (name: string): Promise<string | null> => {
    const [object] = await readObjects(place, [{ name, withContent: true }]);
    return object ? Buffer.from(object.content).toString('utf8') : null;
  };
  return { place, inMirror, make, store, content };
}

/** Ids of the processes that read objects of a repository. */
function readersOf(gitDir: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const isReader = readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('git\0cat-file\0');
      return isReader && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`GIT_DIR=${gitDir}\0`)
        ? [Number(pid)]
        : [];
    } catch {
      return [];
    }
  });
}

describe('objects of a mirror', () => {
  it('are read in the order in which they are asked for, and those that are not there are null', async () => {
    const { place, store, inMirror } = aMirror();
    const [one, large] = [store('one'), store('x'.repeat(3_000_000))];
    const tree = inMirror(['mktree', '-z'], `100644 blob ${one}\ta\nb\0`);
    const asked = [
      { name: large, withContent: true },
      { name: 'refs/heads/none', withContent: true },
      { name: `${tree}:a\nb`, withContent: true },
      { name: `${tree}:no\nfile`, withContent: false },
      { name: `${tree}^{tree}`, withContent: false },
    ];
    const all = await Promise.all(Array.from({ length: 5 }, () => readObjects(place, asked)));
    for (const [first, none, second, noFile, third] of all) {
      expect(first).toMatchObject({ oid: large, type: 'blob', bytes: 3_000_000 });
      expect(first?.content).toHaveLength(3_000_000);
      expect([none, noFile]).toEqual([null, null]);
      expect(Buffer.from(second?.content ?? []).toString()).toBe('one');
      expect(third).toMatchObject({ oid: tree, type: 'tree' });
      expect(third?.content).toHaveLength(0);
    }
    if (process.platform === 'linux') expect(readersOf(place.gitDir)).toHaveLength(1);
  });

  it('are those of now: of a ref that moved, in a new pack, and in a mirror that was removed and made again', async () => {
    const { place, store, inMirror, make, content } = aMirror();
    const commits = ['one', 'two'].map((text) => {
      const tree = inMirror(['mktree'], `100644 blob ${store(text)}\tfile\n`);
      return inMirror(['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit-tree', '-m', text, tree]);
    });
    for (const [index, commit] of commits.entries()) {
      inMirror(['update-ref', 'refs/heads/main', commit]);
      expect(await readRef(place, 'refs/heads/main')).toBe(commit);
      expect(await content('refs/heads/main:file')).toBe(['one', 'two'][index]);
    }
    inMirror(['gc', '--quiet', '--prune=now']);
    expect(await content('refs/heads/main:file')).toBe('two');
    expect(await objectFacts(place, [commits[0] ?? ''])).toEqual([null]);
    rmSync(place.gitDir, { recursive: true });
    await expect(content('refs/heads/main:file')).rejects.toThrow(`The folder ${place.gitDir} is gone`);
    make();
    expect(await content(commits[1] ?? '')).toBeNull();
    expect(await content(store('three'))).toBe('three');
  });

  it.runIf(process.platform === 'linux')(
    'are read all the same when the process that reads them is killed',
    async () => {
      const { place, store, content } = aMirror();
      const oid = store('y'.repeat(2_000_000));
      await content(oid);
      const reading = Array.from({ length: 20 }, () => content(oid));
      for (const pid of readersOf(place.gitDir)) process.kill(pid, 'SIGKILL');
      for (const text of await Promise.all(reading)) expect(text).toHaveLength(2_000_000);
    },
  );

  it('keep a ref whose commit is lost', async () => {
    const { place, store, inMirror } = aMirror();
    const tree = inMirror(['mktree'], `100644 blob ${store('one')}\tfile\n`);
    const commit = inMirror(['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit-tree', '-m', 'one', tree]);
    inMirror(['update-ref', 'refs/heads/main', commit]);
    rmSync(path.join(place.gitDir, 'objects', commit.slice(0, 2), commit.slice(2)));
    expect(await objectFacts(place, [commit])).toEqual([null]);
    expect(await readRef(place, 'refs/heads/main')).toBe(commit);
    expect(await readRef(place, 'refs/heads/ma')).toBeNull();
  });

  it('are not those that the name of a branch describes', async () => {
    const { place, store, inMirror } = aMirror();
    const tree = inMirror(['mktree'], `100644 blob ${store('one')}\tfile\n`);
    const commit = inMirror(['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit-tree', '-m', 'one', tree]);
    const branch = `refs/heads/bump-to-v1.4-12-g${commit.slice(0, 8)}`;
    expect(await readRef(place, branch)).toBeNull();
    inMirror(['update-ref', branch, commit]);
    expect(await readRef(place, branch)).toBe(commit);
  });
});

it.each([
  ['the commit of a submodule', `${'1'.repeat(40)} submodule\n`, null],
  ['a name that is missing', 'a:b missing\n', null],
  ['a name of which two objects are', 'a:b ambiguous\n', null],
  ['a part of an answer', 'a:b mis', undefined],
  ['a part of a header', `${'1'.repeat(40)} blo`, undefined],
])('git says %s', (_what, said, object) => {
  const parser = new ObjectParser();
  parser.add(Buffer.from(said));
  expect(parser.take({ name: 'a:b', withContent: false })).toBe(object);
});

it('words that git is not known to say end the reading', () => {
  const parser = new ObjectParser();
  parser.add(Buffer.from('a:b moved\n'));
  expect(() => parser.take({ name: 'a:b', withContent: false })).toThrow("git cat-file said 'a:b moved'");
});

it('an answer that hangs on a branch is asked for anew, one that hangs on ids is kept', async () => {
  const { place, store, inMirror } = aMirror();
  const trees = ['one', 'two'].map((text) => inMirror(['mktree'], `100644 blob ${store(text)}\t${text}\n`));
  const names = async (tree: string): Promise<string> =>
    (await runGit(place, { args: ['ls-tree', '--name-only', tree], dependsOn: [tree] })).stdout.toString().trim();
  for (const [index, tree] of trees.entries()) {
    inMirror(['update-ref', 'refs/tags/now', tree]);
    expect(await names('refs/tags/now')).toBe(['one', 'two'][index]);
    expect(await names(tree)).toBe(['one', 'two'][index]);
  }
  rmSync(path.join(place.gitDir, 'objects'), { recursive: true });
  expect(await names(trees[0] ?? '')).toBe('one');
});

it('a name that would be two requests is refused', async () => {
  const { place, store } = aMirror();
  const name = `${store('one')}\0contents ${store('two')}`;
  await expect(readObjects(place, [{ name, withContent: true }])).rejects.toThrow('contains a NUL');
  // The questions after it get their own answers.
  expect((await objectFacts(place, [store('three')]))[0]?.bytes).toBe(5);
});

it('answers are understood in pieces of any size', () => {
  const answers = Buffer.from(`${'a'.repeat(40)} blob 4\n1\n2\n\nno\nname missing\n${'b'.repeat(40)} tree 7\n`);
  const requests = [
    { name: 'x', withContent: true },
    { name: 'no\nname', withContent: true },
    { name: 'y', withContent: false },
  ];
  for (const size of [1, 2, 3, 7, 50, 1_000]) {
    const parser = new ObjectParser();
    const objects: unknown[] = [];
    for (let at = 0; at < answers.length; at += size) {
      parser.add(answers.subarray(at, at + size));
      for (let next = requests[objects.length]; next !== undefined; next = requests[objects.length]) {
        const object = parser.take(next);
        if (object === undefined) break;
        objects.push(object);
      }
    }
    expect(objects).toMatchObject([{ oid: 'a'.repeat(40), bytes: 4 }, null, { type: 'tree', bytes: 7 }]);
    expect(Buffer.from((objects[0] as { readonly content: Uint8Array }).content).toString()).toBe('1\n2\n');
  }
});
