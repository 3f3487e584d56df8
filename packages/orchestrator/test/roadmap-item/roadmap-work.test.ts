/** The commands `roadmap work` and `roadmap reset`: a real server, a real clone, their exit codes, and what they refuse. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { aPlan, aScript, aServer, FILES, finish, type Fixture, writes } from '../fixtures/orchestrator.fixture.ts';

const ITEM = {
  id: 'bell',
  title: 'A bell',
  type: 'feature',
  moscow: 'must-have',
  status: 'not-started',
  health: 'on-track',
  timeHorizon: 'now',
};
const DONE = {
  ...ITEM,
  id: 'done',
  status: 'completed',
  workflowState: { specSlug: 'a-bell', tasksTotal: 2, tasksCompleted: 2 },
};
const CHIME = { ...ITEM, id: 'chime', title: 'A chime', dependencies: ['bell'] };
const ROADMAP = `${JSON.stringify({ items: [ITEM, DONE, CHIME] }, null, 4)}\n`;

interface Roadmap {
  readonly items: readonly { readonly status: string; readonly workflowState?: object }[];
}

type Place = Fixture & { readonly clone: string };

async function aRoadmap(): Promise<Place> {
  const server = await aServer({
    files: { ...FILES, 'roadmap/roadmap.json': ROADMAP },
    script: aScript({
      ideator: [finish({ document: '# Problem' })],
      specifier: [finish({ document: '# Overview' })],
      decomposer: [finish({ tasks: [{ id: 'T1', title: 'Ring', description: 'Write bell.sh.', dependsOn: [] }] })],
      'item-reviewer': [finish({ summary: 'Nothing.', bugs: [] })],
      planner: [aPlan()],
      implementer: [writes({ 'bell.sh': 'echo ding\n' })],
    }),
  });
  const clone = path.join(server.folder, 'clone');
  execFileSync('git', ['clone', '--quiet', server.remote, clone], { stdio: 'pipe' });
  return { ...server, clone };
}

async function cli({ clone, orchestrator }: Place, ...words: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli(words, {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: { AUTONOMOUS_TOKEN: orchestrator.token, AUTONOMOUS_SERVER: orchestrator.server.url },
    cwd: clone,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

it('carries an item out to its end, and ends with 1 at a gate, for an unknown item and for one that is done', async () => {
  const place = await aRoadmap();
  const project = ['--project', place.project.id];
  const waiting = await cli(place, 'roadmap', 'work', 'bell', '--manual', ...project);
  expect(waiting).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining("Review the ideation of 'A bell'"),
  });
  const [run] = (await place.client.listRuns({ workflow: 'roadmap-item' })).items;
  const second = await cli(place, 'roadmap', 'work', 'bell', ...project);
  expect(second).toMatchObject({ exitCode: 64, stderr: expect.stringContaining(`autonomous watch ${run?.id ?? ''}`) });
  await place.client.cancelRun(run?.id ?? '', 'Enough.');
  const unknown = await cli(place, 'roadmap', 'work', 'horn', ...project);
  expect(unknown).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('Item not found: horn') });
  const before = await cli(place, 'roadmap', 'work', 'done', ...project);
  expect(before).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('cannot be started: Completed.') });
});

it('asks nobody with --approvals release, and leaves the result as a branch, with which the base gets the last state', async () => {
  const place = await aRoadmap();
  const work = ['roadmap', 'work', 'bell', '--approvals', 'release', '--project', place.project.id];
  const done = await cli(place, ...work);
  expect(done).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /'A bell' is completed\. Branch \S+ is pushed; merge it into main, whose roadmap has/,
    ),
  });
  const [run] = (await place.client.listRuns({ workflow: 'roadmap-item' })).items;
  const branch = run?.branch ?? '';
  expect(await place.file(branch, 'bell.sh')).toBe('echo ding\n');
  const stateIn = async (commit: string): Promise<object> => {
    const text = (await place.file(commit, 'roadmap/roadmap.json')) ?? '';
    const { status, workflowState } = (JSON.parse(text) as Roadmap).items[0] ?? {};
    return { status, ...workflowState };
  };
  const blocker = `Its result is on the branch ${branch}: merge it into main.`;
  expect(await stateIn('main')).toMatchObject({ status: 'in-progress', phase: 'committing', blockers: [blocker] });
  expect(await stateIn(branch)).toMatchObject({ status: 'completed', phase: 'completed', blockers: [] });
  expect(run?.notices).toContainEqual(expect.stringContaining('because main gets the last state with the merge'));

  // Nobody does it a second time meanwhile, and what depends on it waits.
  expect(await cli(place, ...work)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining(`cannot be started: Done. ${blocker} To do without that result, set the item back`),
  });
  pulled(place);
  expect(await cli(place, 'roadmap', 'next')).toMatchObject({
    stdout: expect.stringContaining("Waits for 'A bell' (bell), which is done on a branch that is not merged."),
  });

  // A person's merge brings code and state together.
  const git = gitIn(place.clone);
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'merge', '--quiet', '--no-edit', `origin/${branch}`);
  git('push', '--quiet', 'origin', 'HEAD:main');
  expect(await stateIn('main')).toMatchObject({ status: 'completed', phase: 'completed', blockers: [] });
  expect(await cli(place, 'roadmap', 'next', '--json')).toMatchObject({
    stdout: expect.stringContaining('"selected": {\n    "id": "chime"'),
  });
});

const gitIn =
  (folder: string) =>
  (...words: readonly string[]): void => {
    execFileSync('git', words, { cwd: folder, stdio: 'pipe' });
  };

function pulled({ clone }: Place): void {
  gitIn(clone)('pull', '--quiet', '--ff-only');
}

it('sets an item back in the file, and touches nothing else', async () => {
  const place = await aRoadmap();
  const file = path.join(place.clone, 'roadmap/roadmap.json');
  expect(await cli(place, 'roadmap', 'reset', 'done')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('done is not-started'),
  });
  const [first, second] = (JSON.parse(readFileSync(file, 'utf8')) as { items: object[] }).items;
  expect(first).toEqual(ITEM);
  expect(second).toMatchObject({
    status: 'not-started',
    workflowState: { specSlug: 'a-bell', phase: 'not-started', attempts: 0, blockers: [] },
  });
  expect(JSON.stringify(second)).not.toContain('tasksCompleted');
  expect(readFileSync(file, 'utf8').startsWith(ROADMAP.slice(0, 60))).toBe(true);
  expect(readdirSync(path.dirname(file))).toEqual(['roadmap.json']);
  expect(await cli(place, 'roadmap', 'reset', 'horn')).toMatchObject({ exitCode: 1, stderr: 'Item not found: horn\n' });
});
