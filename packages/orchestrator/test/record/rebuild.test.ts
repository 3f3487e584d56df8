/**
 * A data folder is lost, mirrors and database alike: a plain clone of the remote brings all runs back, and they go on. What
 * somebody damaged in it is left out by name.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FINAL_STATUSES, type RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
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
  accept,
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
      when('Merge it', writes({ 'merged.sh': 'echo\n' })),
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
type Fate = (server: Fixture) => Promise<RunIds>;

const MANUAL = { trustMode: { planning: 'manual' as const } };
const BY_ITSELF = { planning: 'auto' as const };
/** All that a run can come to, in seventeen runs. */
const FATES: readonly Fate[] = [
  async (server) => {
    const run = await server.launch('Merge it', { git: { autoMerge: true }, trustMode: BY_ITSELF });
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
    const { parent, child } = await aFamily(server);
    return { otherParent: parent, otherChild: child };
  },
  async (server) => {
    const run = await server.until(await server.launch('Ask me too'), { gate: 'clarification' });
    const logo = await server.client.upload('logo.svg', new TextEncoder().encode('<svg/>'));
    await server.decide(run, { decision: 'answer', response: [logo.id] });
    return { answered: await completed(server, run) };
  },
];
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
  readonly runs: RunIds;
  readonly before: Stored;
}

/** A server with runs of all fates, which has stopped; its remote alone is left, without database and mirrors. */
async function aLostServer(): Promise<LostServer> {
  const server = await aServer({ script: script(true), env: { ...ENV, MAX_CONCURRENT_RUNS_PER_USER: '12' } });
  const { client, project } = server;
  const runs = Object.assign({}, ...(await Promise.all(FATES.map((fate) => fate(server))))) as RunIds;
  const { runs: variants } = await client.explore({
    projectId: project.id,
    variants: ['One', 'Two'].map((request) => ({ request, config: MANUAL })),
  });
  for (const { id } of variants) await server.until(id, { gate: 'plan' });
  const slow = await server.launch('Slowly');
  await server.said(slow.id, 'Wait.');
  await server.orchestrator.settled();
  await server.close();
  const before = await storedIn(server.dataFolder);
  await rm(server.dataFolder, { recursive: true });
  return { server, runs: { ...runs, slow: slow.id, variant: variants[0]?.id ?? '' }, before };
}

const rebuilt = (folder: string, from: string): Promise<Rebuilt> =>
  rebuiltBy(folder, ['--from', from], { script: script(false), env: ENV });
const started = (folder: string) => startedOn(folder, { script: script(false), env: ENV });

/** Approves a result that raises a concern, such as that others brought the same, and accepts checks that stand in the record alone. */
async function completes(server: StartedServer, runId: string): Promise<void> {
  const asks = ({ gate }: RunView): boolean => gate?.kind === 'implementation' || gate?.reason === 'review_needed';
  for (;;) {
    await until(server, runId, (view) => asks(view) || FINAL_STATUSES.has(view.status));
    const view = await server.client.getRun(runId);
    if (!asks(view)) break;
    await (view.gate?.kind === 'implementation' ? approve(server, runId) : accept(server, runId, 'I have run them'));
  }
  await until(server, runId, hasCompleted);
}

const hasCompleted = ({ status }: RunView): boolean => status === 'completed';

const lines = (change: (all: readonly string[]) => readonly string[]) => (text: string) =>
  `${change(text.trimEnd().split('\n')).join('\n')}\n`;
const inContext = (change: object) => (text: string) => JSON.stringify({ ...JSON.parse(text), ...change });

type Change = Readonly<Record<string, (text: string) => string>>;

/** Changes of records by hand, each with the run that it damages and the message that a rebuild gives. */
const DAMAGES: Readonly<Record<string, readonly [change: Change, says: RegExp]>> = {
  merged: [
    { 'events.jsonl': lines((all) => all.slice(0, 3)) },
    /line 3 of its events\.jsonl ends within a step|does not end where/,
  ],
  published: [
    { 'events.jsonl': lines((all) => all.slice(0, -1)) },
    /ends within a step|does not end where its context\.json says/,
  ],
  cancelled: [{ 'events.jsonl': (text) => text.slice(0, -300) }, /line \d+ of its events\.jsonl is cut off/],
  atPlan: [
    { 'events.jsonl': (text) => text.replace('Plan it', 'Plan on') },
    /line 1 of its events\.jsonl does not fit the hash chain: the payload of event 1 is not what was stored/,
  ],
  atResult: [
    { 'events.jsonl': lines((all) => [all[0] ?? '', ...all.slice(2)]) },
    /line 2 of its events\.jsonl is event 3, where event 2 belongs/,
  ],
  atFix: [
    {
      'events.jsonl': (text) =>
        text.replace('Break it', 'Break at').replace('"payloadHash"', '"withheld":"redacted","payloadHash"'),
    },
    /a line was changed/,
  ],
  asked: [
    { 'context.json': inContext({ format: 99 }) },
    /its record has format 99, and this program reads format 2\. A newer/,
  ],
  escalated: [
    { 'context.json': inContext({ format: 1 }) },
    /its record has format 1, .*last commit of this program .* 3b643746/,
  ],
  unreadable: [{ 'context.json': inContext({ format: undefined }) }, /its record has no format number, .* 3b643746/],
  paused: [{ 'context.json': () => 'no JSON' }, /context\.json is not JSON/],
  answered: [{ 'context.json': inContext({ tip: {} }) }, /context\.json names no last event/],
};

