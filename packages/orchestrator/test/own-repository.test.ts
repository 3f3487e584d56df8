/** Research without a project: in a repository of its own. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commandLine as cli } from './command-line.fixture.ts';
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
