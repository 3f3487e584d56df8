/** A rebuild from a record that others have written to: forged settings, addresses and claims, and files that are not what they say. */
import { spawn } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunView } from '@autonomous/shared';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { linkStep, sha256 } from '../../src/event-store/hash-chain.ts';
import { BUILT_IN_RUN_CONFIG as CONFIG } from '../../src/run-config/run-config.ts';
import { aScript, aServer, FILES, git, makeRemote, startServer } from '../fixtures/orchestrator.fixture.ts';
import {
  aClone,
  aFolder,
  aForgedCopy,
  approve,
  rebuiltBy,
  retry,
  startedOn,
  storedIn,
  until,
} from './rebuild.fixture.ts';

const MANUAL = { trustMode: { planning: 'manual' as const, implementation: 'manual' as const } };

/** A run at its plan gate whose server is gone. */
async function aLostRun(request = 'Plan it') {
  const server = await aServer();
  const run = await server.until(await server.launch(request, MANUAL), { gate: 'plan' });
  await server.orchestrator.settled();
  await server.close();
  return { server, run };
}

const from = (...places: readonly string[]): string[] => places.flatMap((place) => ['--from', place]);

/** Adds a run to a record: a first event and a context that names it. */
async function addRun(folder: string, runId: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  const run = path.join(folder, 'runs', runId);
  await mkdir(run, { recursive: true });
  const log = String(files['events.jsonl'] ?? '');
  const hash = /"hash":"(\w+)"/.exec(log)?.[1] ?? '0'.repeat(64);
  const tip = { sequence: 1, hash, at: 'then', log: sha256(log) };
  const context = { format: 2, createdAt: '2026-01-01T00:00:00.000Z', tip };
  for (const [name, content] of Object.entries({ 'context.json': JSON.stringify(context), ...files }))
    await writeFile(path.join(run, name), content);
}

