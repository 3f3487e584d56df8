/** A data folder is lost, mirrors and database alike: a plain clone of the remote brings all runs back, and they go on. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FINAL_STATUSES, type RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import {
  asks,
  aPlan,
  aScript,
  aServer,
  type Fixture,
  git,
  type StartedServer,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';
import {
  aChangedCopy,
  aClone,
  aForgedCopy,
  aFolder,
  approve,
  type Rebuilt,
  rebuiltBy,
  startedOn,
  type Stored,
  storedIn,
  until,
} from './rebuild.fixture.ts';

const WORKFLOWS = fileURLToPath(new URL('../child-runs/parent-of-builds.fixture.ts', import.meta.url));
const ENV = { AUTONOMOUS_WORKFLOWS: WORKFLOWS };
const QUESTION = { question: 'Which logo?', responseType: 'file_upload' };

/** Plans whose diagram cannot be read, twice. */
const UNREADABLE = aPlan({ plan: '# Plan\n\n```mermaid\nflowchart TD\n  a[\n```\n' });

/** Runs by their request: the requests tell the scripted agents what to do. */
const script = (isSlow: boolean): string =>
  aScript({
    planner: [
      { ...asks(QUESTION), when: { contains: 'Ask me', call: 1 } },
      { ...UNREADABLE, when: { contains: 'Draw badly' } },
      aPlan(),
      aPlan(),
      aPlan(),
    ],
    implementer: [
      ...(isSlow ? [when('Slowly', { turns: slowTurns() })] : []),
      when('Break it', writes({ 'app.sh': 'echo bye\n' })),
      ...Array.from({ length: COPIES }, (_, copy) =>
        when(`Merge it ${copy}`, writes({ [`merged-${copy}.sh`]: 'echo\n' })),
      ),
      writes({ 'feature.sh': 'echo feature\n' }),
      writes({ 'feature.sh': 'echo feature 2\n' }),
    ],
  });

function slowTurns() {
  const [write, ...others] = writes({ 'a.sh': 'b\n' }).turns;
  return [{ ...write, text: 'Wait.' }, ...others.map((turn) => ({ ...turn, delayMs: 600_000 }))];
}

type RunIds = Readonly<Record<string, string>>;

/** Leads one run, or a family, to where it stays. @returns ids by role in it */
type Fate = (server: Fixture, copy: number) => Promise<RunIds>;

const MANUAL = { trustMode: { planning: 'manual' as const } };
const BY_ITSELF = { planning: 'auto' as const };
/** All that a run can come to, in sixteen runs. */
const FATES: readonly Fate[] = [
  async (server, copy) => {
    const run = await server.launch(`Merge it ${copy}`, { git: { autoMerge: true }, trustMode: BY_ITSELF });
    return { merged: await completed(server, run) };
  },
  async (server) => ({
    published: await completed(server, await server.launch('Publish it')),
  }),
  async (server) => {
    const run = await server.until(await server.launch('Cancel it', MANUAL), { gate: 'plan' });
    await server.client.cancelRun(run.id);
    return { cancelled: run.id };
  },
  async (server) => {
    const { parent, child } = await aFamily(server);
    await server.client.cancelRun(child);
    await server.until(parent, { status: 'failed' });
    return { failed: parent, failedChild: child };
  },
  async (server) => ({ atPlan: (await server.until(await server.launch('Plan it', MANUAL), { gate: 'plan' })).id }),
  async (server) => {
    const trustMode = { ...BY_ITSELF, implementation: 'manual' as const };
    const run = await server.launch('Show it', { trustMode });
    return { atResult: (await server.until(run, { gate: 'implementation' })).id };
  },
  async (server) => {
    const run = await server.launch('Break it', { trustMode: { ...BY_ITSELF, fixes: 'manual' } });
    return { atFix: (await server.until(run, { gate: 'fix' })).id };
  },
  async (server) => ({ asked: (await server.until(await server.launch('Ask me'), { gate: 'clarification' })).id }),
  async (server) => {
    const run = await server.launch('Ask me', { maxClarifications: 0, trustMode: BY_ITSELF });
    return { escalated: (await server.until(run, { gate: 'escalation' })).id };
  },
  async (server) => ({
    unreadable: (await server.until(await server.launch('Draw badly', MANUAL), { gate: 'invalid_plan' })).id,
  }),
  async (server) => {
    const run = await server.launch('Pay for it', { maxToolCalls: 1 });
    return { paused: (await server.until(run, { gate: 'pause' })).id };
  },
  (server) => aFamily(server),
  async (server) => {
    const run = await server.until(await server.launch('Ask me too'), { gate: 'clarification' });
    const logo = await server.client.upload('logo.svg', new TextEncoder().encode('<svg/>'));
    await server.decide(run, { decision: 'answer', response: [logo.id] });
    return { answered: await completed(server, run) };
  },
];
/** Of each fate. */
const COPIES = 3;

