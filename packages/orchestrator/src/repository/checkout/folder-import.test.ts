/** Tests the import of folders whose content is arbitrary or hostile. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AllowedFiles, InvalidRequest, NeedsHuman } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_FILE_BYTES, MAX_NEW_ENTRIES } from './folder-import.ts';
import {
  commitFiles,
  type Fixture,
  git,
  MAIN_FILES,
  mainHead,
  makeProjectFolder,
  openFixture,
  temporaryFolder,
  write,
} from '../git-fixture.fixture.ts';
import type { ImportResult, LeftOut } from '../repository.ts';

let folder: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
let work: string;
let base: string;
beforeEach(async () => {
  folder = temporaryFolder();
  fixture = await openFixture(folder.path);
  work = join(folder.path, 'work');
});
afterEach(() => folder.remove());

/** Commits these files on main's tree and checks the result out. */
async function checkOut(
  files: Readonly<Record<string, string>> = {},
  excludePaths: readonly string[] = [],
): Promise<readonly LeftOut[]> {
  const { repository, project } = fixture;
  base = await repository.writeFiles(project, await mainHead(fixture), files);
  return (await repository.checkout(project, base, work, excludePaths)).leftOut;
}

/** Commits what lies in the folder of a project, and checks it out. */
async function checkOutSeed(seed: string) {
  git(seed, 'add', '--all');
  git(seed, 'commit', '--quiet', '--message', 'Seed');
  const { repository } = fixture;
  const project = { id: 'p-seed', repository: seed, baseBranch: 'main' };
  await repository.fetch(project);
  base = await repository.treeOf(project, await mainHead({ repository, project }));
  const { leftOut } = await repository.checkout(project, base, work, []);
  const importWork = () => repository.importFolder(project, { folder: work, baseTree: base, excludePaths: [] });
  return { project, leftOut, importWork };
}

async function takeBack(
  excludePaths: readonly string[] = [],
  ownedFiles: readonly string[] = [],
  allowedFiles?: readonly AllowedFiles[],
): Promise<ImportResult & { readonly changes: readonly string[] }> {
  const allowed = allowedFiles === undefined ? {} : { allowedFiles };
  const project = { ...fixture.project, ownedFiles, ...allowed };
  const result = await fixture.repository.importFolder(project, { folder: work, baseTree: base, excludePaths });
  return { ...result, changes: result.files.map(({ path, status }) => `${status} ${path}`) };
}

function read(tree: string, path: string): Promise<string | null> {
  return fixture.repository.readFile(fixture.project, tree, path);
}

function planted(): string {
  return join(folder.path, 'PWN');
}