/** The first event of a run, with its link of the chain. */
function line(runId: string, payload: string): string {
  const timestamp = '2026-01-01T00:00:00.000Z';
  const payloadHash = sha256(payload);
  const event = { type: 'RUN_STARTED', origin: 0 as const, payload: null, payloadHash, at: 0 };
  const hash = linkStep('0'.repeat(64), runId, { sequence: 1, at: Date.parse(timestamp), events: [event] });
  const chain = JSON.stringify({ payloadHash, step: { first: 1, last: 1, hash } }).slice(1);
  return `{"sequence":1,"type":"RUN_STARTED","origin":"input","timestamp":"${timestamp}","id":"x","workflowRunId":"${runId}","payload":${payload},${chain}\n`;
}
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('a rebuild from a record with forged contents', () => {
  it('takes another base branch than the one of the remote only where a person names it', async () => {
    const { server } = await aLostRun();
    const { id } = server.project;
    const copy = await aForgedCopy(server, async (folder) => {
      const file = path.join(folder, 'projects', `${id}.json`);
      await writeFile(file, (await readFile(file, 'utf8')).replace('"main"', '"somewhere"'));
    });
    const refused = await rebuiltBy(await aFolder(server), from(copy));
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(`project ${id} was left out: .*'somewhere'.*--base ${id}=somewhere or --base ${id}=main`),
      ),
    ]);
    const named = await rebuiltBy(await aFolder(server), [...from(copy), '--base', `${id}=main`]);
    expect(named.out).toContain(`is 'notes', ${copy}, with the base branch main\n`);
    const wrong = await rebuiltBy(await aFolder(server), [...from(copy), '--base', `${id}=autonomous/x`]);
    expect([wrong.code, wrong.err]).toEqual([64, expect.stringContaining('names no branch that a project may have')]);
  });

  it('shows what applies before a run goes on, opens the gate that was open, and lets the run be cancelled', async () => {
    const { server, run } = await aLostRun();
    const evil = `\u202e${'x'.repeat(1_000)}`;
    const copy = await aForgedCopy(server, (folder) =>
      forgeRedacted(path.join(folder, 'runs', run.id), (text) =>
        text
          .replaceAll('"implementation":"manual"', '"implementation":"auto"')
          .replaceAll('"autoMerge":false', '"autoMerge":true')
          .replaceAll('"commands":{', `"commands":{"setup":${JSON.stringify(evil)},"release":"npm publish",`),
      ),
    );
    const folder = await aFolder(server);
    const { code, out } = await rebuiltBy(folder, from(copy));
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`project ${server.project.id} is 'notes', ${copy}, with the base branch main\n`),
    ]);
    expect(out).toContain(`run ${run.id} is paused in stage planning (rebuilt)`);

    const whole = await startedOn(folder);
    const { gate, status } = await whole.client.getRun(run.id);
    expect([status, gate?.kind, gate?.reason]).toEqual(['paused', 'pause', 'rebuilt']);
    expect(gate?.summary).toMatch(
      /rebuilt from its record in git at event \d+, in stage planning, at its gate 'plan'.*retry/,
    );
    const applies = new Map(
      ((gate?.details['applies'] ?? []) as { readonly what: string; readonly value: string }[]).map(
        ({ what, value }) => [what, value],
      ),
    );
    expect(applies.get('trust: implementation')).toBe('auto');
    expect(applies.get('project')).toBe(`notes, ${copy}`);
    expect(applies.get('command: release')).toBe('npm publish');
    expect(applies.get('install command')).toBe(`⟨U+202E⟩${'x'.repeat(1_000)}`);
    expect(Object.fromEntries(applies)).toMatchObject({
      autoMerge: 'on',
      mergeStrategy: 'squash',
      createPR: 'off',
      push: 'its branch, and the base branch by the merge',
      'base branch': 'main',
      network: 'all hosts that the server allows',
      budgets: 'no limit',
    });
    expect(gate?.details['decided']).toEqual([{ what: 'The record has no decisions of people' }]);
    await expect(approve(whole, run.id)).rejects.toThrow("does not take 'approve'");

    await retry(whole, run.id);
    const { id: _id, openedAt: _at, ...again } = (await whole.client.getRun(run.id)).gate ?? {};
    const { id: _before, openedAt: _then, ...before } = run.gate ?? {};
    expect(again).toEqual(before);
    expect((await whole.client.cancelRun(run.id)).status).toBe('cancelled');
  });

  it('records the pause, and cancels a run from there', async () => {
    const { server, run } = await aLostRun();
    const folder = await aFolder(server);
    expect((await rebuiltBy(folder, from(server.remote))).code).toBe(0);
    const whole = await startedOn(folder);
    expect((await whole.client.getRun(run.id)).gate?.reason).toBe('rebuilt');
    // The record of another server's run becomes that of this one.
    const log = (): Promise<string | null> =>
      server.file('autonomous/record', `.autonomous/runs/${run.id}/events.jsonl`);
    await expect.poll(log).toContain('"reason":"rebuilt"');
    expect((await whole.client.cancelRun(run.id)).status).toBe('cancelled');
  });

  it('takes the address from the place that was given, not from the record', async () => {
    const { server } = await aLostRun();
    const other = path.join(server.folder, 'other.git');
    await makeRemote(other, FILES);
    const { id } = server.project;
    for (const address of [other, `file://${other}`, 'ext::sh -c "touch x"', '../../etc', '--upload-pack=touch x']) {
      const copy = await aForgedCopy(server, async (folder) => {
        const file = path.join(folder, `projects/${id}.json`);
        const project = JSON.parse(await readFile(file, 'utf8')) as object;
        await writeFile(file, JSON.stringify({ ...project, repository: address }));
      });
      const folder = await aFolder(server);
      expect(await rebuiltBy(folder, from(`file://${copy}`))).toMatchObject({ code: 0, err: '' });
      expect(await projectsIn(folder)).toEqual([[id, 'notes', copy]]);
    }
    for (const clone of [await aClone(server), await aClone(server, '--mirror')]) {
      const folder = await aFolder(server);
      expect((await rebuiltBy(folder, from(clone))).code).toBe(0);
      expect(await projectsIn(folder)).toEqual([[id, 'notes', server.remote]]);
    }
  });

  it('asks for the address of a clone without origin, and takes it from --remote', async () => {
    const { server } = await aLostRun();
    const { id } = server.project;
    const clone = await aClone(server);
    await git('-C', clone, 'remote', 'set-url', 'origin', '../somewhere');
    const folder = await aFolder(server);
    const refused = await rebuiltBy(folder, from(clone));
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`--remote ${id}=URL`)]);
    expect(await rebuiltBy(folder, [...from(clone), '--remote', `${id}=ext::sh`])).toMatchObject({ code: 64 });
    const { code, err } = await rebuiltBy(folder, [...from(clone), '--remote', `${id}=${server.remote}`]);
    expect([code, err, await projectsIn(folder)]).toEqual([0, '', [[id, 'notes', server.remote]]]);
    const another = await aFolder(server);
    const unknown = await rebuiltBy(another, [...from(server.remote), '--remote', `nobody=${server.remote}`]);
    expect([unknown.code, unknown.err]).toEqual([1, 'project nobody of --remote is in none of these records\n']);
  });

  it('names the format of a project that cannot come back before the missing address', async () => {
    const { server } = await aLostRun();
    const { id } = server.project;
    const copy = await aForgedCopy(server, async (folder) => {
      const file = path.join(folder, `projects/${id}.json`);
      await writeFile(file, (await readFile(file, 'utf8')).replace('"format": 2', '"format": 3'));
    });
    const folder = await aFolder(server);
    const clone = path.join(folder, 'clone');
    await git('clone', '--quiet', copy, clone);
    await git('-C', clone, 'remote', 'set-url', 'origin', '../somewhere');
    const reason = 'its record has format 3, and this program reads format 2.';
    const refused = await rebuiltBy(folder, from(clone));
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(new RegExp(`^Project ${id} cannot come back: ${reason} .*--remote ${id}=URL`));
    const named = await rebuiltBy(folder, [...from(clone), '--remote', `${id}=${server.remote}`]);
    expect(named.err).toContain(`project ${id} was left out: ${reason}`);
    expect(named.err).not.toContain('is in none of these records');
  });
});

