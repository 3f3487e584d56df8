/** Everything that a bare repository holds: its branches, and every commit, reachable or not. Read in two git calls. */
import { execFile } from 'node:child_process';
import { access, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface StoredCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly subject: string;
  /** The effect that it is, by its trailer; `null` for one that is none. */
  readonly effectKey: string | null;
}

export interface RepositoryState {
  /** Head of each branch, by its short name. */
  readonly branches: ReadonlyMap<string, string>;
  readonly commits: ReadonlyMap<string, StoredCommit>;
  /** Text of all files of a tree by their paths. */
  filesOf(tree: string): ReadonlyMap<string, string>;
  /** Commits of a branch, oldest first: its first parents and, before each, what it took in. */
  historyOf(branch: string): readonly StoredCommit[];
  /** Commits of a branch by their first parents alone, oldest first. */
  firstParentsOf(branch: string): readonly StoredCommit[];
}

interface StoredObject {
  readonly type: string;
  readonly content: Buffer;
}

/** @param gitDir a folder that is not there is taken for an empty repository */
export async function readRepository(gitDir: string): Promise<RepositoryState> {
  const isThere = await access(gitDir).then(
    () => true,
    () => false,
  );
  const ask = (...args: readonly string[]): Promise<Buffer> =>
    isThere ? git(gitDir, args) : Promise.resolve(Buffer.alloc(0));
  const [refs, objects] = await Promise.all([
    ask('for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads'),
    ask('cat-file', '--batch-all-objects', '--batch', '--unordered').then(parseObjects),
  ]);
  const branches = new Map(
    refs
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): [string, string] => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]),
  );
  const commits = new Map(
    [...objects]
      .filter(([, { type }]) => type === 'commit')
      .map(([id, { content }]): [string, StoredCommit] => [id, parseCommit(id, content.toString('utf8'))]),
  );

  return {
    branches,
    commits,
    filesOf: (tree) => new Map(filesBelow(objects, tree, '')),
    historyOf(branch) {
      const seen = new Set<string>();
      const history: StoredCommit[] = [];
      const visit = (id: string | undefined): void => {
        const commit = id === undefined ? undefined : commits.get(id);
        if (commit === undefined || seen.has(commit.id)) return;
        seen.add(commit.id);
        for (const parent of commit.parents) visit(parent);
        history.push(commit);
      };
      visit(branches.get(branch));
      return history;
    },
    firstParentsOf(branch) {
      const line: StoredCommit[] = [];
      for (let commit = commits.get(branches.get(branch) ?? ''); commit; commit = commits.get(commit.parents[0] ?? ''))
        line.unshift(commit);
      return line;
    },
  };
}

/** How often each branch was moved, by the repository's own log of it, which has to be switched on. */
export async function countMoves(gitDir: string): Promise<ReadonlyMap<string, number>> {
  const logs = path.join(gitDir, 'logs', 'refs', 'heads');
  const entries = await readdir(logs, { recursive: true, withFileTypes: true }).catch(() => []);
  const moves = entries
    .filter((entry) => entry.isFile())
    .map(async (entry): Promise<[string, number]> => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(logs, file), (await readFile(file, 'utf8')).split('\n').length - 1];
    });
  return new Map(await Promise.all(moves));
}

export async function git(gitDir: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Buffer> {
  const { stdout } = await execute('git', ['--git-dir', gitDir, ...args], {
    encoding: 'buffer',
    maxBuffer: 2 ** 28,
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', ...env },
  });
  return stdout;
}

/** As `git cat-file --batch` writes them: a head with id, type and size, the content, an end of line. */
function parseObjects(output: Buffer): ReadonlyMap<string, StoredObject> {
  const objects = new Map<string, StoredObject>();
  for (let at = 0; at < output.length;) {
    const end = output.indexOf('\n', at);
    const [id = '', type = '', size = ''] = output.toString('latin1', at, end).split(' ');
    const from = end + 1;
    objects.set(id, { type, content: output.subarray(from, from + Number(size)) });
    at = from + Number(size) + 1;
  }
  return objects;
}

function parseCommit(id: string, text: string): StoredCommit {
  const split = text.indexOf('\n\n');
  const head = text.slice(0, split).split('\n');
  const message = text.slice(split + 2);
  const values = (name: string): string[] =>
    head.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    id,
    tree: values('tree')[0] ?? '',
    parents: values('parent'),
    subject: message.split('\n', 1)[0] ?? '',
    effectKey: /\nEffect-Key: (\S+)\n?$/.exec(message)?.[1] ?? null,
  };
}

/** Entries of a tree object: mode, space, name, a zero byte, the twenty bytes of the id. */
function* filesBelow(
  objects: ReadonlyMap<string, StoredObject>,
  tree: string,
  folder: string,
): Generator<[string, string]> {
  const content = objects.get(tree)?.content ?? Buffer.alloc(0);
  for (let at = 0; at < content.length;) {
    const zero = content.indexOf(0, at);
    const [mode = '', ...name] = content.toString('utf8', at, zero).split(' ');
    const id = content.toString('hex', zero + 1, zero + 21);
    const file = path.posix.join(folder, name.join(' '));
    if (mode === '40000') yield* filesBelow(objects, id, file);
    else yield [file, objects.get(id)?.content.toString('utf8') ?? ''];
    at = zero + 21;
  }
}