describe('Taking files back', () => {
  it('takes new, changed, removed and executable files, byte by byte', async () => {
    await checkOut({
      'a/b/c.txt': 'c',
      'a/d.txt': 'd',
      'run.sh': '#!/bin/sh\n',
      'crlf.txt': 'a\r\nb\r\n',
      '.gitattributes': '*.txt text eol=lf\n',
    });
    rmSync(join(work, 'a'), { recursive: true });
    rmSync(join(work, 'README.md'));
    write(work, { a: 'now a file', 'README.md/x.md': 'x', 'new/ä ö.txt': 'r\r\n' });
    chmodSync(join(work, 'run.sh'), 0o755);
    const { tree, changes, refused } = await takeBack();
    expect(changes).toEqual([
      'deleted README.md',
      'added README.md/x.md',
      'added a',
      'deleted a/b/c.txt',
      'deleted a/d.txt',
      'added new/ä ö.txt',
      'modified run.sh',
    ]);
    expect(refused).toEqual([]);
    expect(await read(tree, 'new/ä ö.txt')).toBe('r\r\n');
    expect(git(fixture.gitDir, 'ls-tree', tree, 'run.sh')).toMatch(/^100755/);
    const again = join(folder.path, 'again');
    await fixture.repository.checkout(fixture.project, tree, again, []);
    expect(lstatSync(join(again, 'run.sh')).mode & 0o111).not.toBe(0);
    expect(readFileSync(join(again, 'crlf.txt'), 'utf8')).toBe('a\r\nb\r\n');
  });

  it("takes nothing new that the project's own rules ignore, and does not look into ignored folders", async () => {
    await checkOut({
      'kept.log': 'tracked',
      'gone.log': 'tracked',
      'packages/a/.gitignore': '/out\n!important.log\n',
      'whitelist/.gitignore': '*\n!*/\n!*.ts\n!.gitignore\n',
    });
    write(work, {
      'node_modules/x/index.js': '',
      'debug.log': '',
      'packages/a/out/x.js': '',
      'packages/a/important.log': 'i',
      'packages/b/out/x.js': 'b',
      'kept.log': 'changed',
      'whitelist/deep/a.ts': 'a',
      'whitelist/deep/a.js': 'a',
    });
    rmSync(join(work, 'gone.log'));
    // What cannot be read would be refused, if anybody looked.
    symlinkSync('/etc/passwd', join(work, 'node_modules', 'link'));
    execFileSync('mkfifo', [join(work, 'node_modules', 'pipe')]);
    const { tree, changes, refused } = await takeBack();
    expect(changes).toEqual([
      'deleted gone.log',
      'modified kept.log',
      'added packages/a/important.log',
      'added packages/b/out/x.js',
      'added whitelist/deep/a.ts',
    ]);
    expect(refused).toEqual([]);
    expect(await read(tree, 'kept.log')).toBe('changed');
  });

  it('is not slowed down by tens of thousands of files in an ignored folder', async () => {
    await checkOut({ '.gitignore': 'generated/\n' });
    for (let index = 0; index < 51; index++) {
      const inside = join(work, 'generated', `p${index}`);
      mkdirSync(inside, { recursive: true });
      for (let file = 0; file < 1_000; file++) writeFileSync(join(inside, `${file}.js`), '');
    }
    write(work, { 'a.txt': 'a' });
    expect((await takeBack()).changes).toEqual(['added a.txt']);
    rmSync(join(work, '.gitignore'));
    await expect(takeBack()).rejects.toThrow(
      `The run's folder contains more than ${MAX_NEW_ENTRIES} new files and folders. Add generated files to .gitignore or excludePaths, then retry`,
    );
    await expect(takeBack()).rejects.toThrow(NeedsHuman);
  });

  it('is not held up by ignore patterns that would be matched for ever, and names them', async () => {
    await checkOut({ 'a.txt': 'a' });
    const deep = Array.from({ length: 30 }, () => 'aaa').join('/');
    const wild = `${'**/a*/'.repeat(13)}b`;
    mkdirSync(join(work, deep), { recursive: true });
    writeFileSync(join(work, deep, 'c'), 'c');
    writeFileSync(join(work, '.gitignore'), `dist/\n${wild}\n`);
    mkdirSync(join(work, 'dist'));
    writeFileSync(join(work, 'dist/x'), 'x');
    const { changes, refused } = await takeBack();
    expect(changes).toEqual(['modified .gitignore', `added ${deep}/c`]);
    expect(refused).toEqual([{ path: '.gitignore', reason: `its pattern ${wild} contains ** too many times` }]);
  });

  it('follows the rules of the folder as it is now, a new .gitignore included', async () => {
    await checkOut({ 'src/old.js': 'old' });
    write(work, { '.gitignore': 'node_modules/\n*.log\ndist/\n', 'dist/x.js': '', 'src/old.js': 'new' });
    expect((await takeBack()).changes).toEqual(['modified .gitignore', 'modified src/old.js']);
  });

  it('neither shows excluded paths nor takes them, whatever an agent un-ignores', async () => {
    const excluded = ['secrets/', '*.pem', '!public.pem'];
    await checkOut(
      { 'secrets/key.txt': 'k', 'deep/secrets/x': 'x', 'a.pem': 'a', 'public.pem': 'p', 'secrets.md': 's' },
      excluded,
    );
    expect(readdirSync(work).sort()).toEqual(['.gitignore', 'README.md', 'public.pem', 'secrets.md', 'src']);
    write(work, {
      '.gitignore': '!secrets/\n!*.pem\n',
      'secrets/key.txt': 'stolen',
      'b.pem': 'b',
      'deep/secrets/y': 'y',
    });
    rmSync(join(work, 'public.pem'));
    const { tree, changes, refused } = await takeBack(excluded);
    expect(changes).toEqual(['modified .gitignore', 'deleted public.pem']);
    expect(refused).toEqual([]);
    expect(await read(tree, 'secrets/key.txt')).toBe('k');
    await expect(takeBack(['a\nb'])).rejects.toThrow(InvalidRequest);
  });

  it('takes no change of an engine-owned file, however it was made, and the rest', async () => {
    const owned = ['ai/backlog.md', 'ai/features/*.md', 'roadmap/roadmap.json', 'logs/progress.md'];
    await checkOut({
      'ai/backlog.md': 'rows',
      'ai/features/a.md': 'a',
      'ai/notes.md': 'n',
      'roadmap/roadmap.json': '{}',
    });
    write(work, {
      'ai/backlog.md': 'all done',
      'AI/Backlog.md': 'all done',
      'ai/features/b.md': 'new',
      'ai/notes.md': 'mine',
      'ai/.gitignore': '*.md\n',
      logs: 'a file in the place of a folder',
    });
    rmSync(join(work, 'ai/features/a.md'));
    rmSync(join(work, 'roadmap'), { recursive: true });
    write(work, { roadmap: 'a file in the place of a folder' });
    const { changes, refused } = await takeBack([], owned);
    const reason = 'it is engine-owned: the server alone writes it';
    const isFolder = 'an engine-owned file needs a folder of this name';
    expect(refused).toEqual([
      { path: 'AI/Backlog.md', reason },
      { path: 'ai/backlog.md', reason },
      { path: 'ai/features/a.md', reason },
      { path: 'ai/features/b.md', reason },
      { path: 'logs', reason: isFolder },
      { path: 'roadmap', reason: isFolder },
    ]);
    expect(changes).toEqual(['added ai/.gitignore', 'modified ai/notes.md']);
    expect(await takeBack()).not.toMatchObject({ changes });
  });

  it('takes no file that would take the place of a folder with engine-owned files', async () => {
    await checkOut({ 'docs/a/status.md': 'open', 'docs/b/c/status.md': 'open', 'docs/d/notes.md': 'n' });
    for (const folderName of ['docs/a', 'docs/b', 'docs/d']) {
      rmSync(join(work, folderName), { recursive: true });
      write(work, { [folderName]: 'a file' });
    }
    const { tree, changes, refused } = await takeBack([], ['docs/**/status.md']);
    const reason = 'an engine-owned file needs a folder of this name';
    expect(refused).toEqual([
      { path: 'docs/a', reason },
      { path: 'docs/b', reason },
    ]);
    expect(changes).toEqual(['added docs/d', 'deleted docs/d/notes.md']);
    expect(await read(tree, 'docs/b/c/status.md')).toBe('open');
  });

  it('says nothing about engine-owned files that are as they were', async () => {
    await checkOut({ 'ai/backlog.md': 'rows', '.gitignore': 'ai/\n' });
    expect(await takeBack([], ['ai/backlog.md', 'ai/diary.md'])).toMatchObject({ changes: [], refused: [] });
  });

  describe('of a run that may change some files alone', () => {
    const reason = 'it is not among the files that this run may change; change only those, or ask for it';
    const only = (...changes: readonly string[]): readonly AllowedFiles[] => [{ changes, newFiles: ['made/*.ts'] }];

    it('takes changes, removals, new files and links of those alone, and names the rest', async () => {
      await checkOut({
        'src/a.ts': 'a',
        'src/b.ts': 'b',
        'src/old.ts': 'old',
        'src/kept.ts': 'kept',
        'tool.sh': 'echo',
        'made/earlier.ts': 'made by an earlier call',
        '.gitignore': '*.log\n',
      });
      write(work, {
        'src/a.ts': 'changed',
        'src/b.ts': 'changed',
        'made/earlier.ts': 'changed',
        'made/new.ts': 'new',
        'made/new.js': 'new',
        'src/c.ts': 'new',
        'debug.log': 'ignored',
        'node_modules/x/index.js': 'a by-product',
      });
      rmSync(join(work, 'src/old.ts'));
      rmSync(join(work, 'src/kept.ts'));
      chmodSync(join(work, 'tool.sh'), 0o755);
      symlinkSync('../src/a.ts', join(work, 'made/link.ts'));
      symlinkSync('src/a.ts', join(work, 'link.ts'));
      const { tree, changes, refused } = await takeBack([], [], only('src/a.ts', 'SRC/old.ts', 'src/c.ts'));
      expect(refused.filter((each) => each.reason === reason).map(({ path }) => path)).toEqual([
        'link.ts',
        'made/new.js',
        'src/b.ts',
        'src/kept.ts',
        'tool.sh',
      ]);
      expect(changes).toEqual([
        'modified made/earlier.ts',
        'added made/link.ts',
        'added made/new.ts',
        'modified src/a.ts',
        'added src/c.ts',
        'deleted src/old.ts',
      ]);
      expect(await read(tree, 'src/kept.ts')).toBe('kept');
    });

    it('takes a rename as a removal and a new file, each by its own name', async () => {
      await checkOut({ 'src/a.ts': 'a', 'src/b.ts': 'b' });
      renameSync(join(work, 'src/a.ts'), join(work, 'src/c.ts'));
      renameSync(join(work, 'src/b.ts'), join(work, 'made.ts'));
      const { changes, refused } = await takeBack([], [], only('src/a.ts', 'made.ts'));
      expect(refused.map(({ path }) => path)).toEqual(['src/b.ts', 'src/c.ts']);
      expect(changes).toEqual(['added made.ts', 'deleted src/a.ts']);
    });

    it('takes nothing where each list has to allow a file and one does not, or where a list is empty', async () => {
      await checkOut({ 'src/a.ts': 'a', 'src/b.ts': 'b' });
      write(work, { 'src/a.ts': 'changed', 'src/b.ts': 'changed' });
      expect((await takeBack([], [], [...only('src/*'), ...only('src/b.ts')])).changes).toEqual(['modified src/b.ts']);
      expect((await takeBack([], [], [{ changes: [], newFiles: [] }])).changes).toEqual([]);
      expect((await takeBack()).changes).toEqual(['modified src/a.ts', 'modified src/b.ts']);
    });

    it('says nothing about other files that are as they were', async () => {
      await checkOut({ 'src/a.ts': 'a' });
      expect(await takeBack([], [], only('none.ts'))).toMatchObject({ changes: [], refused: [] });
    });

    it("keeps a file's place, and a folder's, from files that may be made", async () => {
      await checkOut({ 'src/file': 'kept', 'src/folder/kept.ts': 'kept' });
      rmSync(join(work, 'src/file'));
      rmSync(join(work, 'src/folder'), { recursive: true });
      write(work, { 'src/file/new.ts': 'new', 'src/folder': 'new' });
      const { tree, changes, refused } = await takeBack([], [], only('src/file/new.ts', 'src/folder/new.ts'));
      expect(refused).toEqual([
        { path: 'src/file', reason },
        { path: 'src/file/new.ts', reason: 'the project has a file in the place of its folder, which stays' },
        { path: 'src/folder', reason },
      ]);
      expect(changes).toEqual([]);
      expect(tree).toBe(base);
    });

    it('keeps a link whose replacement is not taken, and takes no link that leads out through it', async () => {
      const { repository, project } = fixture;
      await checkOut();
      symlinkSync('.', join(work, 'here'));
      base = (await repository.importFolder(project, { folder: work, baseTree: base, excludePaths: [] })).tree;
      rmSync(work, { recursive: true });
      await repository.checkout(project, base, work, []);
      rmSync(join(work, 'here'));
      write(work, { here: 'a file' });
      symlinkSync('here/../outside', join(work, 'leak'));
      const { changes, refused } = await takeBack([], [], only('leak'));
      expect(refused).toMatchObject([
        { path: 'here', reason },
        { path: 'leak', reason: expect.stringContaining('the symlink is not imported') as string },
      ]);
      expect(changes).toEqual([]);
    });

    it('names an engine-owned file as such, and takes none of another spelling of a file that stays', async () => {
      await checkOut({ 'ai/status.md': 's', 'src/a.ts': 'a' });
      write(work, { 'ai/status.md': 'done', 'Src/a.ts': 'new', 'src/b.ts': 'new' });
      const { changes, refused } = await takeBack([], ['ai/status.md'], only('ai/*', 'src/b.ts'));
      expect(refused).toEqual([
        { path: 'Src/a.ts', reason },
        { path: 'ai/status.md', reason: 'it is engine-owned: the server alone writes it' },
      ]);
      expect(changes).toEqual(['added src/b.ts']);
    });
  });

  it('B10: keeps what agents write under .autonomous out and reports it', async () => {
    await checkOut({
      '.autonomous/config.json': '{}',
      '.autonomous/specs/001-a.md': 'plan',
      '.autonomous/memory.md': 'm',
    });
    write(work, {
      '.autonomous/config.json': '{"defaultRunConfig":{}}',
      '.autonomous/runs/r1/x.json': '{}',
      '.gitignore': '.autonomous\n',
      '.Autonomous/x': '',
    });
    rmSync(join(work, '.autonomous/specs/001-a.md'));
    const { tree, changes, refused } = await takeBack();
    expect(changes).toEqual(['modified .gitignore']);
    expect(await read(tree, '.autonomous/config.json')).toBe('{}');
    expect(refused).toEqual([
      { path: '.Autonomous/x', reason: 'agents do not write under .autonomous/' },
      { path: '.autonomous/config.json', reason: 'agents do not write under .autonomous/' },
      { path: '.autonomous/runs/r1/x.json', reason: 'agents do not write under .autonomous/' },
      { path: '.autonomous/specs/001-a.md', reason: 'agents do not remove anything under .autonomous/' },
    ]);
  });

  it('B05 C02: leaves out links that lead out of the project, and submodules that cannot be had, and says why', async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    symlinkSync('/etc', join(seed, 'link'));
    git(seed, 'add', 'link');
    git(seed, 'update-index', '--add', '--cacheinfo', `160000,${git(seed, 'rev-parse', 'HEAD')},vendor/lib`);
    git(seed, 'commit', '--quiet', '--message', 'Links');
    const { repository } = fixture;
    const project = { id: 'p-2', repository: seed, baseBranch: 'main' };
    await repository.fetch(project);
    base = await repository.treeOf(project, await mainHead({ repository, project }));
    const leftOut = [
      { path: 'link', kind: 'symlink', reason: 'its target is an absolute path' },
      { path: 'vendor/lib', kind: 'submodule', reason: '.gitmodules does not name its address' },
    ];
    expect(await repository.checkout(project, base, work, [])).toEqual({ leftOut });
    expect(await repository.leftOut(project, base)).toEqual(leftOut);
    expect(existsSync(join(work, 'link')) || existsSync(join(work, 'vendor'))).toBe(false);
    write(work, { 'link/passwd': 'x', 'vendor/lib/x.js': 'x', 'vendor/other.js': 'o' });
    const { files, refused } = await repository.importFolder(project, {
      folder: work,
      baseTree: base,
      excludePaths: [],
    });
    expect(files.map(({ path }) => path)).toEqual(['vendor/other.js']);
    expect(refused).toEqual([
      { path: 'link', reason: 'the project has a symlink here, which stays as it is' },
      { path: 'vendor/lib', reason: 'the project has a submodule here, which stays as it is' },
    ]);
  });

  /** A project of its own with these links, checked out. */
  async function checkOutLinks(links: Readonly<Record<string, string>>) {
    const seed = makeProjectFolder(join(folder.path, 'seed'), { ...MAIN_FILES, 'src/deep/a.js': 'a' });
    for (const [path, target] of Object.entries(links)) symlinkSync(target, join(seed, path));
    const { project, leftOut, importWork } = await checkOutSeed(seed);
    const takeLinksBack = async () => {
      const result = await importWork();
      const changes = result.files.map(({ path, status }) => `${status} ${path}`);
      return { ...result, changes, links: await fixture.repository.symlinks(project, result.tree) };
    };
    return { leftOut: leftOut.map(({ path }) => path), takeLinksBack };
  }

  it('writes links that stay within the project, and takes unchanged ones back as they were', async () => {
    const links = { README: 'README.md', 'src/up': '../src/deep', loose: 'nowhere/x', bin: 'src/up/a.js' };
    const { leftOut, takeLinksBack } = await checkOutLinks(links);
    expect(leftOut).toEqual([]);
    for (const [path, target] of Object.entries(links)) expect(readlinkSync(join(work, path))).toBe(target);
    expect(readFileSync(join(work, 'bin'), 'utf8')).toBe('a');
    expect(await takeLinksBack()).toMatchObject({ tree: base, files: [], refused: [] });
  });

  it('takes new, changed, removed and replaced links as links', async () => {
    const links = { changed: 'README.md', gone: 'README.md', toFile: 'README.md', toFolder: 'src', late: 'src' };
    const { takeLinksBack } = await checkOutLinks(links);
    for (const path of Object.keys(links)) rmSync(join(work, path));
    rmSync(join(work, 'src/deep'), { recursive: true });
    symlinkSync('src/cart.js', join(work, 'changed'));
    write(work, { toFile: 'file', 'toFolder/x': 'x' });
    symlinkSync('../toFolder', join(work, 'src/deep'));
    symlinkSync('src/deep/x', join(work, 'late'));
    const { changes, refused, links: after } = await takeLinksBack();
    expect(refused).toEqual([]);
    expect(changes.sort()).toEqual([
      'added src/deep',
      'added toFolder/x',
      'deleted gone',
      'deleted src/deep/a.js',
      'deleted toFolder',
      'modified changed',
      'modified late',
      'modified toFile',
    ]);
    expect(Object.fromEntries(after)).toEqual({
      changed: 'src/cart.js',
      late: 'src/deep/x',
      'src/deep': '../toFolder',
    });
  });

  it('C02 C03: refuses links that lead out through another one, and keeps what stood there', async () => {
    const { takeLinksBack } = await checkOutLinks({ inner: 'src/deep', keeps: 'README.md' });
    rmSync(join(work, 'inner'));
    rmSync(join(work, 'keeps'));
    rmSync(join(work, 'src/deep'), { recursive: true });
    symlinkSync('..', join(work, 'src/deep'));
    symlinkSync('src', join(work, 'inner'));
    // Fine where 'inner' led before, and not where it leads now.
    symlinkSync('inner/../../etc', join(work, 'keeps'));
    symlinkSync('src/deep/.git/config', join(work, 'git'));
    symlinkSync(work, join(work, 'absolute'));
    const { changes, refused, links } = await takeLinksBack();
    expect(refused).toEqual([
      { path: 'absolute', reason: 'the symlink is not imported: its target is an absolute path' },
      { path: 'git', reason: "the symlink is not imported: it leads to git's own files" },
      { path: 'keeps', reason: 'the symlink is not imported: it leads out of the project' },
    ]);
    expect(changes.sort()).toEqual(['added src/deep', 'deleted src/deep/a.js', 'modified inner']);
    expect(links.get('keeps')).toBe('README.md');
  });

  it.each(['.gitmodules', '.GITMODULES', 'gitmod~1', 'GI7EBA~1', 'folder/.gitmodules'])(
    'C03: takes no link at %s, which git would drop, and none that leads on through it',
    async (name) => {
      const { takeLinksBack } = await checkOutLinks({ kept: 'README.md' });
      write(work, { 'a/b/c/d/f': 'f', 'folder/f': 'f' });
      symlinkSync('a/b/c/d', join(work, name));
      symlinkSync(`${name}/../../../../etc/hostname`, join(work, 'x'));
      const { refused, links } = await takeLinksBack();
      expect(refused.map(({ path }) => path).toSorted()).toEqual([name, 'x'].toSorted());
      expect([...links.keys()]).toEqual(['kept']);
    },
  );

  it('checks out and takes back ten thousand links', async () => {
    const next = (index: number): string => (index % 100 === 0 ? 'README.md' : `l${index - 1}`);
    const { leftOut, takeLinksBack } = await checkOutLinks(
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`l${index}`, next(index)])),
    );
    // Linux follows forty links and no more; the others could not be opened anywhere.
    expect(leftOut).toHaveLength(100 * 59);
    symlinkSync('README.md', join(work, 'new'));
    expect((await takeLinksBack()).changes).toEqual(['added new']);
  });

  it('leaves by-products of tools out that no rule ignores, opens none of them and names them', async () => {
    await checkOut({ 'package.json': '{}', 'lib/kept/old.snap': '', 'py/setup.py': '' });
    write(work, {
      'py/__pycache__/a.pyc': 'x',
      'py/b.pyc': 'x',
      'py/a.py': 'a',
      'coverage/lcov.info': 'x',
      'src/coverage/index.js': 'product code',
      'target/x': 'no Rust here',
      '.DS_Store': 'x',
    });
    const { changes, refused } = await takeBack();
    expect(changes.toSorted()).toEqual(['added py/a.py', 'added src/coverage/index.js', 'added target/x']);
    const said = 'and not committed';
    const way = 'name it in the plan if it belongs to the project';
    expect(refused).toEqual([
      { path: '.DS_Store', reason: `it is a by-product of the desktop ${said}; ${way}` },
      { path: 'coverage/', reason: `it is a by-product of JavaScript tests ${said}; ${way}` },
      { path: 'py/__pycache__/', reason: `it is a by-product of Python ${said}, like py/b.pyc; ${way}` },
    ]);
  });

  it('takes by-products that the plan names, that the project has, and others of a kind that it has', async () => {
    await checkOut({ 'package.json': '{}', 'fixtures/old.pyc': 'old', 'tsconfig.json': '{}' });
    write(work, { 'fixtures/old.pyc': 'new', 'fixtures/new.pyc': 'n', 'dist/index.js': 'd', 'coverage/x': 'x' });
    const { repository, project } = fixture;
    const asked = 'Ship the bundle in `dist/index.js`, with more test coverage.';
    const request = { folder: work, baseTree: base, excludePaths: [], asked };
    const { files, refused } = await repository.importFolder(project, request);
    expect(files.map(({ path }) => path)).toEqual(['dist/index.js', 'fixtures/new.pyc', 'fixtures/old.pyc']);
    expect(refused.map(({ path }) => path)).toEqual(['coverage/']);
  });

  it('reads a file again whose size and time of change were put back', async () => {
    await checkOut({ 'a.txt': 'old' });
    const { mtime, atime } = statSync(join(work, 'a.txt'));
    writeFileSync(join(work, 'a.txt'), 'new');
    utimesSync(join(work, 'a.txt'), atime, mtime);
    expect((await takeBack()).changes).toEqual(['modified a.txt']);
  });

  it('keeps what has a name that no tree may take, and names each change of it', async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    /** A path under a folder of a name in bytes that are no UTF-8. */
    const inLatin = (root: string, name: string) =>
      Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0xfc), Buffer.from(`/${name}`)]);
    const latin = (root: string) => Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0xff, 0xfe)]);
    mkdirSync(inLatin(seed, ''));
    for (const name of ['kept', 'changed', 'gone']) writeFileSync(inLatin(seed, name), name);
    for (const path of [latin(seed), join(seed, 'back\\slash')]) writeFileSync(path, 'old');
    const { project, importWork } = await checkOutSeed(seed);
    expect(readdirSync(work, { encoding: 'buffer' }).some((name) => name.equals(Buffer.of(0xff, 0xfe)))).toBe(true);
    expect(await importWork()).toEqual({ tree: base, files: [], refused: [] });
    expect(await fixture.repository.restorePaths(project, base, base, ['src'])).toBe(base);

    for (const path of [latin(work), inLatin(work, 'changed'), inLatin(work, 'new'), join(work, 'back\\slash')])
      writeFileSync(path, 'of the agent');
    rmSync(inLatin(work, 'gone'));
    const { files, refused } = await importWork();
    expect(files.map(({ path, status }) => `${status} ${path}`)).toEqual(['deleted \uFFFD/gone']);
    const kept = 'the project has it, and its change is not taken: ';
    expect(refused).toEqual([
      {
        path: 'back\\slash',
        reason: `${kept}the name contains a backslash, which other systems read as a folder separator`,
      },
      { path: '\uFFFD/changed', reason: `${kept}the name is not valid UTF-8` },
      { path: '\uFFFD/new', reason: 'the name is not valid UTF-8' },
      { path: '\uFFFD\uFFFD', reason: `${kept}the name is not valid UTF-8` },
    ]);
  });

  it('takes nothing in the place of a folder with what agents do not see', async () => {
    const excluded = ['secret/*', 'open/hidden'];
    await checkOut(
      { 'secret/a': 'a', 'secret/b': 'b', 'open/hidden': 'h', 'open/seen': 's', 'all/seen': 's' },
      excluded,
    );
    for (const name of ['open', 'all']) rmSync(join(work, name), { recursive: true });
    for (const name of ['secret', 'open', 'all']) writeFileSync(join(work, name), 'of the agent');
    const { changes, refused, tree } = await takeBack(excluded);
    expect(changes).toEqual(['added all', 'deleted all/seen']);
    expect(refused.map(({ path }) => path)).toEqual(['open', 'secret']);
    expect(await read(tree, 'secret/a')).toBe('a');
  });

  it('keeps an excluded file of the project where an agent makes a folder of its name', async () => {
    const excluded = ['*', '!*/', '!*.js'];
    await checkOut({ keys: 'k', 'taken.js': 't' }, excluded);
    write(work, { 'keys/new.js': 'n', 'other/new.js': 'n' });
    const { changes, refused, tree } = await takeBack(excluded);
    expect(changes).toEqual(['added other/new.js']);
    expect(refused.map(({ path }) => path)).toEqual(['keys/new.js']);
    expect(await read(tree, 'keys')).toBe('k');
  });

  it('tells names apart by their bytes where they read the same', async () => {
    const seed = makeProjectFolder(join(folder.path, 'seed'));
    const [one, other, literal] = [Buffer.of(0xff), Buffer.of(0xfe), Buffer.from('\uFFFD')];
    const at = (root: string, ...parts: readonly Buffer[]) =>
      Buffer.concat([root, ...parts].flatMap((part) => [Buffer.from(part), Buffer.from('/')])).subarray(0, -1);
    const name = Buffer.from('a');
    mkdirSync(join(seed, 'src', 'l'));
    for (const each of [one, other, literal]) {
      mkdirSync(at(seed, each));
      writeFileSync(at(seed, each, name), each);
    }
    writeFileSync(at(join(seed, 'src'), one), 'old');
    // Links that are left out, beside files that read the same.
    symlinkSync('/etc/passwd', at(join(seed, 'src'), Buffer.from('l'), one));
    symlinkSync('a.js', at(join(seed, 'src'), Buffer.from('l'), Buffer.of(0xfd)));
    writeFileSync(at(join(seed, 'src'), Buffer.from('l'), other), 'kept');
    const { importWork } = await checkOutSeed(seed);
    const takeBackBytes = async () => {
      const { files, refused } = await importWork();
      return [...files.map(({ path, status }) => `${status} ${path}`), ...refused.map(({ path }) => `refused ${path}`)];
    };
    expect(await takeBackBytes()).toEqual([]);

    writeFileSync(at(work, other, Buffer.from('new')), 'new');
    writeFileSync(at(join(work, 'src'), other), 'new');
    writeFileSync(at(join(work, 'src'), literal), 'new');
    writeFileSync(at(work, one, name), 'changed');
    expect(await takeBackBytes()).toEqual(
      ['src/\uFFFD', 'src/\uFFFD', '\uFFFD/a', '\uFFFD/new'].map((path) => `refused ${path}`),
    );
    for (const each of [one, other, literal]) rmSync(at(work, each), { recursive: true });
    for (const each of [other, literal]) rmSync(at(join(work, 'src'), each));
    writeFileSync(at(work, one), 'a file now');
    expect(await takeBackBytes()).toEqual(['deleted \uFFFD/a', 'deleted \uFFFD/a', 'refused \uFFFD']);
  });
});

