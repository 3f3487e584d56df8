/**
 * A data folder, or only its database, is an older copy while the remote goes on: what git has beyond it is said and never
 * overwritten. Real servers, real remotes.
 */
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Project, type RunView, shownAt } from '@autonomous/shared';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readServerConfig } from '../../src/config.ts';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { linkStep, sha256 } from '../../src/event-store/hash-chain.ts';
import { verifyDatabase } from '../../src/event-store/sqlite/integrity/verify-database.ts';
import {
  aPlan,
  aScript,
  FILES,
  git,
  makeRemote,
  type StartedServer,
  startServer,
} from '../fixtures/orchestrator.fixture.ts';

interface Tip {
  readonly sequence: number;
  readonly hash: string;
  readonly seal?: string;
}

const AT_THE_PLAN = { trustMode: { planning: 'manual' as const }, git: { autoMerge: true } };
const DATABASE = ['orchestrator.db', 'orchestrator.db-wal', 'orchestrator.db-shm'];
const KEY = 'the-key-of-the-late-run';
const OPTIONS = { script: aScript({ planner: Array.from({ length: 5 }, () => aPlan()) }) };

/** The remote and the folder of the servers that a test starts one after the other. */
interface Place {
  readonly folder: string;
  readonly data: string;
  /** A copy of `data`. */
  readonly yesterday: string;
  readonly remote: string;
  readonly project: Project;
  /** A run at its plan gate. */
  readonly early: RunView;
  git(...args: readonly string[]): Promise<string>;
}

/** A run that has gone on since the copy was made, and another one that has begun. */
interface Restored extends Place {
  readonly late: RunView;
  readonly recorded: readonly string[];
}

/** The same folders with what lay in them before each test: no test makes these runs again. */
let yesterday: Place;
let today: Restored;
const copies = mkdtempSync(path.join(tmpdir(), 'restores-'));