/** A result that raises a concern is shown, and again where the base has moved meanwhile. */
async function completed(server: Fixture, { id }: RunView): Promise<string> {
  while ((await server.rests(id)).gate?.kind === 'implementation') await server.approveResult(id);
  return (await server.until(id, { status: 'completed' })).id;
}

async function aFamily({
  client,
  project,
  rests,
}: Fixture): Promise<{ readonly parent: string; readonly child: string }> {
  const { id: parent } = await client.launchRun({ projectId: project.id, workflow: 'phases', request: 'In phases' });
  const children = async (): Promise<readonly RunView[]> => (await client.listRuns({ parentId: parent })).items;
  await expect.poll(async () => (await children()).length).toBe(1);
  const [child] = await children();
  return { parent, child: (await rests(child?.id ?? '')).id };
}

interface LostServer {
  readonly server: Fixture;
  /** The first copy of each fate. */
  readonly runs: RunIds;
  /** Ids of the runs that were under way, or had children that were. */
  readonly underWay: readonly string[];
  /** Ids of a parent that waits for its child run, and of that child run. */
  readonly family: readonly string[];
  readonly before: Stored;
}

/** A server with fifty runs of all fates, which has stopped; its remote alone is left. */
async function aLostServer(): Promise<LostServer> {
  const server = await aServer({ script: script(true), env: { ...ENV, MAX_CONCURRENT_RUNS_PER_USER: '12' } });
  const { client, project } = server;
  const families: RunIds[] = [];
  for (let copy = 0; copy < COPIES; copy += 1)
    families.push(Object.assign({}, ...(await Promise.all(FATES.map((fate) => fate(server, copy))))) as RunIds);
  const { runs: variants } = await client.explore({
    projectId: project.id,
    variants: ['One', 'Two', 'Three', 'Four'].map((request) => ({ request, config: MANUAL })),
  });
  for (const { id } of variants) await server.until(id, { gate: 'plan' });
  const slow = await server.launch('Slowly');
  await server.said(slow.id, 'Wait.');
  await server.orchestrator.settled();
  await server.close();
  const runs = { ...families[0], slow: slow.id, variant: variants[0]?.id ?? '' };
  const underWay = [slow.id, ...families.flatMap(({ parent = '' }) => [parent])];
  const { parent: other = '', child = '' } = families[1] ?? {};
  return { server, runs, underWay, family: [other, child], before: await storedIn(server.dataFolder) };
}

const rebuilt = (folder: string, from: string, env: Readonly<Record<string, string>> = ENV): Promise<Rebuilt> =>
  rebuiltBy(folder, ['--from', from], { script: script(false), env });
const started = (folder: string) => startedOn(folder, { script: script(false), env: ENV });

/** Approves a result that raises a concern, such as that others brought the same. */
async function completes(server: StartedServer, runId: string): Promise<void> {
  const isShown = ({ gate }: RunView): boolean => gate?.kind === 'implementation';
  await until(server, runId, (view) => isShown(view) || FINAL_STATUSES.has(view.status));
  if (isShown(await server.client.getRun(runId))) await approve(server, runId);
  await until(server, runId, hasCompleted);
}

const hasCompleted = ({ status }: RunView): boolean => status === 'completed';