describe('A hostile folder', () => {
  it('B01 B02 B04: runs nothing that was planted in a git repository, and takes nothing of it', async () => {
    await checkOut();
    git(work, 'init', '--quiet');
    const pwn = `touch ${planted()}`;
    const config = [
      ['core.fsmonitor', pwn],
      ['core.sshCommand', pwn],
      ['core.hooksPath', '.git/hooks'],
      ['credential.helper', `!${pwn}`],
      ['filter.x.clean', pwn],
      ['filter.x.smudge', pwn],
      ['diff.external', pwn],
      ['diff.x.textconv', pwn],
      ['merge.x.driver', pwn],
      ['gpg.program', pwn],
      ['core.editor', pwn],
      ['alias.status', `!${pwn}`],
    ];
    for (const [key = '', value = ''] of config)
      execFileSync('git', ['config', '--file', join(work, '.git', 'config'), key, value]);
    for (const hook of ['post-checkout', 'pre-push', 'post-commit', 'reference-transaction']) {
      write(work, { [`.git/hooks/${hook}`]: `#!/bin/sh\n${pwn}\n` });
      chmodSync(join(work, '.git/hooks', hook), 0o755);
    }
    write(work, {
      '.gitattributes': '* filter=x diff=x merge=x text=auto eol=crlf ident\n',
      'a.txt': 'a $Id$\n',
      'nested/.git': 'gitdir: /etc',
      'deep/er/.GIT/config': '[core]',
    });
    const { tree, changes, refused } = await takeBack();
    expect(changes).toEqual(['added .gitattributes', 'added a.txt']);
    expect(await read(tree, 'a.txt')).toBe('a $Id$\n');
    expect(refused).toEqual(
      ['.git', 'deep/er/.GIT', 'nested/.git'].map((path) => ({
        path,
        reason: 'a git repository inside the folder is not imported',
      })),
    );
    const again = join(folder.path, 'again');
    await fixture.repository.checkout(fixture.project, tree, again, []);
    expect(readFileSync(join(again, 'a.txt'), 'utf8')).toBe('a $Id$\n');
    const commit = await commitFiles(fixture, 'autonomous/r1-x', { '.gitattributes': '* filter=x diff=x\n' });
    await fixture.repository.diff(fixture.project, await mainHead(fixture), commit);
    await fixture.repository.push(fixture.project, 'autonomous/r1-x', commit, null);
    expect(existsSync(planted())).toBe(false);
  });

  it('C03: brings no content of the host along: symlinks, pipes and sockets are refused and what stood there stays', async () => {
    await checkOut({ 'docs/a.md': 'a', 'docs/b.md': 'b', 'config.json': '{}' });
    rmSync(join(work, 'docs'), { recursive: true });
    rmSync(join(work, 'config.json'));
    rmSync(join(work, '.gitignore'));
    symlinkSync('/etc/passwd', join(work, 'out'));
    symlinkSync('/etc', join(work, 'docs'));
    symlinkSync('../../../../etc/passwd', join(work, 'config.json'));
    symlinkSync('loop', join(work, 'loop'));
    mkdirSync(join(work, 'sub'));
    execFileSync('mkfifo', [join(work, 'pipe'), join(work, '.gitignore'), join(work, 'sub', '.gitignore')]);
    const socket = createServer();
    await new Promise<void>((listening) => socket.listen(join(work, 'socket'), listening));
    try {
      const { tree, changes, refused } = await takeBack();
      expect(changes).toEqual([]);
      expect(tree).toBe(base);
      expect(refused.map(({ path, reason }) => `${path}: ${reason}`)).toEqual([
        '.gitignore: pipes are not imported, only files and symlinks',
        'config.json: the symlink is not imported: it leads out of the project',
        'docs: the symlink is not imported: its target is an absolute path',
        'loop: the symlink is not imported: it leads back to itself',
        'out: the symlink is not imported: its target is an absolute path',
        'pipe: pipes are not imported, only files and symlinks',
        'socket: sockets are not imported, only files and symlinks',
        'sub/.gitignore: pipes are not imported, only files and symlinks',
      ]);
    } finally {
      await new Promise((closed) => socket.close(closed));
    }
  });

  it('B06 B11: refuses names that no tree may hold and takes the rest', async () => {
    await checkOut();
    for (const name of ['a\nb', 'back\\slash', 'git~1', '.git ', 'bell\u0007']) writeFileSync(join(work, name), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${work}/`), Buffer.of(0xff)]), 'x');
    write(work, { '-rf': 'x', ':(glob)x': 'x', '--upload-pack=touch PWN': 'x', '~/x': 'x' });
    const { changes, refused } = await takeBack();
    expect(changes).toEqual(['added --upload-pack=touch PWN', 'added -rf', 'added :(glob)x', 'added ~/x']);
    expect(refused.map(({ path }) => path).sort()).toEqual(
      ['.git ', 'a\nb', 'back\\slash', 'bell\u0007', 'git~1', '\ufffd'].sort(),
    );
  });

  it('B12: refuses a file over the limit, and leaves a large one of the project alone', async () => {
    const { repository, project } = fixture;
    const seed = makeProjectFolder(join(folder.path, 'seed'), {
      'large.bin': 'x'.repeat(MAX_FILE_BYTES + 1),
      'grown.bin': 'g',
      'other.bin': 'y'.repeat(MAX_FILE_BYTES + 1),
    });
    const other = { ...project, id: 'p-2', repository: seed };
    await repository.fetch(other);
    base = await repository.treeOf(other, await mainHead({ repository, project: other }));
    await repository.checkout(other, base, work, []);
    truncateSync(join(work, 'grown.bin'), 2 ** 40);
    writeFileSync(join(work, 'other.bin'), 'z'.repeat(MAX_FILE_BYTES + 1));
    writeFileSync(join(work, 'new.bin'), 'n'.repeat(MAX_FILE_BYTES));
    const { tree, files, refused } = await repository.importFolder(other, {
      folder: work,
      baseTree: base,
      excludePaths: [],
    });
    expect(files.map(({ path }) => path)).toEqual(['new.bin']);
    expect(refused).toEqual(['grown.bin', 'other.bin'].map((path) => ({ path, reason: 'it is larger than 10 MB' })));
    expect(await repository.readFile(other, tree, 'grown.bin')).toBe('g');
  });

  it('B11: refuses names that mean another file elsewhere, and leaves what the project has', async () => {
    await checkOut({ 'README.md': 'read\n', 'aux.c': 'old\n', 'src/a.js': 'a\n', 'caf\u00e9.txt': 'x\n' });
    write(work, {
      'aux.c': 'new\n',
      'README.MD': 'x',
      'readme.md': 'x',
      'SRC/b.js': 'x',
      'src/c.js': 'c\n',
      'cafe\u0301.txt': 'x',
      CON: 'x',
      'NUL.js': 'x',
      'a.': 'x',
      'b ': 'x',
      '.autonomous./agents/implementer.md': 'x',
      '.autonom\u200cous/agents/implementer.md': 'x',
      '.autonomou\u017f/agents/implementer.md': 'x',
      '.\u0430utonomous/agents/implementer.md': 'x',
      '\u202egnp.exe': 'x',
    });
    const { changes, refused } = await takeBack();
    expect(changes).toEqual(['modified aux.c', 'added src/c.js']);
    expect(Object.fromEntries(refused.map(({ path, reason }) => [path, reason]))).toEqual({
      'README.MD': expect.stringContaining('some systems take it for'),
      'readme.md': expect.stringContaining('some systems take it for'),
      'SRC/b.js': expect.stringContaining('some systems take it for src:'),
      'cafe\u0301.txt': expect.stringContaining('some systems take it for caf\u00e9.txt'),
      CON: 'Windows opens a device under this name',
      'NUL.js': 'Windows opens a device under this name',
      'a.': 'the name ends in a dot, which Windows leaves out',
      'b ': 'the name ends in a space, which Windows leaves out',
      '.autonomous.': 'the name ends in a dot, which Windows leaves out',
      '.autonom\u200cous': 'the name contains a hidden character: .autonom⟨U+200C⟩ous',
      '.autonomou\u017f/agents/implementer.md': 'agents do not write under .autonomous/',
      '.\u0430utonomous': expect.stringContaining('the name looks like .autonomous'),
      '\u202egnp.exe': 'the name contains a hidden character: ⟨U+202E⟩gnp.exe',
    });
  });

  it('takes a file that is renamed in case alone', async () => {
    await checkOut({ 'README.md': 'read\n' });
    renameSync(join(work, 'README.md'), join(work, 'readme.md'));
    const { changes, refused } = await takeBack();
    expect(changes).toEqual(['deleted README.md', 'added readme.md']);
    expect(refused).toEqual([]);
  });

  it('names the first 500 things that it refused and counts the rest', async () => {
    await checkOut();
    for (let index = 0; index < 510; index++)
      symlinkSync('/etc/passwd', join(work, `link${String(index).padStart(3, '0')}`));
    const { refused } = await takeBack();
    expect(refused).toHaveLength(501);
    expect(refused.at(-1)).toEqual({ path: '…', reason: '10 more were refused' });
  });

  it('C02 C03: is never left by a file or folder that turns into a symlink meanwhile', async () => {
    const host = mkdtempSync(join(tmpdir(), 'autonomous-host-'));
    write(host, { 'canary.txt': 'CANARY' });
    await checkOut({ 'swap/canary.txt': 'base', 'file.txt': 'base' });
    write(work, { 'file.txt': 'changed' });
    // Swaps both to and fro for as long as the imports run.
    const swap = (isLink: boolean): void => {
      for (const [name, target] of [
        ['swap', host],
        ['file.txt', join(host, 'canary.txt')],
      ] as const) {
        if (isLink) {
          renameSync(join(work, name), join(folder.path, name));
          symlinkSync(target, join(work, name));
        } else {
          rmSync(join(work, name));
          renameSync(join(folder.path, name), join(work, name));
        }
      }
    };
    try {
      let isLink = false;
      const importing = new AbortController();
      const swapping = (async () => {
        while (!importing.signal.aborted) {
          isLink = !isLink;
          swap(isLink);
          await new Promise((next) => setImmediate(next));
        }
        if (isLink) swap(false);
      })();
      for (let round = 0; round < 10; round++) {
        const { tree } = await takeBack();
        expect((await read(tree, 'file.txt')) ?? 'changed').not.toContain('CANARY');
        expect((await read(tree, 'swap/canary.txt')) ?? 'base').not.toContain('CANARY');
      }
      importing.abort();
      await swapping;
    } finally {
      rmSync(host, { recursive: true });
    }
  });

  it('takes nothing when the folder itself is a symlink or is gone', async () => {
    await checkOut();
    await expect(
      fixture.repository.importFolder(fixture.project, {
        folder: join(work, 'none'),
        baseTree: base,
        excludePaths: [],
      }),
    ).rejects.toThrow(/There is no folder/);
    symlinkSync('/etc', join(folder.path, 'etc'));
    await expect(
      fixture.repository.importFolder(fixture.project, {
        folder: join(folder.path, 'etc'),
        baseTree: base,
        excludePaths: [],
      }),
    ).rejects.toThrow(/There is no folder/);
  });
});
