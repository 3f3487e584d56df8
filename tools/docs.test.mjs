/** The pages of the repository lead somewhere. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');

/** Text of a page without its code: what stands in a block of code or between backticks is no link. */
const textOf = (page) => readFileSync(path.join(root, page), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
/** Names by which a link reaches the headings of a page, as GitHub makes them. */
const anchorsOf = (page) =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

it.each(pages)('%s has no link to a file or a heading that is not there', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, to = '']) => to);
  const local = links.filter((to) => !/^[a-z]+:/.test(to));
  const isThere = (to) => {
    const [file = '', anchor] = to.split('#');
    const target = file === '' ? path.join(root, page) : path.join(root, path.dirname(page), file);
    return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
  };
  expect(local.filter((to) => !isThere(to))).toEqual([]);
});

it.each(pages)('%s shows examples and types as they are', (page) => {
  const text = readFileSync(path.join(root, page), 'utf8');
  // A block that begins with the name of a file shows parts of it, divided by `// …`.
  const blocks = [...text.matchAll(/^```ts\n\/\/ ((?:examples|packages)\/\S+)\n([\s\S]*?)^```$/gm)];
  for (const [, file = '', block = ''] of blocks) {
    const source = readFileSync(path.join(root, file), 'utf8');
    for (const part of block.split('// …\n')) expect(source, `${file} has no such lines`).toContain(part.trimEnd());
  }
});

it('links every page of docs/ from its index', () => {
  const index = readFileSync(path.join(root, 'docs', 'README.md'), 'utf8');
  const listed = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md');
  expect(listed.map((page) => path.basename(page)).filter((page) => !index.includes(`](${page}`))).toEqual([]);
});

it('begins with a page of at most 1,200 words', () => {
  expect(readFileSync(path.join(root, 'README.md'), 'utf8').trim().split(/\s+/).length).toBeLessThanOrEqual(1200);
});

it('names no package as installable that is not published', () => {
  // The one page says what a release will bring.
  const installs =
    /\b(?:npx(?: --yes)?|npm (?:install|i|exec|pack)(?: --global| -g)?) autonomous-(?:orchestrator|engine)\b/;
  const naming = pages.filter(
    (page) => !page.startsWith('.changeset/') && installs.test(readFileSync(path.join(root, page), 'utf8')),
  );
  expect(naming).toEqual(['docs/installing.md']);
});

it('makes a backup of all that is kept, for its owner alone, by the commands of its page', () => {
  const page = readFileSync(path.join(root, 'docs', 'backup.md'), 'utf8');
  const [, commands = ''] = /^```sh\n(umask[\s\S]*?)^```$/m.exec(page) ?? [];
  const home = mkdtempSync(path.join(tmpdir(), 'backup-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const data = path.join(home, '.local/share/autonomous');
  const kept = [
    'token',
    'keys.json',
    'default-models.json',
    'server-id',
    'mirrors/a.git/HEAD',
    'uploads/u',
    'baselines/b',
  ];
  for (const name of [...kept, 'work/r/file', 'orchestrator.db.lock', 'server.json']) {
    mkdirSync(path.join(data, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(data, name), name, { mode: 0o600 });
  }
  const database = new DatabaseSync(path.join(data, 'orchestrator.db'));
  onTestFinished(() => database.close());
  // The newest steps are in the -wal alone, as with a server that runs.
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE steps (name TEXT); INSERT INTO steps VALUES ('newest')");

  execFileSync('sh', ['-e', '-c', commands], { env: { ...process.env, HOME: home } });

  const copy = path.join(home, 'autonomous-backup');
  const files = readdirSync(copy, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.map(({ parentPath, name }) => path.relative(copy, path.join(parentPath, name)));
  expect(names.toSorted()).toEqual([...kept, 'orchestrator.db'].toSorted());
  for (const name of ['.', ...names]) expect(statSync(path.join(copy, name)).mode & 0o077, name).toBe(0);
  const restored = new DatabaseSync(path.join(copy, 'orchestrator.db'), { readOnly: true });
  onTestFinished(() => restored.close());
  expect(restored.prepare('SELECT name FROM steps').get()).toMatchObject({ name: 'newest' });
});