describe('a rebuild from several records', () => {
  it('gives two projects of one name different names, and says so', async () => {
    const { server, run } = await aLostRun();
    const elsewhere = await aFolder(server);
    const second = await startServer(elsewhere);
    const project = await second.client.createProject({ name: 'notes', repository: server.remote });
    const other = await second.client.launchRun({ projectId: project.id, request: 'Another', config: MANUAL });
    await until(second, other.id, ({ gate }) => gate?.kind === 'plan');
    await second.orchestrator.settled();
    await second.stop();
    const folder = await aFolder(server);
    const { code, out, err } = await rebuiltBy(folder, from(server.remote));
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /is 'notes-2', .*remote\.git, .*; its name in the record, 'notes', is taken by another project/,
    );
    expect(new Set((await projectsIn(folder)).map(([, name]) => name))).toEqual(new Set(['notes', 'notes-2']));
    expect(Object.keys(await storedIn(path.join(folder, 'data'))).sort()).toEqual([run.id, other.id].sort());
  });

  it('lets none claim a project or run of another, and changes nothing of the first', async () => {
    const [mine, theirs] = [await aLostRun('Mine'), await aLostRun('Theirs')];
    const { id } = mine.server.project;
    const copy = await aForgedCopy(theirs.server, async (folder) => {
      const project = {
        format: 2,
        id,
        name: 'stolen',
        repository: '/x',
        baseBranch: 'main',
        createdAt: '2020-01-01T00:00:00.000Z',
      };
      await writeFile(path.join(folder, `projects/${id}.json`), JSON.stringify(project));
      await addRun(folder, mine.run.id, {});
      const start = {
        projectId: id,
        userId: 'local',
        workflow: { name: 'build', version: 1 },
        request: '',
        branch: '',
        config: CONFIG,
      };
      await addRun(folder, 'r-claim', { 'events.jsonl': line('r-claim', JSON.stringify(start)) });
      const child = {
        ...start,
        projectId: theirs.server.project.id,
        parent: { runId: mine.run.id, key: 'k', depth: 1 },
      };
      await addRun(folder, 'r-child', { 'events.jsonl': line('r-child', JSON.stringify(child)) });
      const spending = { ...start, projectId: theirs.server.project.id, treeId: mine.run.id };
      await addRun(folder, 'r-spending', { 'events.jsonl': line('r-spending', JSON.stringify(spending)) });
    });
    const folder = await aFolder(mine.server);
    const { code, err } = await rebuiltBy(folder, from(mine.server.remote, copy));
    expect(code).toBe(1);
    const owner = mine.server.remote;
    expect(err).toContain(
      `project ${id} was left out: ${copy} has one of the same id as ${owner}, which was named first`,
    );
    expect(err).toContain(`run ${mine.run.id} was left out: ${copy} has one of the same id as ${owner}`);
    expect(err).toContain(`run r-claim was left out: its project ${id} came back from ${owner}`);
    expect(err).toContain(`run r-child was left out: it says that it is a child run of a run that ${owner} has`);
    expect(err).toContain(`run r-spending was left out: it says that it shares budgets with a run that ${owner} has`);
    expect(new Set(await projectsIn(folder))).toEqual(
      new Set([
        [id, 'notes', owner],
        [theirs.server.project.id, 'notes', copy],
      ]),
    );
    const stored = await storedIn(path.join(folder, 'data'));
    expect(Object.keys(stored).sort()).toEqual([mine.run.id, theirs.run.id].sort());
    expect(stored[mine.run.id]?.view.originalRequest).toBe('Mine');
  });

  it('takes the same repository once, also as a clone and by another path', async () => {
    const { server, run } = await aLostRun();
    const clone = await aClone(server);
    await cp(clone, `${clone}.linked`, { recursive: true });
    const folder = await aFolder(server);
    const { code, out, err } = await rebuiltBy(
      folder,
      from(server.remote, clone, `${clone}.linked`, `file://${server.remote}`),
    );
    expect([code, err]).toEqual([0, '']);
    for (const place of [clone, `${clone}.linked`, `file://${server.remote}`])
      expect(out).toContain(`${place} is the same repository as ${server.remote} and was taken once`);
    expect(Object.keys(await storedIn(path.join(folder, 'data')))).toEqual([run.id]);
    expect(out).toContain('1 project, 1 run: 0 ended, 1 paused');
  });
});

