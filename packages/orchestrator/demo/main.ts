/**
 * The main job from one command: a real server drives a real run on a real repository, and tells what happens as it happens.
 * The models play a script; everything else is what a person gets with models of their own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { FINAL_STATUSES, type Gate, type RunView, shownAt, type WorkflowEvent } from '@autonomous/shared';
import { type Client, createClient, workflowOf } from '@autonomous/shared/client';
import { pino } from 'pino';
import { workflows } from '../src/workflows/index.ts';
import { knownRolesOf } from '../src/workflows/workflow.ts';
import { personAtTerminal } from '../src/cli/gates/dialog.ts';
import { exitCodeOf, explainError } from '../src/cli/exit.ts';
import { followFamily } from '../src/cli/follow/follow-family.ts';
import { followWatching } from '../src/cli/follow/follow-watching.ts';
import type { CliIo } from '../src/cli/io.ts';
import { startOrchestrator } from '../src/compose.ts';
import { readServerConfig } from '../src/config.ts';
import { startCommand } from '../src/server/start-command.ts';
import { parseScript } from '../src/models/script.ts';
import { createBubblewrapProvider } from '../src/sandboxes/bubblewrap/bubblewrap.ts';
import type { SandboxProvider } from '../src/sandboxes/sandbox.ts';
import { createUnsandboxedProvider } from '../src/sandboxes/unsandboxed.ts';
import { describeEvent, describeProgress, formatTimeline } from '../src/cli/follow/timeline.ts';
import { featureRows } from './feature-rows.ts';
import { type DemoForge, openDemoForge } from './forge.ts';
import { type DemoOptions, readOptions } from './options.ts';
import { phaseRows } from './phase-rows.ts';
import { type DemoWeb, openDemoWeb } from './research.ts';
import {
  addFiles,
  BUNDLED_PROJECT,
  type DemoPlace,
  DemoRefused,
  makePlace,
  makePlaceAt,
  removePlace,
  updateProject,
} from './place.ts';

const BUNDLED_SCRIPTS = {
  build: fileURLToPath(new URL('./login.script.yaml', import.meta.url)),
  'phased-plan': fileURLToPath(new URL('./notes-plan.script.yaml', import.meta.url)),
  backlog: fileURLToPath(new URL('./notes-backlog.script.yaml', import.meta.url)),
  'roadmap-item': fileURLToPath(new URL('./notes-roadmap.script.yaml', import.meta.url)),
  research: fileURLToPath(new URL('./notes-research.script.yaml', import.meta.url)),
  'research-and-plan': fileURLToPath(new URL('./notes-research.script.yaml', import.meta.url)),
  'full-auto': fileURLToPath(new URL('./notes-features.script.yaml', import.meta.url)),
};
/** Further roles of the demo with a plan. */
const PLAN_SCRIPT = fileURLToPath(new URL('./notes-plan-of-research.script.yaml', import.meta.url));
/** Subject of the heading's sentence. */
const SUBJECTS: Readonly<Record<DemoOptions['workflow'], string>> = {
  build: 'A build run',
  'phased-plan': 'A plan of four phases',
  backlog: 'A backlog of three items',
  'roadmap-item': 'An item of a roadmap',
  research: 'A research run of two rounds',
  'research-and-plan': 'A plan that rests on two rounds of research',
  'full-auto': 'A plan of four features, of which one fails and one depends on it,',
};
/** Further calls of the demo with a pull request. */
const REVIEW_SCRIPT = fileURLToPath(new URL('./review.script.yaml', import.meta.url));
const BUNDLED_BACKLOG = fileURLToPath(new URL('./backlog', import.meta.url));
const BUNDLED_ROADMAP = fileURLToPath(new URL('./roadmap', import.meta.url));
/** A plan that a research-and-plan run could have made. */
const PLAN_OF_FEATURES = fileURLToPath(new URL('./full-auto', import.meta.url));
const BUNDLED_PLAN = fileURLToPath(new URL('./notes-plan.md', import.meta.url));
/** Exit code of a demo that was stopped. */
const NOT_COMPLETED = 1;

type Tone = Parameters<typeof formatTimeline>[0]['tone'];

/** Events after which somebody has to act, or nothing more comes. */
const STOPS: ReadonlySet<string> = new Set([
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'RUN_PAUSED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_CANCELLED',
]);

