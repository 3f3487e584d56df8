/** Research without a project: in a repository of its own. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { folderOfTopic, ownRepository } from '../../src/cli/own-repository.ts';
import { commandLine as cli } from '../fixtures/command-line.fixture.ts';
import { aResearchServer, found, OLDEST, reads, report, type ResearchServer, synthesis } from './research.fixture.ts';

const REPORT = 'docs/research-bells/bells-report.md';

it('is made, shows the published report in its folder, and is gone on with by the next run', async () => {
  const server = await aServerWithReports();
  const folder = path.join(server.folder, 'bells');
  const first = await research(server, '--out', 'bells', 'Bells', 'Which bell is the oldest?');
  expect(first).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining(`A repository was made for it: ${folder}`),
  });
  expect(await readFile(path.join(folder, 'README.md'), 'utf8')).toBe('# Bells\n\nWhich bell is the oldest?\n');
  expect(await readFile(path.join(folder, REPORT), 'utf8')).toContain('cast in 1288');
  expect(git(folder, 'status', '--porcelain')).toBe('');
  const commits = Number(git(folder, 'rev-list', '--count', 'main'));

  const second = await research(server, '--out', 'bells', 'Clocks', 'Which clock is the oldest?');
  expect(second).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining(`It goes on in the repository: ${folder}`),
  });
  expect(existsSync(path.join(folder, 'docs/research-clocks/clocks-report.md'))).toBe(true);
  expect(Number(git(folder, 'rev-list', '--count', 'main'))).toBeGreaterThan(commits);
  expect((await server.client.listProjects({})).items.map(({ name }) => name)).toContain('bells');
});

it('lies in the data folder where nothing else is said', async () => {
  const server = await aServerWithReports();
  const ended = await research(server, 'Bells & Clocks', 'Which bell is the oldest?');
  expect(ended.exitCode).toBe(0);
  const folder = path.join(server.folder, 'home', 'repositories', 'bells-clocks');
  expect(await readdir(path.join(folder, 'docs'))).toEqual(['research-bells-clocks']);
});

it.each([
  ['a folder with other files', ['--out', 'full'], 64, 'has files and is no git repository'],
  ['a file', ['--out', 'full/a.txt'], 64, 'is a file; name a folder with --out'],
  ['a project as well', ['--out', 'new', '--project', 'notes'], 64, "cannot be used with option '--project"],
  ['a server of another machine', ['--server', 'http://192.0.2.1:3001'], 64, 'the server is on another machine'],
])('is not made for %s', async (_case, options, exitCode, words) => {
  const server = await aServerWithReports();
  await mkdir(path.join(server.folder, 'full'));
  await writeFile(path.join(server.folder, 'full/a.txt'), 'mine\n');
  const files = async () => [await readdir(server.folder), await readdir(path.join(server.folder, 'full'))];
  const before = await files();
  const refused = await cli(server, 'research', ...options, 'Bells', 'Which bell?');
  expect(refused).toMatchObject({ exitCode, stderr: expect.stringContaining(words) });
  expect(await files()).toEqual(before);
});

it('goes with a refused launch', async () => {
  const server = await aServerWithReports();
  await mkdir(path.join(server.folder, 'empty'));
  for (const out of ['empty', 'new'])
    expect(await research(server, '--out', out, '../secrets', 'Which bell?')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('A topic is a name, not a path'),
    });
  expect(await readdir(path.join(server.folder, 'empty'))).toEqual([]);
  expect(existsSync(path.join(server.folder, 'new'))).toBe(false);
  expect((await server.client.listProjects({})).items.map(({ name }) => name)).toEqual([server.project.name]);
});

it('stays where the answer to the launch is lost, since the run may have been started', async () => {
  const server = await aServerWithReports();
  const { url } = server.orchestrator.server;
  // Passes each request on, and never the answer to a launch.
  const lossy = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = 'GET', url: way = '' } = request;
      const { host: _host, connection: _connection, ...headers } = request.headers as Record<string, string>;
      const body = method === 'POST' ? { body: Buffer.concat(chunks) } : {};
      const answer = await fetch(`${url}${way}`, { method, headers, ...body });
      if (method === 'POST' && way === '/api/runs') request.socket.destroy();
      else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    })();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void lossy.close());
  await vi.waitFor(() => expect(lossy.address()).not.toBeNull());
  const { port } = lossy.address() as AddressInfo;
  const lost = await research(server, '--server', `http://127.0.0.1:${port}`, 'Bells', 'Which bell is the oldest?');
  expect(lost).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('No Autonomous server answers') });
  expect((await server.client.listRuns({})).items).toHaveLength(1);
  expect(existsSync(path.join(server.folder, 'home', 'repositories', 'bells', 'README.md'))).toBe(true);
});

it('is not the repository of a person, whose branch nothing is merged into without a question', async () => {
  const server = await aServerWithReports();
  const { folder } = server;
  git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', 'origin.git');
  git(folder, 'clone', '--quiet', server.project.repository, 'mine');
  for (const [out, words] of [
    ['mine', 'is a repository with a remote, and --out merges without a question. Name it with --project'],
    ['alone', 'is a repository that this account has not made for a topic on this machine'],
  ] as const) {
    if (out === 'alone') git(folder, 'init', '--quiet', out);
    expect(await research(server, '--out', out, 'Bells', 'Which bell?')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining(words),
    });
  }
  expect((await server.client.listRuns({})).items).toEqual([]);
});

describe('a repository of its own', () => {
  const about = { topic: 'Bells', request: 'Which bell is the oldest?' };
  const aFolder = async (): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), 'own-repository-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  let io: { readonly env: Record<string, string> };
  beforeAll(async () => {
    io = { env: { XDG_STATE_HOME: await mkdtemp(path.join(tmpdir(), 'own-repository-state-')) } };
  });
  afterAll(() => rm(io.env['XDG_STATE_HOME'] ?? '', { recursive: true, force: true }));

  it('is none that a folder says it is, copied or brought along by others', async () => {
    const above = await aFolder();
    const folder = path.join(above, 'bells');
    await ownRepository(io, folder, about);
    expect((await ownRepository(io, folder, about)).isNew).toBe(false);
    await cp(folder, path.join(above, 'copied'), { recursive: true });
    const elsewhere = { env: { XDG_STATE_HOME: await aFolder() } };
    const refused = 'is a repository that this account has not made for a topic on this machine';
    await expect(ownRepository(io, path.join(above, 'copied'), about)).rejects.toThrow(refused);
    await expect(ownRepository(elsewhere, folder, about)).rejects.toThrow(refused);
  });

  it.each(['new', 'empty'])(
    'is made once by commands at the same time in a folder that is %s, and kept while another uses it',
    async (kind) => {
      const folder = path.join(await aFolder(), 'bells');
      if (kind === 'empty') await mkdir(folder);
      const made = await Promise.all([1, 2, 3].map(() => ownRepository(io, folder, about)));
      expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
      for (const each of made) await each.discard();
      expect(git(folder, 'log', '--format=%s', 'main')).toBe('Begin: Bells');
      expect(git(folder, 'status', '--porcelain')).toBe('');
      expect(await readdir(path.dirname(folder))).toEqual(['bells']);
    },
  );

  it('has a folder of its own for each topic, also where their short names are the same', async () => {
    const above = await aFolder();
    const made = [];
    for (const topic of ['C++', 'C', 'C++', '-rf', 'C']) {
      const { folder, isNew } = await ownRepository(io, await folderOfTopic(above, topic), {
        topic,
        request: 'What is it?',
      });
      made.push([topic, path.basename(folder), isNew]);
    }
    expect(made).toEqual([
      ['C++', 'c', true],
      ['C', 'c-2', true],
      ['C++', 'c', false],
      ['-rf', 'rf', true],
      ['C', 'c-2', false],
    ]);
  });

  it('is made after a command that was killed while it made one', async () => {
    const above = await aFolder();
    const folder = path.join(above, 'bells');
    await mkdir(path.join(folder, '.autonomous-0b7c'), { recursive: true });
    expect((await ownRepository(io, folder, about)).isNew).toBe(true);
    expect(git(folder, 'log', '--format=%s', 'main')).toBe('Begin: Bells');
  });

  it('is its own where git is pointed at another one', async () => {
    const above = await aFolder();
    git(above, 'init', '--quiet', 'other');
    vi.stubEnv('GIT_DIR', path.join(above, 'other', '.git'));
    try {
      await ownRepository(io, path.join(above, 'bells'), about);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(await readdir(path.join(above, 'bells'))).toContain('.git');
    expect(git(path.join(above, 'other'), 'for-each-ref')).toBe('');
    expect(await readFile(path.join(above, 'other/.git/config'), 'utf8')).not.toContain('receive');
  });

  it.each([
    ['where no folder can be made', () => '/proc/none/bells', 'cannot be made (ENOENT)'],
    [
      'at a symbolic link to nothing',
      async (above: string) => {
        await symlink(path.join(above, 'gone'), path.join(above, 'link'));
        return path.join(above, 'link');
      },
      'cannot be made (ENOTDIR)',
    ],
  ])('is refused %s', async (_case, place, words) => {
    const above = await aFolder();
    const before = await place(above);
    await expect(ownRepository(io, before, about)).rejects.toThrow(words);
    expect((await readdir(above)).filter((name) => name !== 'link')).toEqual([]);
  });
});

function aServerWithReports(): Promise<ResearchServer> {
  return aResearchServer((web) => ({
    synthesiser: [
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
      synthesis({ themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }] }),
    ],
    researcher: [
      reads(
        [`${web}/oldest`],
        report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
      ),
    ],
  }));
}

function research(server: ResearchServer, ...words: readonly string[]) {
  const limits = ['--researchers', '1', '--analysts', '0', '--rounds', '1'];
  return cli(server, 'research', ...limits, ...words);
}

const git = (folder: string, ...args: readonly string[]) =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();