describe('families in a record that others have written to', () => {
  it('leave out runs that are their own parents or of other projects, and name those whose parent is not there', async () => {
    const { server, run } = await aLostRun();
    const below = (runId: string) => ({ runId, key: `${runId}/1/x`, depth: 1 });
    const start = {
      projectId: server.project.id,
      userId: 'local',
      workflow: { name: 'build', version: 1 },
      request: '',
      branch: '',
      config: CONFIG,
    };
    const parents = { 'r-own': 'r-own', 'r-low': 'r-top', 'r-middle': 'r-low', 'r-top': 'r-middle' };
    const copy = await aForgedCopy(server, async (folder) => {
      for (const [id, parent] of Object.entries(parents))
        await addRun(folder, id, { 'events.jsonl': line(id, JSON.stringify({ ...start, parent: below(parent) })) });
      const other = { ...start, projectId: 'p-other', parent: below(run.id) };
      await addRun(folder, 'r-other', { 'events.jsonl': line('r-other', JSON.stringify(other)) });
      const odd = { ...start, parent: { runId: 7 } };
      await addRun(folder, 'r-odd', { 'events.jsonl': line('r-odd', JSON.stringify(odd)) });
      await copyRun(path.join(folder, 'runs'), run.id, 'r-orphan');
      await forgeRedacted(path.join(folder, 'runs', 'r-orphan'), (text) =>
        text.replace(/^\{(?=.*"projectId":)/, `{"parent":${JSON.stringify(below('r-gone'))},`),
      );
    });
    const folder = await aFolder(server);
    const { code, err, out } = await rebuiltBy(folder, from(copy));
    expect(code).toBe(1);
    for (const id of Object.keys(parents))
      expect(err).toContain(`run ${id} was left out: it says that it is a child run of itself, or of a run below it`);
    expect(err).toContain(
      `run r-other was left out: it says that it is a child run of a run of project ${server.project.id}`,
    );
    expect(err).toContain(
      'run r-odd was left out: line 1 of its events.jsonl does not start a run: parent is not valid',
    );
    expect(err).toContain('The parents of these child runs did not come back');
    expect(err).toContain('run r-orphan (of r-gone)\n');
    expect(out).toContain('1 project, 2 runs: 0 ended, 2 paused, 0 quarantined; 6 left out');
    const whole = await startedOn(folder);
    expect((await whole.client.getRun('r-orphan')).gate?.reason).toBe('rebuilt');
  });
});

describe('a file of the record that is not what it says', () => {
  it('leaves out its run alone, with a message that names the run and shows no error of the store', async () => {
    const { server, run } = await aLostRun();
    const start = {
      projectId: server.project.id,
      workflow: { name: 'build', version: 1 },
      request: '',
      branch: '',
      config: CONFIG,
    };
    const copy = await aForgedCopy(server, async (folder) => {
      const deep = `{"a":${nested(100_000)}}`;
      await addRun(folder, 'r-deep', { 'events.jsonl': line('r-deep', deep) });
      await addRun(folder, 'r-context', { 'context.json': deep, 'events.jsonl': line('r-context', '{}') });
      await writeFile(path.join(folder, 'projects/p-deep.json'), deep);
      await addRun(folder, '__proto__', { 'events.jsonl': line('__proto__', JSON.stringify(start)) });
      await addRun(folder, 'r-utf16', { 'events.jsonl': Buffer.from(line('r-utf16', '{}'), 'utf16le') });
      await addRun(folder, 'r-big', { 'context.json': Buffer.alloc(5 * 1024 * 1024, ' ') });
      const typed = { ...start, userId: 'local' };
      const empty = await readFile(path.join(folder, 'runs', run.id, 'context.json'), 'utf8');
      await addRun(folder, 'r-none', { 'context.json': empty });
      const odd = { ...typed, config: { ...CONFIG, trustMode: 7 } };
      await addRun(folder, 'r-config', { 'events.jsonl': line('r-config', JSON.stringify(odd)) });
      const merging = { ...typed, config: { ...CONFIG, git: { ...CONFIG.git, autoMerge: 1 } } };
      await addRun(folder, 'r-merge', { 'events.jsonl': line('r-merge', JSON.stringify(merging)) });
      const nowhere = { ...typed, projectId: 'p-nowhere' };
      await addRun(folder, 'r-git', { 'events.jsonl': line('r-git', JSON.stringify(nowhere)) });
      await addRun(folder, 'r-time', {
        'events.jsonl': line('r-time', JSON.stringify({ ...typed, workflow: 'build' })),
      });
    });
    const folder = await aFolder(server);
    const { code, err, out } = await rebuiltBy(folder, from(copy));
    expect(code).toBe(1);
    for (const said of [
      'run r-deep was left out: line 1 of its events.jsonl is JSON of more than 500 levels',
      'run r-context was left out: its context.json is JSON of more than 500 levels',
      'run __proto__ was left out: line 1 of its events.jsonl does not start a run: userId is missing',
      'run r-utf16 was left out: its events.jsonl is not UTF-8 text',
      'run r-big was left out: its context.json has more than 4 MB',
      'run r-none was left out: it has no events.jsonl in the record',
      'run r-time was left out: line 1 of its events.jsonl does not start a run: workflow.name is missing',
      'run r-config was left out: line 1 of its events.jsonl does not start a run: config.trustMode is missing',
      'run r-merge was left out: line 1 of its events.jsonl has a configuration that no server writes: config.git.autoMerge is not valid',
      'run r-git was left out: its project p-nowhere is not described in the record, or was left out',
      'commit a whole version of its files to the branch autonomous/record',
    ])
      expect(err).toContain(said);
    expect(err).not.toMatch(/constraint|SQLITE|RangeError|call stack/i);
    expect(out).toContain('1 project, 1 run: 0 ended, 1 paused, 0 quarantined; 10 left out');
    expect(Object.keys(await storedIn(path.join(folder, 'data')))).toEqual([run.id]);
    const whole = await startedOn(folder);
    expect((await whole.client.listRuns({})).items.map(({ id }) => id)).toEqual([run.id]);
  });
});

describe('a rebuild that is killed', () => {
  it('is carried on to the same database, without a run of which a part is there', async () => {
    const { server, run } = await aLostRun();
    const copies = Array.from({ length: 80 }, (_, index) => `r-copy-${String(index).padStart(2, '0')}`);
    const copy = await aForgedCopy(server, async (folder) => {
      for (const id of copies) await copyRun(path.join(folder, 'runs'), run.id, id);
      await addRun(folder, 'r-bad', {});
    });
    const [killed, whole] = [await aFolder(server), await aFolder(server)];
    expect((await rebuiltBy(whole, from(copy))).code).toBe(1);

    await killedWithin(killed, copy);
    const left = await storedIn(path.join(killed, 'data'));
    expect(Object.keys(left).length).toBeGreaterThan(0);
    expect(Object.keys(left).length).toBeLessThan(copies.length + 1);
    for (const { view } of Object.values(left)) expect(view.gate?.reason).toBe('rebuilt');
    await expect(startServer(killed)).rejects.toThrow('interrupted rebuild');

    const { code, out, err } = await rebuiltBy(killed, from(copy));
    expect([code, err]).toEqual([1, expect.stringContaining('run r-bad was left out: it has no events.jsonl')]);
    expect(out).toContain(`1 project, ${copies.length + 1} runs: 0 ended, ${copies.length + 1} paused`);
    const [carriedOn, atOnce] = [await storedIn(path.join(killed, 'data')), await storedIn(path.join(whole, 'data'))];
    expect(Object.keys(carriedOn)).toEqual(Object.keys(atOnce));
    for (const [id, { view, chain }] of Object.entries(atOnce)) {
      expect(withoutPause(carriedOn[id]?.view)).toEqual(withoutPause(view));
      // The pause has another time.
      expect(carriedOn[id]?.chain.slice(0, -1)).toEqual(chain.slice(0, -1));
    }
    expect(await filesBeside(killed)).toEqual(await filesBeside(whole));
    await retry(await startedOn(killed), run.id);
  });
});

function withoutPause(view: RunView | undefined) {
  const { updatedAt: _at, pausedAt: _paused, gate, ...rest } = view ?? { gate: null };
  return { ...rest, gate: gate && { ...gate, openedAt: '' } };
}

async function filesBeside(folder: string): Promise<string> {
  const transcripts = path.join(folder, 'data', 'transcripts');
  return (await readdir(transcripts)).sort().join();
}

/** Starts the command as a process of its own, and kills it when some of the runs are stored. */
async function killedWithin(folder: string, place: string): Promise<void> {
  await writeFile(path.join(folder, 'script.yaml'), aScript());
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const data = path.join(folder, 'data');
  const child = spawn(process.execPath, [main, 'rebuild', '--from', place, '--data', data], {
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'silent', AUTONOMOUS_SCRIPT: path.join(folder, 'script.yaml') },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
  await expect
    .poll(() => runsIn(path.join(data, 'orchestrator.db')), { interval: 5, timeout: 120_000 })
    .toBeGreaterThan(2);
  child.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
}

function runsIn(file: string): number {
  try {
    const connection = new Database(file, { readonly: true, fileMustExist: true });
    try {
      return connection.prepare<[], number>('SELECT count(*) FROM workflow_runs').pluck().get() ?? 0;
    } finally {
      connection.close();
    }
  } catch {
    return 0; // It is not made yet.
  }
}

async function projectsIn(folder: string): Promise<string[][]> {
  const connection = new Database(path.join(folder, 'data', 'orchestrator.db'), { readonly: true });
  try {
    return connection.prepare('SELECT id, name, repository FROM projects ORDER BY id').raw().all() as string[][];
  } finally {
    connection.close();
  }
}

/** Changes payloads of a run as if secrets had been taken out of them, which the hash chain does not cover. */
async function forgeRedacted(folder: string, change: (payload: string) => string): Promise<void> {
  const file = path.join(folder, 'events.jsonl');
  const lines = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((text) => {
      const { withheld: _, payload, payloadHash, step, ...rest } = JSON.parse(text);
      const forged = change(JSON.stringify(payload));
      const isSame = forged === JSON.stringify(payload);
      return JSON.stringify({
        ...rest,
        payload: JSON.parse(forged),
        ...(isSame ? {} : { withheld: 'redacted' }),
        payloadHash,
        step,
      });
    });
  await seal(folder, `${lines.join('\n')}\n`, {});
}

/** Writes a log and a context that fits it, as far as nobody needs a key for that. */
async function seal(folder: string, log: string, tip: object): Promise<void> {
  const file = path.join(folder, 'context.json');
  const context = JSON.parse(await readFile(file, 'utf8')) as { readonly tip: object };
  await writeFile(path.join(folder, 'events.jsonl'), log);
  await writeFile(file, JSON.stringify({ ...context, tip: { ...context.tip, ...tip, log: sha256(log) } }));
}

interface RecordedLine {
  readonly type: string;
  readonly origin: string;
  readonly timestamp: string;
  readonly payload: unknown;
  readonly step: { readonly first: number; readonly last: number };
}

/** Adds a run like another one, under its own id and with a chain of its own. */
async function copyRun(runs: string, id: string, to: string): Promise<void> {
  await cp(path.join(runs, id), path.join(runs, to), { recursive: true });
  const read = async (name: string) => (await readFile(path.join(runs, to, name), 'utf8')).replaceAll(id, to);
  const lines = (await read('events.jsonl'))
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as RecordedLine);
  let hash = '0'.repeat(64);
  let log = '';
  for (let at = 0; at < lines.length;) {
    const { first = 0, last = 0 } = lines[at]?.step ?? {};
    const group = lines.slice(first - 1, last);
    const time = Date.parse(group.at(-1)?.timestamp ?? '');
    const events = group.map(({ type, origin, timestamp, payload }) => ({
      type,
      origin: origin === 'emitted' ? (1 as const) : (0 as const),
      payload: null,
      payloadHash: sha256(JSON.stringify(payload)),
      at: Date.parse(timestamp) === time ? 0 : Date.parse(timestamp),
    }));
    hash = linkStep(hash, to, { sequence: last, at: time, events });
    for (const [index, each] of group.entries())
      log += `${JSON.stringify({ ...each, payloadHash: events[index]?.payloadHash, step: { first, last, hash } })}\n`;
    at = last;
  }
  await writeFile(path.join(runs, to, 'context.json'), await read('context.json'));
  await seal(path.join(runs, to), log, { hash });
}