const workingFolder = process.env['AUTONOMOUS_CWD'] ?? process.cwd();
const options = readOptions(process.argv.slice(2), workingFolder);
if ('exitCode' in options) process.exitCode = options.exitCode;
else process.exitCode = await demo(options).catch(report);

async function demo(options: DemoOptions): Promise<number> {
  const startedAt = performance.now();
  const script = options.script ?? BUNDLED_SCRIPTS[options.workflow];
  parseScript(await readScript(script), script, knownRolesOf(workflows, false));
  const place = await makePlace(options.out, options.project);
  if (options.workflow === 'backlog') await addFiles(place, BUNDLED_BACKLOG, 'A backlog with three items');
  if (options.workflow === 'roadmap-item') await addFiles(place, BUNDLED_ROADMAP, 'A roadmap with three items');
  if (options.workflow === 'full-auto') await addFiles(place, PLAN_OF_FEATURES, 'A plan for reading times');
  const forge = options.forge ? await openDemoForge(path.join(place.folder, 'github'), BUNDLED_PROJECT) : null;
  const isPlanned = options.workflow === 'research-and-plan';
  const web = options.workflow === 'research' || isPlanned ? await openDemoWeb() : null;
  try {
    return await runIn({
      place: forge === null ? place : await makePlaceAt(place, forge.remote),
      forge,
      web,
      script:
        (await web?.scriptIn(place.folder, script, isPlanned ? PLAN_SCRIPT : null)) ??
        (forge === null ? script : await withReview(script, place)),
      options,
      startedAt,
    });
  } catch (error) {
    // Nothing began: the mended command may use the same folder.
    if (error instanceof DemoRefused) await removePlace(place, options.out !== null);
    throw error;
  } finally {
    await forge?.close();
    await web?.close();
  }
}

interface Scene {
  readonly place: DemoPlace;
  /** `null`: a bare repository without pull requests. */
  readonly forge: DemoForge | null;
  /** `null`: nothing of the web is read. */
  readonly web: DemoWeb | null;
  /** Absolute path. */
  readonly script: string;
  readonly options: DemoOptions;
  /** By the clock of `performance`. */
  readonly startedAt: number;
}

async function runIn(scene: Scene): Promise<number> {
  const { place, forge, web, script, options, startedAt } = scene;
  if (options.keep) await buildDashboard();
  const log = pino({ level: 'error' }, pino.destination(2));
  const orchestrator = await startOrchestrator({
    config: readServerConfig({
      AUTONOMOUS_DATA: place.data,
      AUTONOMOUS_SCRIPT: script,
      ORCHESTRATOR_PORT: '0',
      ...forge?.env,
      ...web?.env,
    }),
    log,
    ...(await demoSandbox(options)),
  });
  const stop: { underWay?: Promise<never> } = {};
  const stopOnSignal = (): void => {
    // Work that the stop cuts off fails; those errors are expected.
    log.level = 'silent';
    stop.underWay = orchestrator.stop().then(() => process.exit(NOT_COMPLETED));
  };
  process.once('SIGINT', stopOnSignal);
  process.once('SIGTERM', stopOnSignal);
  try {
    const client = createClient({ baseUrl: orchestrator.server.url, token: orchestrator.token });
    if (options.keep) say(options, dashboardLine(orchestrator.server.createSignInLink()));
    say(options, heading(place, orchestrator.server.url, options));
    const launched = await launch(client, scene).catch((error: unknown) => {
      throw new DemoRefused(explainError(error).message);
    });
    if (options.attach) {
      say(options, `  address  ${orchestrator.server.url}\n  token    in ${path.join(place.data, 'token')}`);
      say(options, dashboardLine(orchestrator.server.createSignInLink()));
      await waitForSignal(options, place);
      return 0;
    }
    const run = await followed(client, launched, scene);
    await orchestrator.settled();
    if (run.status === 'completed') await updateProject(place);
    const text = (await forge?.writePullRequest()) ?? null;
    await summarize(client, run, place, orchestrator.server.url, options, text);
    const result = {
      run: run.id,
      status: run.status,
      branch: run.branch,
      repository: place.project,
      remote: place.remote,
      events: run.lastSequence,
      gates: run.gates.length,
      questions: run.clarifications.length,
      fixes: run.fixAttempts,
      ...(run.published?.pullRequest === undefined ? {} : { pullRequest: run.published.pullRequest.number }),
      ...(options.workflow === 'phased-plan' ? { phases: await childrenOf(client, run, 'phase') } : {}),
      ...(options.workflow === 'backlog' ? { items: await childrenOf(client, run, 'item') } : {}),
      ...(options.workflow === 'roadmap-item' ? { phases: phaseRows(await client.listEvents(run.id, 0, 1_000)) } : {}),
      ...(options.workflow === 'full-auto'
        ? { failures: run.failures ?? [], features: featureRows(await client.listEvents(run.id, 0, 1_000)) }
        : {}),
      durationMs: Math.round(performance.now() - startedAt),
    };
    if (options.keep) {
      say(options, dashboardLine(orchestrator.server.createSignInLink()));
      await waitForSignal(options, place);
    }
    if (options.json) console.log(JSON.stringify(result));
    return exitCodeOf(run);
  } catch (error) {
    await stop.underWay;
    throw error;
  } finally {
    process.removeListener('SIGINT', stopOnSignal);
    process.removeListener('SIGTERM', stopOnSignal);
    await orchestrator.stop();
  }
}

