/**
 * One try: a real server with the default configuration, a `build` run on a throw-away clone, and a person who approves what
 * {@link decides} says. Everything is removed afterwards.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FINAL_STATUSES, type Progress, type RunView, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { explainError } from '../src/cli/exit.ts';
import { describeEvent } from '../src/cli/follow/timeline.ts';
import { type RunningOrchestrator, startOrchestrator } from '../src/compose.ts';
import { readServerConfig, SERVER_VARIABLES } from '../src/config.ts';
import { type Seen, Spectator } from './spectator.ts';
import { changedPaths, fileAt, makeRemote } from './place.ts';
import type { RealRepository } from './repositories.ts';
import { type PlayedAgent, startAgent } from './agent.ts';
import { scriptOf, writesOf } from './script.ts';

/**
 * - `completed`: the run completed, its checks passed on the base commit and on the result, and its branch has the change and
 *   nothing besides.
 * - `refused`: the server said what is missing before any model was called.
 * - `failed`: anything else, such as a gate that a person has to decide, a pause, or the end of the time.
 */
export type Outcome = 'completed' | 'refused' | 'failed';

export interface Try {
  readonly repository: RealRepository;
  readonly outcome: Outcome;
  /** Why it did not complete; empty for `completed`. */
  readonly reason: string;
  /** Outcome of the checks on the base commit; empty where there was none. */
  readonly baseline: string;
  /** Seconds; `null`: the step did not run. */
  readonly setupS: number | null;
  /** Seconds of the checks of the result as it is; `null`: they did not run. */
  readonly testsS: number | null;
  readonly totalS: number;
  /** End of the output of the checks that failed last, here or on the base commit; empty where none failed. */
  readonly output: string;
  readonly seen: Seen;
}

export interface TryOptions {
  /** Folder with the clones. */
  readonly from: string;
  /** Variables of the server, over those of the repository. */
  readonly variables: Readonly<Record<string, string>>;
  /** An external agent of `agents-e2e` that implements, and is killed once; `null`: the scripted model implements. */
  readonly agent: string | null;
  readonly limitMs: number;
  /** Ends the try early; what it made is removed all the same. */
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
}

const LOOK_AGAIN_MS = 500;
const OUTPUT_LENGTH = 4_000;