beforeAll(async () => {
  yesterday = await aPlace('An early run');
  await cp(yesterday.folder, path.join(copies, 'yesterday'), { recursive: true });
  today = await goneOn(yesterday);
  await cp(yesterday.folder, path.join(copies, 'today'), { recursive: true });
});
afterAll(() => {
  for (const folder of [copies, yesterday.folder]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A server with a run at its plan gate, whose data folder was copied; the run has gone on and another one has begun since. */
async function aRestoredServer() {
  await putBack('today');
  return { ...today, server: today };
}

async function aServerWithYesterday() {
  await putBack('yesterday');
  return { ...yesterday, server: yesterday };
}

async function putBack(name: string): Promise<void> {
  await rm(yesterday.folder, { recursive: true, maxRetries: 5 });
  await cp(path.join(copies, name), yesterday.folder, { recursive: true });
}

async function aPlace(request: string): Promise<Place> {
  const folder = mkdtempSync(path.join(tmpdir(), 'orchestrator-'));
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, FILES);
  const server = await startServer(folder, OPTIONS);
  const project = await server.client.createProject({ name: 'notes', repository: remote });
  const { id } = await server.client.launchRun({ projectId: project.id, request, config: AT_THE_PLAN });
  const early = await waitFor(server, id, ({ gate }) => gate?.kind === 'plan');
  await server.orchestrator.settled();
  await server.stop();
  const copy = path.join(folder, 'yesterday');
  await cp(server.dataFolder, copy, { recursive: true });
  const inRemote = (...args: readonly string[]) => git('--git-dir', remote, ...args);
  return { folder, data: server.dataFolder, yesterday: copy, remote, project, early, git: inRemote };
}

async function goneOn(place: Place): Promise<Restored> {
  const { early, project } = place;
  const server = await startServer(place.folder, OPTIONS);
  await rejected(server, early.id, 'Another way, please.');
  const { id } = await server.client.launchRun(
    { projectId: project.id, request: 'A late run', config: AT_THE_PLAN },
    KEY,
  );
  const late = await waitFor(server, id, ({ gate }) => gate?.kind === 'plan');
  await server.orchestrator.settled();
  await server.stop();
  const recorded = await recordOf(place, early.id);
  expect(recorded.at(-1)).toContain('"APPROVAL_REQUESTED"');
  return { ...place, late, recorded };
}

/** Rejects the plan at whose gate a run is, and waits for the next one. */
async function rejected(server: StartedServer, runId: string, feedback: string): Promise<void> {
  const { gates } = await waitFor(server, runId, ({ gate }) => gate?.kind === 'plan');
  await server.client.decideOpenGate(runId, { decision: 'reject', feedback });
  await waitFor(server, runId, (view) => view.gate?.kind === 'plan' && view.gates.length === gates.length + 1);
}

async function restart({ folder }: Place): Promise<StartedServer> {
  const started = await startServer(folder, OPTIONS);
  onTestFinished(() => started.stop());
  return started;
}

async function waitFor(
  { client, logged }: StartedServer,
  runId: string,
  isThere: (view: RunView) => boolean,
): Promise<RunView> {
  return vi.waitFor(
    async () => {
      const view = await client.getRun(runId);
      if (!isThere(view)) throw new Error(`It is at ${JSON.stringify(view.gate)}; ${JSON.stringify(logged)}`);
      return view;
    },
    { timeout: 120_000, interval: 50 },
  );
}

async function approvalOf({ client }: StartedServer, runId: string) {
  const { gate } = await client.getRun(runId);
  return { decision: 'approve' as const, ...(gate && shownAt(gate)) };
}

const recordOf = async (server: Place, runId: string): Promise<string[]> =>
  (await server.git('show', `autonomous/record:.autonomous/runs/${runId}/events.jsonl`)).trim().split('\n');
const saidIn = ({ logged }: StartedServer): string => logged.map(({ msg }) => String(msg)).join('\n');

async function restoreDatabase(from: string, to: string): Promise<void> {
  for (const name of DATABASE) await rm(path.join(to, name), { force: true });
  for (const name of await readdir(from))
    if (DATABASE.includes(name)) await cp(path.join(from, name), path.join(to, name));
}

describe('an older copy', () => {
  it.each([
    ['the whole data folder', true],
    ['the database alone', false],
  ])('of %s is brought up to date from git before anything goes on, and nothing is lost', async (_, isWhole) => {
    const { server, data, yesterday, early, late, recorded } = await aRestoredServer();
    if (isWhole) {
      await rm(data, { recursive: true });
      await cp(yesterday, data, { recursive: true });
    } else await restoreDatabase(yesterday, data);

    const restored = await restart(server);
    expect(saidIn(restored)).toMatch(/The database was older than the record of project 'notes' in git: 2 runs were/);
    for (const { id } of [early, late]) await waitFor(restored, id, ({ gate }) => gate?.kind === 'plan');
    const events = await restored.client.listEvents(early.id, 0, 1_000);
    expect(events.map(({ sequence }) => sequence)).toEqual(recorded.map((_line, index) => index + 1));
    expect((await restored.client.getProject(server.project.id)).notices ?? []).toEqual([]);
    expect((await restored.client.readiness()).checks.find(({ name }) => name === 'record in git')?.ok).not.toBe(false);

    if (isWhole) {
      await restored.client.decideOpenGate(early.id, await approvalOf(restored, early.id));
      await waitFor(restored, early.id, ({ status }) => status === 'completed');
    } else await rejected(restored, early.id, 'A third way.');
    await restored.orchestrator.settled();
    const after = await recordOf(server, early.id);
    expect(after.slice(0, recorded.length)).toEqual(recorded);
    expect(after.length).toBeGreaterThan(recorded.length);
    expect(await verified(data)).toEqual([]);
  });

  it('whose runs have gone on otherwise by then is quarantined, and git keeps what it has', async () => {
    const { server, data, yesterday, early, recorded } = await aRestoredServer();
    await rm(data, { recursive: true });
    await cp(yesterday, data, { recursive: true });
    await rename(server.remote, `${server.remote}.away`);
    const alone = await startServer(server.folder, OPTIONS);
    await alone.client.decideOpenGate(early.id, { decision: 'reject', feedback: 'A third way.' });
    await alone.stop();
    await rename(`${server.remote}.away`, server.remote);

    const restored = await restart(server);
    const aside = await waitFor(restored, early.id, ({ gate }) => gate?.reason === 'poisoned');
    expect(aside.gate?.summary).toMatch(/in the record in git/);
    await expect(restored.client.decideOpenGate(early.id, { decision: 'retry' })).rejects.toThrow(
      /cannot resume: events? .*in the record in git.*restore the newest copy.*or cancel the run/,
    );
    const notices = async () => (await restored.client.listProjects({})).items[0]?.notices?.join() ?? '';
    await expect.poll(notices).toContain(early.id);
    const { ready, checks } = await restored.client.readiness();
    expect(ready).toBe(true);
    const check = checks.find(({ name }) => name === 'record in git');
    expect(check).toMatchObject({ ok: false, detail: expect.stringContaining('Git has runs or events') });
    // Readiness is answered without a token, so it does not name runs.
    expect(check?.detail).not.toContain(early.id);
    expect(await doctorSays(data, new URL(restored.orchestrator.server.url).port)).toContain(early.id);
    expect((await restored.client.cancelRun(early.id)).status).toBe('cancelled');
    await restored.orchestrator.settled();
    expect(await recordOf(server, early.id)).toEqual(recorded);
  });

  it('whose remote is away is compared when it is back, and until then no record of that project is written', async () => {
    const { server, data, yesterday, early, late, recorded } = await aRestoredServer();
    await rm(data, { recursive: true });
    await cp(yesterday, data, { recursive: true });
    await rename(server.remote, `${server.remote}.away`);
    const restored = await restart(server);
    await expect.poll(() => saidIn(restored)).toContain('could not be compared with the database');
    await restored.client.decideOpenGate(early.id, { decision: 'reject', feedback: 'A third way.' });
    await restored.orchestrator.settled();
    await rename(`${server.remote}.away`, server.remote);
    await restored.stop();

    const again = await restart(server);
    await waitFor(again, early.id, ({ gate }) => gate?.reason === 'poisoned');
    await again.orchestrator.settled();
    expect(await recordOf(server, early.id)).toEqual(recorded);
    expect(saidIn(again)).toContain(late.id);
  });
});

describe('a copy without its mirrors', () => {
  it('quarantines runs whose commits are lost, takes no decision on them, and goes on when the mirrors are back', async () => {
    const { server, early, data } = await aServerWithYesterday();
    const mirrors = path.join(data, 'mirrors');
    await rename(mirrors, `${mirrors}.away`);
    await server.git('update-ref', '-d', 'refs/heads/autonomous/record');
    const without = await startServer(server.folder, OPTIONS);
    const aside = await waitFor(without, early.id, ({ gate }) => gate?.reason === 'poisoned');
    expect(aside.gate?.summary).toContain(`its commit ${aside.headCommit} is not in the project's mirror`);
    await expect(without.client.decideOpenGate(early.id, { decision: 'retry' })).rejects.toThrow(
      /cannot resume: its commit \w{40} is not in the project's mirror/,
    );
    await without.stop();

    await rm(mirrors, { recursive: true });
    await rename(`${mirrors}.away`, mirrors);
    const whole = await restart(server);
    await whole.client.decideOpenGate(early.id, { decision: 'retry' });
    await waitFor(whole, early.id, ({ gate }) => gate?.kind === 'plan');
    await whole.client.decideOpenGate(early.id, await approvalOf(whole, early.id));
    await waitFor(whole, early.id, ({ currentStage }) => currentStage === 'implementation');
  });
});

describe('a copy without its mirrors whose record is on the remote', () => {
  it('has the commits of a run from there, whose branch was never pushed', async () => {
    const { server, early, data } = await aServerWithYesterday();
    await rm(path.join(data, 'mirrors'), { recursive: true });
    const without = await restart(server);
    await waitFor(without, early.id, ({ gate }) => gate !== null);
    const { gate } = await without.client.getRun(early.id);
    if (gate?.kind !== 'plan') await without.client.decideOpenGate(early.id, { decision: 'retry' });
    await waitFor(without, early.id, (view) => view.gate?.kind === 'plan');
    expect(await server.git('branch', '--list', early.branch)).toBe('');
    await without.client.decideOpenGate(early.id, await approvalOf(without, early.id));
    await waitFor(without, early.id, ({ status }) => status === 'completed');
  });
});

describe('a run that was merged since the copy was made', () => {
  it('is not merged once more, although the remote was away when the server started', async () => {
    const { server, early, data, yesterday } = await aServerWithYesterday();
    const since = await startServer(server.folder, OPTIONS);
    await waitFor(since, early.id, ({ gate }) => gate?.kind === 'plan');
    await since.client.decideOpenGate(early.id, await approvalOf(since, early.id));
    await waitFor(since, early.id, ({ status }) => status === 'completed');
    await since.orchestrator.settled();
    await since.stop();
    const merged = await server.git('rev-parse', 'main');
    await server.git('branch', '-D', early.branch);

    await rm(data, { recursive: true });
    await cp(yesterday, data, { recursive: true });
    await rename(server.remote, `${server.remote}.away`);
    const restored = await restart(server);
    await expect.poll(() => saidIn(restored)).toContain('could not be compared with the database');
    await restored.client.decideOpenGate(early.id, await approvalOf(restored, early.id));
    await waitFor(restored, early.id, ({ gate }) => gate?.reason === 'remote_unavailable');
    await rename(`${server.remote}.away`, server.remote);
    await restored.client.decideOpenGate(early.id, { decision: 'retry' }).catch(() => undefined);
    await waitFor(restored, early.id, ({ gate }) => gate?.reason === 'poisoned');
    expect(await server.git('rev-parse', 'main')).toBe(merged);
    await expect(restored.client.decideOpenGate(early.id, { decision: 'retry' })).rejects.toThrow('cannot resume');
    expect(await server.git('rev-parse', 'main')).toBe(merged);
  });
});

describe('a record that the remote has no more', () => {
  it('is pushed again at the next start', async () => {
    const { server, early } = await aServerWithYesterday();
    const before = await recordOf(server, early.id);
    await server.git('update-ref', '-d', 'refs/heads/autonomous/record');
    const again = await restart(server);
    await expect.poll(() => recordOf(server, early.id).catch(() => [])).toHaveLength(before.length);
    expect((await again.client.getRun(early.id)).gate?.kind).toBe('plan');
  });
});

describe('an approval that others wrote into the record', () => {
  it('with links that fit the chain is not imported, since the server did not seal it', async () => {
    const { server, early } = await aServerWithYesterday();
    const clone = path.join(server.folder, 'forged');
    await git('clone', '--quiet', '--branch', 'autonomous/record', server.remote, clone);
    const folder = path.join(clone, `.autonomous/runs/${early.id}`);
    const log = await readFile(path.join(folder, 'events.jsonl'), 'utf8');
    const context = JSON.parse(await readFile(path.join(folder, 'context.json'), 'utf8')) as { readonly tip: Tip };
    const { tip } = context;
    const payload = { by: 'local', gateId: 'forged' };
    const payloadHash = sha256(JSON.stringify(payload));
    const at = Date.now();
    const sequence = tip.sequence + 1;
    const event = { type: 'APPROVAL_GRANTED', origin: 0 as const, payload: null, payloadHash, at: 0 };
    const hash = linkStep(tip.hash, early.id, { sequence, at, events: [event] });
    const line = {
      sequence,
      type: event.type,
      origin: 'input',
      timestamp: new Date(at).toISOString(),
      id: `${early.id}.${sequence}`,
      workflowRunId: early.id,
      payload,
      payloadHash,
      step: { first: sequence, last: sequence, hash },
    };
    const forged = `${log}${JSON.stringify(line)}\n`;
    await writeFile(path.join(folder, 'events.jsonl'), forged);
    const newTip = { ...tip, sequence, hash, log: sha256(forged) };
    await writeFile(path.join(folder, 'context.json'), JSON.stringify({ ...context, tip: newTip }));
    await git('-C', clone, 'commit', '--quiet', '--all', '--message', 'Approved');
    await git('-C', clone, 'push', '--quiet', 'origin', 'autonomous/record');

    const restored = await restart(server);
    const view = await restored.client.getRun(early.id);
    expect([view.gate?.kind, view.lastSequence]).toEqual(['plan', tip.sequence]);
    expect(saidIn(restored)).not.toContain('brought up to date');
  });
});

/** Changes payloads of a recorded run as one without its secrets: the hash chain does not cover them. */
async function forgeWithheld(folder: string, change: (payload: string) => string): Promise<number> {
  const [logFile, contextFile] = [path.join(folder, 'events.jsonl'), path.join(folder, 'context.json')];
  let changed = 0;
  const lines = (await readFile(logFile, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((text) => {
      const { withheld: _, payload, payloadHash, step, ...line } = JSON.parse(text);
      const forged = change(JSON.stringify(payload));
      if (forged === JSON.stringify(payload)) return text;
      changed += 1;
      return JSON.stringify({ ...line, payload: JSON.parse(forged), withheld: 'redacted', payloadHash, step });
    });
  const log = `${lines.join('\n')}\n`;
  const { tip, ...context } = JSON.parse(await readFile(contextFile, 'utf8')) as { readonly tip: Tip };
  await writeFile(logFile, log);
  await writeFile(contextFile, JSON.stringify({ ...context, tip: { ...tip, log: sha256(log) } }));
  return changed;
}

describe('payloads that others wrote into the record as redacted', () => {
  it('are not imported: the run keeps what the database has, or is set aside, and none of the other is made', async () => {
    const { server, data, yesterday, early, late } = await aRestoredServer();
    await rm(data, { recursive: true });
    await cp(yesterday, data, { recursive: true });
    const clone = path.join(server.folder, 'forged');
    await git('clone', '--quiet', '--branch', 'autonomous/record', server.remote, clone);
    const evil = (text: string): string =>
      text.replaceAll('run', 'EVIL').replaceAll('"fixes":"auto"', '"fixes":"manual"');
    for (const { id } of [early, late])
      expect(await forgeWithheld(path.join(clone, '.autonomous/runs', id), evil)).toBeGreaterThan(0);
    await git('-C', clone, 'commit', '--quiet', '--all', '--message', 'Forged');
    await git('-C', clone, 'push', '--quiet', 'origin', 'autonomous/record');

    const restored = await restart(server);
    expect(saidIn(restored)).not.toContain('brought up to date');
    const aside = await waitFor(restored, early.id, ({ gate }) => gate?.reason === 'poisoned');
    expect([aside.originalRequest, aside.config.trustMode]).toEqual([early.originalRequest, early.config.trustMode]);
    await expect(restored.client.getRun(late.id)).rejects.toThrow('There is no run');
    await expect
      .poll(async () => (await restored.client.getProject(server.project.id)).notices?.join())
      .toContain(late.id);
  });
});

describe('an own record of which secrets were taken out', () => {
  it('is imported and waits for a person, and what the database has of it stays whole', async () => {
    const secret = `GOCSPX-${'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9b'}`;
    const place = await aPlace(`Use ${secret}.`);
    onTestFinished(() => rmSync(place.folder, { recursive: true, force: true, maxRetries: 5 }));
    const { early } = place;
    const since = await startServer(place.folder, OPTIONS);
    await rejected(since, early.id, `Not ${secret}, another.`);
    await since.orchestrator.settled();
    await since.stop();
    expect((await recordOf(place, early.id)).join()).toContain('"withheld":"redacted"');
    await restoreDatabase(place.yesterday, place.data);

    const restored = await restart(place);
    const { gate, originalRequest } = await waitFor(restored, early.id, (view) => view.gate?.reason === 'rebuilt');
    expect(originalRequest).toBe(`Use ${secret}.`);
    expect(gate?.details['applies']).toContainEqual({ what: 'autoMerge', value: 'on' });
    await restored.client.decideOpenGate(early.id, { decision: 'retry' });
    await waitFor(restored, early.id, (view) => view.gate?.kind === 'plan');
  });
});

describe('a record that others changed', () => {
  it('with events that there are not, with another event or without its seal quarantines no run: it is reported, and the next record of the run takes its place', async () => {
    const forgeries: readonly ((tip: Tip) => Tip)[] = [
      (tip) => ({ ...tip, sequence: 99_999 }),
      (tip) => ({ ...tip, hash: 'f'.repeat(64) }),
      ({ seal: _, ...tip }) => ({ ...tip, sequence: tip.sequence + 1 }),
    ];
    const { server, early } = await aServerWithYesterday();
    const eve = ['-c', 'user.name=Eve', '-c', 'user.email=eve@example.com'];
    for (const [index, forge] of forgeries.entries()) {
      const clone = path.join(server.folder, `clone-${index}`);
      await git('clone', '--quiet', '--branch', 'autonomous/record', server.remote, clone);
      const file = path.join(clone, `.autonomous/runs/${early.id}/context.json`);
      const context = JSON.parse(await readFile(file, 'utf8')) as { readonly tip: Tip };
      await writeFile(file, JSON.stringify({ ...context, tip: forge(context.tip) }));
      await git('-C', clone, ...eve, 'commit', '--quiet', '-am', 'Forged');
      await git('-C', clone, 'push', '--quiet', 'origin', 'autonomous/record');

      const again = await restart(server);
      const notices = async (): Promise<string> =>
        (await again.client.getProject(server.project.id)).notices?.join() ?? '';
      await expect.poll(notices).toMatch(/in git was changed by others .*The runs continue/);
      const { checks } = await again.client.readiness();
      expect(checks.filter(({ ok, name }) => !ok && name === 'record in git')).toEqual([]);
      await rejected(again, early.id, 'Another way, please.');
      await again.orchestrator.settled();
      await again.stop();
      const recorded = await server.git('show', `autonomous/record:.autonomous/runs/${early.id}/context.json`);
      const { tip } = JSON.parse(recorded) as { readonly tip: Tip };
      expect(tip.seal).toMatch(/^[0-9a-f]{64}$/);
      const events = await recordOf(server, early.id);
      expect(events).toHaveLength(tip.sequence);
      expect(events.at(-1)).toContain('"APPROVAL_REQUESTED"');
    }
  });
});

describe('a database that was deleted beside its mirrors', () => {
  it('is said at the start, and the key of a lost run starts no second one under its id', async () => {
    const { server, data, late } = await aRestoredServer();
    for (const name of DATABASE) await rm(path.join(data, name), { force: true });
    const told = await doctorSays(data);
    expect(told).toMatch(/the mirror of 1 project that the database does not have/);

    const anew = await restart(server);
    expect(saidIn(anew)).toMatch(
      /the mirror of 1 project that the database does not have .*with the record of 2 runs.*restore the newest copy/,
    );
    const { checks } = await anew.client.readiness();
    expect(checks.filter(({ ok, name }) => !ok && name === 'record in git')).toHaveLength(1);
    const project = await anew.client.createProject({ name: 'notes', repository: server.remote });
    const launch = anew.client.launchRun({ projectId: project.id, request: 'A late run', config: AT_THE_PLAN }, KEY);
    await expect(launch).rejects.toThrow(`Run ${late.id} was already started with this Idempotency-Key`);
    await expect.poll(async () => (await anew.client.getProject(project.id)).notices?.join()).toContain(late.id);
    expect((await anew.client.listRuns({})).items).toEqual([]);
  });
});

async function verified(dataFolder: string): Promise<unknown[]> {
  const faults: unknown[] = [];
  for await (const fault of verifyDatabase(path.join(dataFolder, 'orchestrator.db'))) faults.push(fault);
  return faults;
}

async function doctorSays(dataFolder: string, port = '0'): Promise<string> {
  let said = '';
  const stream = { write: (text: string) => ((said += text), true) } as unknown as NodeJS.WriteStream;
  const env = { PATH: process.env['PATH'], AUTONOMOUS_DATA: dataFolder, ORCHESTRATOR_PORT: port };
  expect(readServerConfig(env).dataFolder).toBe(dataFolder);
  await doctor({ json: false }, { env, stdout: stream, stderr: stream, cwd: dataFolder } as unknown as Parameters<
    typeof doctor
  >[1]);
  return said;
}