/**
 * The bundled project's code is ours, so that it alone may run where no sandbox can be had; it says so, here and on its
 * evidence. A project of the person's own never does.
 */
async function demoSandbox(options: DemoOptions): Promise<{ readonly sandboxes?: SandboxProvider }> {
  const isBundled = options.project === null && options.script === null;
  if (!isBundled) return {};
  const bubblewrap = createBubblewrapProvider();
  const availability = await bubblewrap.availability();
  if (availability.ok) return { sandboxes: bubblewrap };
  say(
    options,
    styleText(
      'yellow',
      `No sandbox: ${availability.reason}\n${availability.remedy}\nThe bundled demo goes on without one; runs of your own would wait.`,
    ),
  );
  return { sandboxes: createUnsandboxedProvider() };
}

async function launch(client: Client, { place, forge, options: { request, workflow } }: Scene): Promise<RunView> {
  const project = await client.createProject({ name: 'demo', repository: forge?.address ?? place.remote });
  if (workflow === 'backlog')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Work through ai/backlog.md',
      config: { git: { autoMerge: true } },
    });
  if (workflow === 'roadmap-item')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Carry out the item reading-time',
      input: { item: 'reading-time' },
      config: { git: { autoMerge: true } },
    });
  if (workflow === 'research')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Which reading time is to be shown beside a note?',
      input: { topic: 'Reading times', researchers: 2, analysts: 1, maxRounds: 2 },
      config: { git: { autoMerge: true } },
    });
  if (workflow === 'research-and-plan')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Show a reading time beside each note.',
      input: { topic: 'Reading times', researchers: 2, analysts: 1, researchRounds: 2 },
      config: { git: { autoMerge: true } },
    });
  if (workflow === 'full-auto')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Show a reading time beside each note.',
      input: { topic: 'Reading times', plan: 'docs/research-reading-times' },
      // Each attempt at the feature that fails ends with its first red checks.
      config: { maxFixAttempts: 0 },
    });
  if (workflow === 'phased-plan')
    return client.launchRun({
      projectId: project.id,
      workflow,
      request: 'Carry out plans/notes-plan.md',
      input: { planPath: 'plans/notes-plan.md', plan: await readFile(BUNDLED_PLAN, 'utf8') },
      config: { git: { autoMerge: true } },
    });
  return client.launchRun({
    projectId: project.id,
    request,
    config: { trustMode: { planning: 'manual' }, git: forge === null ? { autoMerge: true } : { createPR: true } },
  });
}

/** @returns path of a script with the calls of both */
async function withReview(script: string, place: DemoPlace): Promise<string> {
  const [first, then] = await Promise.all(
    [script, REVIEW_SCRIPT].map(async (file) =>
      parseScript(await readScript(file), file, knownRolesOf(workflows, false)),
    ),
  );
  const roles: Record<string, unknown> = {};
  for (const [role, calls] of Object.entries(first?.roles ?? {}))
    roles[role] = [...calls, ...(then?.roles[role] ?? [])];
  const file = path.join(place.folder, 'script.json');
  await writeFile(file, JSON.stringify({ ...first, roles }));
  return file;
}