async function expectDamagedRunsLeftOut({ server, runs, before }: LostServer): Promise<void> {
  const damaged = Object.entries(DAMAGES).map(([name, how]) => [runs[name] ?? '', ...how] as const);
  const folder = await aFolder(server);
  const changes = Object.fromEntries(damaged.map(([id, change]) => [id, change]));
  const { code, out, err } = await rebuilt(folder, await aChangedCopy(server, changes));
  for (const [id, , says] of damaged) expect(err).toMatch(new RegExp(`run ${id} was left out: .*(?:${says.source})`));
  const ids = new Set(damaged.map(([id]) => id));
  const others = Object.keys(before).filter((id) => !ids.has(id));
  expect([code, Object.keys(await storedIn(path.join(folder, 'data'))).toSorted()]).toEqual([1, others.toSorted()]);
  expect(err).toContain('git log autonomous/record -- .autonomous/runs/RUN');
  expect(out).toContain(
    `${others.length} runs: 2 ended, ${others.length - 2} paused, 0 quarantined; ${ids.size} left out`,
  );
}

/** A project of another format is left out with its runs, by name. */
async function expectForeignFormatLeftOut({ server, before }: LostServer): Promise<void> {
  const copy = await aForgedCopy(server, async (folder) => {
    const [name = ''] = await readdir(path.join(folder, 'projects'));
    const file = path.join(folder, 'projects', name);
    await writeFile(file, inContext({ format: 1 })(await readFile(file, 'utf8')));
  });
  const { code, out, err } = await rebuilt(await aFolder(server), copy);
  expect(err).toMatch(
    /project \S+ was left out: its record has format 1, and this program reads format 2\. .* 3b643746/,
  );
  for (const id of Object.keys(before))
    expect(err).toMatch(new RegExp(`run ${id} was left out: its project \\S+ is not described`));
  expect([code, out]).toEqual([1, expect.stringContaining('0 projects, 0 runs')]);
}

/** A place that is none is refused with the way out, and nothing is made. */
async function expectNoPlaceRefused({ server }: LostServer): Promise<void> {
  const folder = await aFolder(server);
  const refusal = async (from: string): Promise<string> => {
    const { code, err } = await rebuilt(folder, from);
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
  expect((await rebuilt(folder, server.remote)).code).toBe(0);
  expect(await refusal(server.remote)).toMatch(/The database .*orchestrator\.db is not empty.*--data/);
}

it(
  'a plain clone brings back all runs with their histories and hashes, and those in flight go on when a person says so',
  { timeout: 480_000 },
  async () => {
    const lost = await aLostServer();
    const { server, runs, before } = lost;
    await expectDamagedRunsLeftOut(lost);
    await expectForeignFormatLeftOut(lost);
    await expectNoPlaceRefused(lost);

    const underWay = [runs['slow'], runs['parent']];
    // A parent that waits for its child run, and that child run.
    const family = [runs['otherParent'] ?? '', runs['otherChild'] ?? ''];
    const folder = await aFolder(server);
    const { code, out, err } = await rebuilt(folder, await aClone(server));
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`1 project, ${Object.keys(before).length} runs: 6 ended`);

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
      // A parent is shown with what its child run changes, which comes back after it.
      const pauses = Object.values(before).some((other) => other.view.parent?.runId === id) ? 2 : 1;
      expect(added).toEqual(
        hasEnded ? [['NOTICE', undefined]] : Array.from({ length: pauses }, () => ['RUN_PAUSED', 'rebuilt']),
      );
      // Nothing else of one that has ended is told in another way than its record tells it.
      const { baseline: _, lastSequence, updatedAt: __, notices, evidence, ...rest } = view;
      const rebuiltUpTo = lastSequence + (added?.length ?? 0);
      if (hasEnded)
        expect(again?.view).toMatchObject({
          ...rest,
          rebuiltUpTo,
          notices: [...notices, expect.stringContaining('rebuilt from its record')],
        });
      if (hasEnded)
        expect(again?.view.evidence).toEqual(evidence.map((each) => ({ ...each, rebuiltAt: expect.any(String) })));
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
    const atResult = runs['atResult'] ?? '';
    await until(whole, atResult, ({ gate }) => gate?.reason === 'review_needed');
    expect((await client.getRun(atResult)).gate?.concerns?.map(({ title }) => title)).toEqual([
      'This server has not run the checks of the result',
    ]);
    for (const name of ['atPlan', 'atResult', 'asked', 'slow', 'child', 'parent'])
      await completes(whole, runs[name] ?? '');
    expect((await client.getRun(runs['paused'] ?? '')).gate?.reason).toBe('budget');
    const notices = async () => (await client.listProjects({})).items.flatMap((each) => each.notices ?? []);
    // Until the record of the last steps is on the remote, it is said to lag behind.
    await expect.poll(notices, { timeout: 120_000 }).toEqual([]);
  },
);

async function uploadOf(stored: Stored, runId: string): Promise<string> {
  const answer = stored[runId]?.events.find(({ type }) => type === 'CLARIFICATION_ANSWERED')?.payload['uploads'];
  return (answer as readonly { readonly id: string }[])[0]?.id ?? '';
}