describe('a rebuild from a plain clone', { timeout: 480_000 }, () => {
  it('brings back fifty runs with their histories and hashes, and those in flight go on when a person says so', async () => {
    const { server, runs, underWay, family, before } = await aLostServer();
    expect(Object.keys(before)).toHaveLength(50);
    const clone = await aClone(server);
    // Database and mirrors.
    await rm(server.dataFolder, { recursive: true });
    const folder = await aFolder(server);
    const { code, out, err } = await rebuilt(folder, clone);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`1 project, 50 runs: ${6 * COPIES} ended`);

    const after = await storedIn(path.join(folder, 'data'));
    // In the order in which they are listed; which of two of the same millisecond was first is in no record.
    const createdIn = (stored: Stored) => Object.values(stored).map(({ view }) => view.createdAt);
    expect(createdIn(after)).toEqual(createdIn(before));
    expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
    for (const [id, { view, events, chain }] of Object.entries(before)) {
      const again = after[id];
      expect(again?.events.slice(0, events.length)).toEqual(events);
      expect(again?.chain.slice(0, chain.length)).toEqual(chain);
      const added = again?.events.slice(events.length).map(({ type, payload }) => [type, payload['reason']]);
      const hasEnded = FINAL_STATUSES.has(view.status);
      expect(added).toEqual(hasEnded ? [] : [['RUN_PAUSED', 'rebuilt']]);
      if (hasEnded) expect(again?.view).toEqual(view);
    }

    const whole = await started(folder);
    const { client } = whole;
    const [project] = (await client.listProjects({})).items;
    expect(project).toMatchObject({ ...server.project, createdAt: expect.any(String) });
    expect((await client.listRuns({ parentId: runs['parent'] ?? '' })).items.map(({ id }) => id)).toEqual([
      runs['child'],
    ]);
    expect((await client.getRun(runs['variant'] ?? '')).explorationId).toBe(
      before[runs['variant'] ?? '']?.view.explorationId,
    );
    expect((await client.listClarifications('pending')).map(({ workflowRunId }) => workflowRunId)).toContain(
      runs['asked'],
    );
    expect(
      await readFile(path.join(folder, 'data', 'uploads', await uploadOf(before, runs['answered'] ?? '')), 'utf8'),
    ).toBe('<svg/>');

    for (const { id, gate } of (await client.listRuns({ open: true, limit: 200 })).items) {
      expect([gate?.kind, gate?.reason, gate?.decisions]).toEqual(['pause', 'rebuilt', ['retry']]);
      if (family.includes(id)) continue;
      await client.decideOpenGate(id, { decision: 'retry' });
    }
    // A person who cancels a parent has decided over its child runs, too.
    await client.cancelRun(family[0] ?? '');
    await until(whole, family[1] ?? '', ({ status }) => status === 'cancelled');
    // Each waits again where it did, and shows the same.
    for (const [id, { view }] of Object.entries(before)) {
      if (FINAL_STATUSES.has(view.status) || [...underWay, ...family].includes(id)) continue;
      await until(whole, id, ({ gate }) => gate?.kind === view.gate?.kind);
      const { id: _id, openedAt: _at, ...shown } = (await client.getRun(id)).gate ?? {};
      const { id: _before, openedAt: _then, ...wasShown } = view.gate ?? {};
      expect(shown).toEqual(wasShown);
    }
    await until(whole, runs['parent'] ?? '', ({ status }) => status === 'awaiting_children');
    await approve(whole, runs['atPlan'] ?? '');
    await approve(whole, runs['atResult'] ?? '');
    const logo = await client.upload('logo.svg', new TextEncoder().encode('<svg/>'));
    await client.decideOpenGate(runs['asked'] ?? '', { decision: 'answer', response: [logo.id] });
    await approve(whole, runs['child'] ?? '');
    for (const name of ['atPlan', 'atResult', 'asked', 'slow', 'child', 'parent'])
      await completes(whole, runs[name] ?? '');
    expect((await client.getRun(runs['paused'] ?? '')).gate?.reason).toBe('budget');
    const notices = (await client.listProjects({})).items.flatMap((each) => each.notices ?? []);
    expect(notices).toEqual([]);
  });
});

/** Two runs at their plan gates, whose server is gone. */
async function twoLostRuns() {
  const server = await aServer({ script: script(false) });
  const manual = { trustMode: { planning: 'manual' as const } };
  const one = await server.until(await server.launch('Plan one', manual), { gate: 'plan' });
  const two = await server.until(await server.launch('Plan two', manual), { gate: 'plan' });
  await server.orchestrator.settled();
  await server.close();
  await rm(server.dataFolder, { recursive: true });
  return { server, one: one.id, two: two.id };
}

const lines = (change: (all: readonly string[]) => readonly string[]) => (text: string) =>
  `${change(text.trimEnd().split('\n')).join('\n')}\n`;
const inContext = (change: object) => (text: string) => JSON.stringify({ ...JSON.parse(text), ...change });