/** One row a child run, in the order of their start. @param name of the row's first field */
async function childrenOf(client: Client, run: RunView, name: 'phase' | 'item') {
  const { items } = await client.listRuns({ parentId: run.id, limit: 200 });
  const children = items.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  return Promise.all(
    children.map(async ({ id, originalRequest, status, headCommit, createdAt, completedAt }) => {
      const events = await client.listEvents(id, 0, 1_000);
      return {
        [name]: firstLine(originalRequest),
        run: id,
        status,
        tries: 1 + events.filter(({ type }) => type === 'VALIDATION_FAILED').length,
        commit: headCommit ?? null,
        durationMs: Date.parse(completedAt ?? createdAt) - Date.parse(createdAt),
      };
    }),
  );
}

/** Follows the run to its end, together with child runs whose events tell more than its own. */
async function followed(client: Client, launched: RunView, scene: Scene): Promise<RunView> {
  const family = { client, io: terminal(scene.options), runId: launched.id, json: false };
  switch (scene.options.workflow) {
    case 'phased-plan':
    case 'backlog':
      return (await followFamily(family)).run;
    case 'full-auto':
      // The run itself decides about attempts that come to nothing.
      return (await followWatching(family)).run;
    default:
      return follow(client, launched, scene);
  }
}

/** Tells the run's events as they come and decides its gates, until it ends or needs what the demo cannot give. */
async function follow(client: Client, launched: RunView, { options, forge, startedAt }: Scene): Promise<RunView> {
  const stop = new AbortController();
  const tell = (text: string, tone: Tone): void =>
    say(options, formatTimeline({ atMs: performance.now() - startedAt, text, tone }, { color: usesColor(options) }));
  const workflow = workflowOf({ workflows: await client.listWorkflows() }, launched.workflow.name);
  const askPerson = personAtTerminal(client, terminal(options));
  let failed: unknown;
  let isReviewed = false;
  const decided = async (event: WorkflowEvent): Promise<void> => {
    const run = await client.getRun(launched.id);
    if (FINAL_STATUSES.has(run.status)) return stop.abort();
    if (!run.gate || run.gate.id !== `${run.id}.${event.sequence}`) return;
    if (run.gate.kind === 'plan') say(options, await planText(client, run));
    if (run.gate.kind === 'pull_request' && forge !== null) {
      if (!isReviewed) {
        isReviewed = true;
        return tell(await forge.review(run), 'plain');
      }
      for (const { login, body } of forge.threads()) tell(`${login}: ${firstLine(body)}`, 'plain');
    }
    const goesOn = options.interactive
      ? await askPerson(run.gate, stop.signal)
      : await decideForPerson(client, run.gate);
    if (!goesOn) stop.abort();
  };
  await client.followFeed({
    after: 0,
    runIds: [launched.id],
    signal: stop.signal,
    onEvent: (event) => {
      const line = describeEvent(event, launched, workflow);
      if (line) tell(line.text, line.tone);
      if (STOPS.has(event.type)) {
        decided(event).catch((error: unknown) => {
          failed = error;
          stop.abort();
        });
      }
    },
    onProgress: (progress) => {
      const text = describeProgress(progress);
      if (text) tell(text, 'plain');
    },
  });
  if (failed !== undefined) throw failed instanceof Error ? failed : new Error(String(failed));
  return client.getRun(launched.id);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** @returns false for a gate that only a person can decide */
async function decideForPerson(client: Client, gate: Gate): Promise<boolean> {
  if (gate.kind === 'clarification') {
    const response = gate.question?.options?.[0] ?? 'Decide by yourself.';
    await client.decideGate(gate.id, { decision: 'answer', response });
    return true;
  }
  if (!gate.decisions.includes('approve') || gate.kind === 'invalid_plan') return false;
  await client.decideGate(gate.id, { decision: 'approve', ...shownAt(gate) });
  return true;
}

/** The person at this terminal, as the command line asks them. */
function terminal(options: DemoOptions): CliIo {
  return {
    stdin: process.stdin,
    stdout: options.json ? process.stderr : process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: workingFolder,
    program: startCommand().program,
  };
}

async function readScript(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new DemoRefused(
      `The script ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
}

async function planText(client: Client, run: RunView): Promise<string> {
  const plan = run.artifacts.findLast((artifact) => artifact.type === 'mermaid_diagram');
  if (!plan) return '';
  const { content } = await client.getArtifact(run.id, plan.id);
  const body = content.replace(/^---\n[\s\S]*?\n---\n+/, '').trimEnd();
  return `\n${body
    .split('\n')
    .map((line) => `          │ ${line}`)
    .join('\n')}\n`;
}

function headline(run: RunView): string {
  if (run.status !== 'completed') return `The run is ${run.status}${run.gate ? `: ${run.gate.summary}` : ''}`;
  const end = run.merged ? `merged into ${run.merged.baseBranch}` : 'pushed';
  return run.failures === undefined
    ? styleText('green', `Completed: ${end}`)
    : styleText('yellow', `Completed with failures: ${end}`);
}

async function summarize(
  client: Client,
  run: RunView,
  place: DemoPlace,
  url: string,
  options: DemoOptions,
  pullRequestText: string | null,
): Promise<void> {
  const diff = await client.getDiff(run.id);
  const files = diff.files.filter((file) => !file.path.startsWith('.autonomous/'));
  const width = Math.max(0, ...files.map((file) => file.path.length));
  const lines = [
    '',
    headline(run),
    ...(run.failures ?? []).map((failure) => `  ${failure}`),
    ...files.map(
      (file) =>
        `  ${file.path.padEnd(width)}  ${styleText('green', `+${file.additions}`)} ${styleText('red', `-${file.deletions}`)}`,
    ),
    '',
    `  project   ${place.project}`,
    `  remote    ${place.remote}`,
    `  branch    ${run.branch}`,
    ...(pullRequestText === null ? [] : [`  request   ${pullRequestText}: what a reviewer reads`]),
    ...(pullRequestText === null || !options.keep ? [] : [`            ${url}/runs/${run.id}/pull-request`]),
    `  server    ${url}${options.keep ? '' : '  (stopped)'}`,
    '',
    `  git -C ${place.remote} log --graph --oneline --all`,
    '',
  ];
  say(options, lines.join('\n'));
}

function heading(place: DemoPlace, url: string, options: DemoOptions): string {
  return [
    styleText('bold', 'Autonomous'),
    `${SUBJECTS[options.workflow]} on ${options.project ?? 'a small web application'}. The models play a script; all else is real.`,
    `Server ${url}, everything below ${place.folder}`,
    '',
  ].join('\n');
}

function dashboardLine(link: string): string {
  return `${styleText('bold', 'Dashboard')} ${link}  (one browser, once, within 10 minutes)`;
}

/** The published package brings its dashboard along; in a clone it is made when it is missing or old. */
async function buildDashboard(): Promise<void> {
  if (!import.meta.url.endsWith('.ts')) return;
  const program = fileURLToPath(new URL('../../ui/build.mjs', import.meta.url));
  const build = spawn(process.execPath, [program, '--if-stale'], { stdio: ['ignore', 2, 2] });
  await once(build, 'close');
  if (build.exitCode !== 0)
    console.error('The dashboard could not be built; the server shows a plain page in its place.');
}

async function waitForSignal(options: DemoOptions, { data }: DemoPlace): Promise<void> {
  say(
    options,
    `The server stays up. End it with Ctrl+C. Another link: AUTONOMOUS_DATA=${data} ${startCommand().program} sign-in`,
  );
  await new Promise<void>((resolve) => {
    process.removeAllListeners('SIGINT').once('SIGINT', () => resolve());
    process.removeAllListeners('SIGTERM').once('SIGTERM', () => resolve());
  });
}

function usesColor(options: DemoOptions): boolean {
  const stream = options.json ? process.stderr : process.stdout;
  return stream.isTTY && process.env['NO_COLOR'] === undefined;
}

/** With --json stdout is the object's alone. */
function say(options: DemoOptions, text: string): void {
  if (text === '') return;
  if (options.json) console.error(text);
  else console.log(text);
}

function report(error: unknown): number {
  console.error(error instanceof DemoRefused ? error.message : explainError(error).message);
  return NOT_COMPLETED;
}