/** @throws {InvalidRequest} if the clone or its commit is not there, or a variable is wrong */
export async function tryRepository(repository: RealRepository, options: TryOptions): Promise<Try> {
  const folder = await mkdtemp(path.join(tmpdir(), 'real-repositories-'));
  let server: RunningOrchestrator | undefined;
  let agent: PlayedAgent | null = null;
  try {
    const { remote, commit } = await makeRemote(repository, options.from, folder);
    const script = path.join(folder, 'script.json');
    const writes = await writesOf(repository, (file) => fileAt(remote, commit, file));
    await writeFile(script, JSON.stringify(scriptOf(repository, writes)));
    if (options.agent !== null) agent = await startAgent(options.agent, folder, writes);
    const config = readServerConfig({
      ...withoutVariables(process.env),
      AUTONOMOUS_DATA: path.join(folder, 'data'),
      AUTONOMOUS_SCRIPT: script,
      ORCHESTRATOR_PORT: '0',
      ...repository.variables,
      ...agent?.variables,
      ...options.variables,
    });
    server = await startOrchestrator({
      config,
      log: pino({ level: 'error' }, pino.destination({ dest: 2, sync: true })),
    });
    const client = createClient({ baseUrl: server.server.url, token: server.token });
    return await follow(client, repository, { ...options, remote, commit, played: agent });
  } finally {
    await server?.stop();
    await agent?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

interface Place {
  readonly remote: string;
  readonly commit: string;
  readonly played: PlayedAgent | null;
}

async function follow(client: Client, repository: RealRepository, options: TryOptions & Place): Promise<Try> {
  const startedAt = performance.now();
  const spectator = new Spectator();
  const unfollow = new AbortController();
  const stopped = AbortSignal.any([options.signal, AbortSignal.timeout(options.limitMs)]);
  const result = (view: RunView | null, outcome: Outcome, reason: string): Try => ({
    repository,
    outcome,
    reason,
    baseline: view === null ? '' : baselineText(view),
    setupS: spectator.setupS(view?.baseline?.command.command ?? view?.config.commands.test ?? ''),
    testsS: seconds(view?.evidence.findLast(({ mode }) => mode === 'as_is')?.commands[0]?.durationMs),
    totalS: Math.round((performance.now() - startedAt) / 1_000),
    output: outputOf(view),
    seen: spectator.seen(),
  });

  const { played } = options;
  const routing = played === null ? {} : { config: { modelRouting: { implementer: played.model } } };
  let run: RunView;
  try {
    const project = await client.createProject({ name: repository.name, repository: options.remote });
    run = await client.launchRun({ projectId: project.id, request: repository.request, ...routing });
  } catch (error) {
    return result(null, 'refused', explainError(error).message);
  }
  const onEvent = (event: WorkflowEvent): void => {
    const line = describeEvent(event);
    spectator.event(event, line?.text ?? null);
    if (line !== null && line.tone !== 'quiet') options.tell(line.text);
  };
  const onProgress = (progress: Progress): void => {
    spectator.progress(progress);
    if (progress.kind === 'command') options.tell(progress.text);
  };
  client
    .followFeed({ after: 0, runIds: [run.id], signal: unfollow.signal, onEvent, onProgress })
    .catch((error: unknown) => options.tell(`The feed ended: ${String(error)}`));
  try {
    const end = await untilItStops(client, run.id, stopped);
    // The feed brings the last events a moment after the view has them.
    await until(() => spectator.lastSequence >= end.view.lastSequence, stopped);
    if (end.isOver && end.view.status === 'completed') {
      const fault = agentFaultOf(played, spectator) ?? (await faultOf(end.view, repository, options));
      return result(end.view, fault === null ? 'completed' : 'failed', fault ?? '');
    }
    const reason = stopped.aborted
      ? `${options.signal.aborted ? 'interrupted' : `not done after ${Math.round(options.limitMs / 60_000)} minutes`}, in ${end.view.currentStage ?? end.view.status}`
      : reasonOf(end.view);
    return result(end.view, !stopped.aborted && !spectator.calledModel ? 'refused' : 'failed', reason);
  } finally {
    unfollow.abort();
    await client.cancelRun(run.id, 'The try is over').catch(() => {});
  }
}

/** Makes the decisions of {@link decides}; stops at everything else that a person would have to decide. */
async function untilItStops(
  client: Client,
  runId: string,
  stopped: AbortSignal,
): Promise<{ readonly view: RunView; readonly isOver: boolean }> {
  while (true) {
    const view = await client.getRun(runId);
    if (FINAL_STATUSES.has(view.status)) return { view, isOver: true };
    if (stopped.aborted) return { view, isOver: false };
    const next = decides(view);
    if (next === 'stop') return { view, isOver: false };
    if (next === 'approve' && view.gate !== null)
      await client.decideGate(view.gate.id, { decision: 'approve', ...shownAt(view.gate) });
    await sleep(LOOK_AGAIN_MS);
  }
}

/**
 * Approves a plan whose baseline passed, and a result whose only concern is that its runner cannot be counted, when it could
 * not be counted on the base commit either.
 */
function decides({ gate, baseline, evidence }: RunView): 'approve' | 'wait' | 'stop' {
  if (gate === null) return 'wait';
  if (!gate.decisions.includes('approve')) return 'stop';
  if (evidence.length === 0) {
    if (baseline === undefined) return 'wait';
    return baseline.passed ? 'approve' : 'stop';
  }
  const isUncounted = baseline?.tests === undefined && gate.concerns?.every(({ kind }) => kind === 'tests_unknown');
  return isUncounted === true && evidence.every(({ passed }) => passed) ? 'approve' : 'stop';
}

async function until(holds: () => boolean, stopped: AbortSignal): Promise<void> {
  while (!holds() && !stopped.aborted) await sleep(LOOK_AGAIN_MS / 10);
}

function agentFaultOf(played: PlayedAgent | null, { hasResumed }: Spectator): string | null {
  if (played === null) return null;
  if (played.killed() === 0) return 'completed, and its agent was not killed';
  return hasResumed ? null : 'completed, and no process of the agent took its session up';
}

/** Fault of a completed run; `null` when it has none. */
async function faultOf(view: RunView, { change }: RealRepository, { remote, commit }: Place): Promise<string | null> {
  if (view.baseline?.passed !== true) return `completed without a baseline that passed: ${baselineText(view)}`;
  for (const mode of ['as_is', 'base_tests'] as const) {
    const evidence = view.evidence.findLast((candidate) => candidate.mode === mode);
    if (evidence?.passed !== true) return `completed without evidence (${mode})`;
  }
  const counted = view.evidence.findLast(({ mode }) => mode === 'as_is')?.tests;
  const before = view.baseline.tests;
  if (before !== undefined && (counted?.executed ?? 0) <= before.executed) return 'the new test was not counted';
  const expected = change.map(({ path: file }) => file).toSorted();
  const found = (await changedPaths(remote, commit, view.branch)).toSorted();
  if (found.join('\n') !== expected.join('\n'))
    return `the branch changes ${found.join(', ')}, not ${expected.join(', ')}`;
  for (const { path: file, text } of change) {
    if (!((await fileAt(remote, view.branch, file)) ?? '').endsWith(text)) return `${file} is not what was written`;
  }
  return null;
}

function outputOf(view: RunView | null): string {
  const commands = [
    ...(view?.baseline === undefined ? [] : [view.baseline.command]),
    ...(view?.evidence ?? []).flatMap((evidence) => evidence.commands),
  ];
  return commands.findLast(({ exitCode }) => exitCode !== 0)?.output.slice(-OUTPUT_LENGTH) ?? '';
}

function baselineText({ baseline }: RunView): string {
  if (baseline === undefined) return '';
  if (baseline.failure !== undefined) return baseline.failure.split('\n')[0] ?? '';
  if (baseline.missingTool !== undefined) return `${baseline.missingTool} is missing`;
  const { tests } = baseline;
  const count = tests === undefined ? 'not counted' : `${tests.executed} tests, ${tests.failed} failed`;
  return `${baseline.passed ? 'passed' : 'red'}, ${count}`;
}

function reasonOf({ status, gate, baseline, evidence }: RunView): string {
  if (gate === null) return status;
  const about = baseline?.passed === false && evidence.length === 0 ? 'checks do not pass on the base commit; ' : '';
  return `${about}${gate.kind}${gate.reason === undefined ? '' : ` (${gate.reason})`}: ${gate.question?.question ?? gate.summary}`;
}

function seconds(milliseconds: number | undefined): number | null {
  return milliseconds === undefined ? null : Math.round(milliseconds / 100) / 10;
}

/** The environment as it is on this machine, without any of the server's own settings. */
function withoutVariables(env: NodeJS.ProcessEnv): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !Object.hasOwn(SERVER_VARIABLES, name)));
}