describe('a record that cannot be trusted', () => {
  it('leaves out the run that it damages by name, and brings back the others', async () => {
    const { server, one, two } = await twoLostRuns();
    const damages: readonly (readonly [Record<string, (text: string) => string>, RegExp])[] = [
      [
        { 'events.jsonl': lines((all) => all.slice(0, 3)) },
        /line 3 of its events\.jsonl ends within a step|does not end where/,
      ],
      [
        { 'events.jsonl': lines((all) => all.slice(0, -1)) },
        /ends within a step|does not end where its context\.json says/,
      ],
      [{ 'events.jsonl': (text) => text.slice(0, -300) }, /line \d+ of its events\.jsonl is cut off/],
      [
        { 'events.jsonl': (text) => text.replace('Plan one', 'Plan won') },
        /line 1 of its events\.jsonl does not fit the hash chain: the payload of event 1 is not what was stored/,
      ],
      [
        { 'events.jsonl': lines((all) => [all[0] ?? '', ...all.slice(2)]) },
        /line 2 of its events\.jsonl is event 3, where event 2 belongs/,
      ],
      [
        {
          'events.jsonl': (text) =>
            text.replace('Plan one', 'Plan won').replace('"payloadHash"', '"withheld":"redacted","payloadHash"'),
        },
        /a line was changed/,
      ],
      [
        { 'context.json': inContext({ format: 99 }) },
        /its record has format 99, and this program reads format 2\. A newer/,
      ],
      [
        { 'context.json': inContext({ format: 1 }) },
        /its record has format 1, .*last commit of this program .* 3b643746/,
      ],
      [{ 'context.json': inContext({ format: undefined }) }, /its record has no format number, .* 3b643746/],
      [{ 'context.json': () => 'no JSON' }, /context\.json is not JSON/],
      [{ 'context.json': inContext({ tip: {} }) }, /context\.json names no last event/],
    ];
    for (const [change, message] of damages) {
      const folder = await aFolder(server);
      const { code, out, err } = await rebuilt(folder, await aChangedCopy(server, one, change), {});
      expect(err).toMatch(new RegExp(`run ${one} was left out: .*(?:${message.source})`));
      expect([code, Object.keys(await storedIn(path.join(folder, 'data')))]).toEqual([1, [two]]);
      expect(err).toContain('git log autonomous/record -- .autonomous/runs/RUN');
      expect(out).toContain('1 run: 0 ended, 1 paused, 0 quarantined; 1 left out');
    }
  });

  it('whose project has another format leaves out the project and its runs by name', async () => {
    const { server, one, two } = await twoLostRuns();
    const copy = await aForgedCopy(server, async (folder) => {
      const [name = ''] = await readdir(path.join(folder, 'projects'));
      const file = path.join(folder, 'projects', name);
      await writeFile(file, inContext({ format: 1 })(await readFile(file, 'utf8')));
    });
    const { code, out, err } = await rebuilt(await aFolder(server), copy, {});
    expect(err).toMatch(
      /project \S+ was left out: its record has format 1, and this program reads format 2\. .* 3b643746/,
    );
    for (const id of [one, two])
      expect(err).toMatch(new RegExp(`run ${id} was left out: its project \\S+ is not described`));
    expect([code, out]).toEqual([1, expect.stringContaining('0 projects, 0 runs')]);
  });

  it('or a place that is none is refused with the way out, and nothing is made', async () => {
    const { server } = await twoLostRuns();
    const folder = await aFolder(server);
    const refusal = async (from: string): Promise<string> => {
      const { code, err } = await rebuilt(folder, from, {});
      expect(code).toBe(1);
      return err;
    };
    expect(await refusal(path.join(folder, 'nothing'))).toMatch(/There is no folder .*nothing/);
    expect(await refusal(folder)).toMatch(/is not a git repository\. Give the folder of a clone/);
    const shallow = path.join(folder, 'shallow');
    await git('clone', '--quiet', '--depth', '1', `file://${server.remote}`, shallow);
    expect(await refusal(shallow)).toMatch(/is a shallow clone.*fetch --unshallow/);
    const single = path.join(folder, 'single');
    await git('clone', '--quiet', '--single-branch', server.remote, single);
    expect(await refusal(single)).toMatch(/has no branch autonomous\/record.*clone with all of its branches/);
    expect((await rebuilt(folder, server.remote, {})).code).toBe(0);
    expect(await refusal(server.remote)).toMatch(/The database .*orchestrator\.db is not empty.*--data/);
  });
});

async function uploadOf(stored: Stored, runId: string): Promise<string> {
  const answer = stored[runId]?.events.find(({ type }) => type === 'CLARIFICATION_ANSWERED')?.payload['uploads'];
  return (answer as readonly { readonly id: string }[])[0]?.id ?? '';
}
