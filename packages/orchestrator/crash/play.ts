/** Plays a scenario to its end on as many servers as it takes, each of which ends itself where it is told to. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  FINAL_STATUSES,
  type Gate,
  type GateDecision,
  type RunView,
  shownAt,
  type WorkflowEvent,
} from '@autonomous/shared';
import { ApiError, type Client, createClient } from '@autonomous/shared/client';
import { type ServerProcess, startServerProcess } from '../test/fixtures/server-process.fixture.ts';
import { type LedgerLine, readLedger } from './ledger.ts';
import type { OutsideMove } from './outside-moves.ts';
import type { Place } from './place.ts';
import type { Scenario } from './scenario.ts';
import type { ServerSetting } from './server-setting.ts';
import { describeWait, isPromised, missingInTheEnd, unrecordedCommits, waitsWithout } from './waits.ts';
import { makeWorld } from './make-world.ts';
import type { World } from './world.ts';

/** One server from its start to its end. */
export interface Life {
  readonly ledger: readonly LedgerLine[];
  /** What it wrote to its log, from warnings on. */
  readonly log: string;
  readonly end: 'killed' | 'stopped';
  /** Waits that somebody saw, or that a killed server left, without their commits on the remote. */
  readonly waits: readonly string[];
}

/** A run as the API told of it at the end. */
export interface EndedRun {
  readonly label: string;
  readonly view: RunView;
  readonly events: readonly WorkflowEvent[];
}

export interface Playback {
  readonly lives: readonly Life[];
  /** Those that were launched, then their children. */
  readonly runs: readonly EndedRun[];
  /** Every run that the last server knows; more than were launched would be doubled ones. */
  readonly runIds: readonly string[];
  /** What clients were told by the feed, over all lives. */
  readonly heard: readonly WorkflowEvent[];
  readonly world: World;
}

/** The point could not be played to its end; the message says what came instead. */
export class Unplayable extends Error {}

export interface PlayOptions {
  readonly scenario: Scenario;
  /** Boundary at which the first, the second … server ends itself. */
  readonly kills: readonly string[];
  /** Change that others make between the end of the first server and the start of the second. */
  readonly move?: OutsideMove | undefined;
  /** Makes the folder in which all of it happens, which is removed at the end. */
  readonly makePlace: () => Promise<Place>;
  /** A server of an earlier program was killed in that place, and the runs are there. */
  readonly isResumed?: true;
  /** Folder where servers leave their compiled code for the next ones. */
  readonly compileCache: string;
}

const PROGRAM = fileURLToPath(new URL('server.ts', import.meta.url));
const QUICK_START = fileURLToPath(new URL('quick-start.ts', import.meta.url));
/** Logged by a server whose record is in its mirror alone. */
const NOT_PUSHED = 'could not be pushed; it is tried again';
/** Time limit from the start of a server to the end of its runs. A slower server counts as hanging. */
const LIFE_LIMIT_MS = 120_000;

/**
 * @param look gets the playback while its folder is still there
 * @throws {Unplayable} when a server hangs, ends by itself, or a run comes to something that the scenario does not know
 */
export async function play<Result>(
  options: PlayOptions,
  look: (playback: Playback) => Promise<Result>,
): Promise<Result> {
  const world = await makeWorld(options.scenario, await options.makePlace());
  try {
    const heard: WorkflowEvent[] = [];
    const lives: Life[] = [];
    for (let number = options.isResumed ? 2 : 1; ; number++) {
      const ledger = path.join(world.place.folder, `ledger-${number}.jsonl`);
      const killAt = options.kills[number - 1] ?? null;
      // Others who take the record away break the promise for the server.
      const isWatched = number === 1 || options.move === undefined;
      const waits: string[] = [];
      const watch = isWatched ? (what: readonly string[]): void => void waits.push(...what) : null;
      const { told, ...life } = await live(options, world, heard, { ledger, killAt, crashes: number - 1, watch });
      if (life.end === 'killed') watch?.(await waitsWithout(world.place));
      lives.push({ ...life, waits });
      if (number === 1 && life.end === 'killed') await options.move?.make(world.place.remote);
      if (told === null) continue;
      // A server that stops waits seconds for a remote. What it could not push in them, the next one pushes.
      const hasLeft = life.log.includes(NOT_PUSHED) && lives.at(-2)?.log.includes(NOT_PUSHED) !== true;
      if (!hasLeft) return await look({ lives, ...told, heard, world });
    }
  } finally {
    await world.remove();
  }
}

type Told = Pick<Playback, 'runs' | 'runIds'>;

/** Gets what is missing of a wait that somebody sees. */
type Watch = (missing: readonly string[]) => void;

async function live(
  { scenario, compileCache, move, isResumed }: PlayOptions,
  world: World,
  heard: WorkflowEvent[],
  {
    ledger,
    killAt,
    crashes,
    watch,
  }: Pick<ServerSetting, 'ledger' | 'killAt'> & { readonly crashes: number; readonly watch: Watch | null },
): Promise<Omit<Life, 'waits'> & { readonly told: Told | null }> {
  const labels = Object.fromEntries(
    [...scenario.runs, ...(scenario.children ?? [])].map(({ request, label }) => [request, label]),
  );
  const setting: ServerSetting = {
    ledger,
    killAt,
    labels,
    sandboxed: scenario.sandboxed ?? false,
    ...(scenario.colleague ? { colleague: { ...scenario.colleague, remote: world.place.remote } } : {}),
  };
  const wasKilled = (): boolean => readLedger(ledger).some((line) => 'killed' in line);
  const limit = AbortSignal.timeout(LIFE_LIMIT_MS);
  let server: ServerProcess;
  try {
    server = await startServerProcess({
      dataFolder: world.place.data,
      port: '0',
      env: environment(scenario, world, compileCache, setting),
      imports: [QUICK_START],
      program: PROGRAM,
    });
  } catch (error) {
    if (wasKilled()) return { ledger: readLedger(ledger), log: '', end: 'killed', told: null };
    throw new Unplayable(`a server did not start: ${messageOf(error)}`);
  }
  const over = new AbortController();
  try {
    const signal = AbortSignal.any([over.signal, limit]);
    const gone = server.ended.then(() => null);
    // An answer that was cut off may be noticed before the end of the server is.
    const driving = new Driver({ scenario, move, isResumed, crashes, watch }, world, heard, server, signal)
      .drive()
      .catch((error: unknown) => {
        if (wasKilled()) return gone;
        throw error;
      });
    const told = await Promise.race([driving, gone, aborted(limit)]);
    if (told !== null) void server.end('SIGTERM');
    const { code, signal: how } = await Promise.race([server.ended, aborted(limit)]);
    const wasPlanned = how === 'SIGKILL' && wasKilled();
    if (!wasPlanned && (told === null || code !== 0)) throw new Unplayable(`a server ended by itself (${how ?? code})`);
    return {
      ledger: readLedger(ledger),
      log: server.log(),
      end: wasPlanned ? 'killed' : 'stopped',
      told: wasPlanned ? null : told,
    };
  } catch (error) {
    const passed = readLedger(ledger).flatMap((line) => ('passed' in line ? [line.passed] : []));
    const what = limit.aborted ? `nothing came to an end within ${LIFE_LIMIT_MS / 1_000} s` : messageOf(error);
    throw new Unplayable(
      `${what}; it came as far as ${passed.slice(-3).join(', ') || 'nothing'}\n${server.log()}`.trimEnd(),
      { cause: error },
    );
  } finally {
    over.abort();
    await server.end('SIGKILL');
  }
}

function environment(
  scenario: Scenario,
  { place, models, forge, web }: World,
  compileCache: string,
  setting: ServerSetting,
): Readonly<Record<string, string>> {
  const model = 'openai-compatible:sweep';
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: place.folder,
    NODE_COMPILE_CACHE: compileCache,
    CRASH_SETTING: JSON.stringify(setting),
    OPENAI_COMPATIBLE_BASE_URL: models.baseUrl,
    OPENAI_COMPATIBLE_API_KEY: models.apiKey,
    DEFAULT_PLANNER_MODEL: model,
    DEFAULT_IMPLEMENTER_MODEL: model,
    DEFAULT_VALIDATOR_MODEL: model,
    SWEEP_LETTERS: place.letters,
    ...forge?.env,
    ...(web === null ? {} : { WEB_ALLOW: `*,internal:127.0.0.1:${web.port}` }),
    ...scenario.env,
  };
}

/** In the words for a run that was under way whenever its server was killed. */
const UNDER_WAY = 'at each of the last';

/** Whether a run was taken to be what ends the servers, so that a person had to have it go on. */
export function wasQuarantined({ runs }: Pick<Playback, 'runs'>): boolean {
  return runs.some(({ events }) =>
    events.some(({ type, payload }) => type === 'RUN_PAUSED' && payload['reason'] === 'poisoned'),
  );
}

/** Gate of a release whose server was killed while it ran. */
export const CUT_OFF = 'item_release_cut_off';

/** Whether a person had to look how far a release came. */
export function wasCutOff({ runs }: Pick<Playback, 'runs'>): boolean {
  return runs.some(({ view }) => view.gates.some(({ kind }) => kind === CUT_OFF));
}

const LAUNCH_KEY = 'launch';
/** Crashes during one activity after which its run is quarantined. */
const MOST_CRASHES = 3;
/** How often one move of others may pause a run. */
const MOST_REMEDIED = 3;
/** Events after which a person has to act, or nothing more comes. */
const STOPS: ReadonlySet<string> = new Set([
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'RUN_PAUSED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'RUN_CANCELLED',
]);

/**
 * The people of a scenario, as one server knows them: they launch the runs that are not there yet, decide what is open,
 * and hear what happens. What was done under an earlier server is seen from what this one tells.
 */
class Driver {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #heard: WorkflowEvent[];
  readonly #client: Client;
  /** Address of the server. */
  readonly #url: string;
  readonly #signal: AbortSignal;
  readonly #move: OutsideMove | undefined;
  readonly #isResumed: boolean;
  /** Servers that were killed before this one. */
  readonly #crashes: number;
  readonly #watch: Watch | null;
  #remedied = 0;
  #news = Promise.withResolvers<void>();

  constructor(
    {
      scenario,
      move,
      isResumed,
      crashes,
      watch,
    }: Pick<PlayOptions, 'scenario' | 'move'> & {
      readonly isResumed: true | undefined;
      readonly crashes: number;
      readonly watch: Watch | null;
    },
    world: World,
    heard: WorkflowEvent[],
    server: ServerProcess,
    signal: AbortSignal,
  ) {
    this.#scenario = scenario;
    this.#move = move;
    this.#isResumed = isResumed === true;
    this.#crashes = crashes;
    this.#watch = watch;
    this.#world = world;
    this.#heard = heard;
    this.#signal = signal;
    this.#url = server.url;
    this.#client = createClient({
      baseUrl: server.url,
      token: server.token,
      backoff: { minMs: 20, maxMs: 100 },
      fetch: (input, init) =>
        fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, signal]) : signal }),
    });
  }

  async drive(): Promise<Told> {
    this.#follow();
    const launched = this.#isResumed ? await this.#launchedEarlier() : await this.#launch();
    const { children: declared = [], whileHeld, issue } = this.#scenario;
    const [parent] = declared.length > 0 ? launched : [];
    const [children] = await Promise.all([
      parent ? this.#accompanyChildren(parent.id) : [],
      ...launched.map(({ id }) => this.#accompany(id, whileHeld)),
    ]);
    if (issue !== undefined) await this.#world.forge?.issueSettled(issue, this.#signal);
    const labelled = [
      ...launched.map(({ id }, index) => ({ id, label: this.#scenario.runs[index]?.label ?? '' })),
      ...children
        .map(({ id, originalRequest }) => ({ id, label: labelIn(declared, originalRequest) }))
        .toSorted((a, b) => (a.label < b.label ? -1 : 1)),
    ];
    const runs = await Promise.all(
      labelled.map(async ({ id, label }) => ({
        label,
        view: await this.#client.getRun(id),
        events: await this.#client.listEvents(id, 0, 1_000),
      })),
    );
    const last = Math.max(...runs.flatMap(({ events }) => events.map(({ position }) => position)));
    while ((this.#heard.at(-1)?.position ?? 0) < last) await this.#news.promise;
    const { items } = await this.#client.listRuns({ limit: 100 });
    return { runs, runIds: items.map(({ id }) => id) };
  }

  /** The same key under every server, so that what an earlier one has done is not done again. */
  async #launch(): Promise<readonly RunView[]> {
    const { runs, own } = this.#scenario;
    if (own?.input !== undefined && own.inProject !== true)
      return [await this.#client.launchRun({ workflow: own.workflow, input: own.input }, LAUNCH_KEY)];
    const { id: projectId } = await this.#client.createProject({
      name: 'notes',
      repository: this.#world.forge?.address ?? this.#world.place.remote,
    });
    if (this.#scenario.issue !== undefined) return this.#labelIssue(this.#scenario.issue);
    const variants = runs.map(({ request, config }) => ({ request, config }));
    const [only] = variants;
    return variants.length === 1 && only !== undefined
      ? [await this.#client.launchRun({ projectId, ...only, ...launchOf(own) }, LAUNCH_KEY)]
      : (await this.#client.explore({ projectId, variants }, LAUNCH_KEY)).runs;
  }

  /** Keys of launches are kept for days only; runs stay. */
  async #launchedEarlier(): Promise<readonly RunView[]> {
    const { items } = await this.#client.listRuns({ limit: 100 });
    const requests = this.#scenario.runs.map(({ request }) => request);
    const place = ({ originalRequest }: RunView): number => requests.indexOf(originalRequest);
    return items.filter(({ parent }) => parent === undefined).toSorted((a, b) => place(a) - place(b));
  }

  /** @returns the runs that the server starts for the issue */
  async #labelIssue(title: string): Promise<readonly RunView[]> {
    await this.#world.forge?.labelIssue(title, this.#url);
    while (true) {
      const news = this.#news.promise;
      const { items } = await this.#client.listRuns({ limit: 100 });
      if (items.length > 0) return items;
      await news;
    }
  }

  /** Stays with the children of a run, whenever it starts them, until it and they have ended. */
  async #accompanyChildren(parentId: string): Promise<readonly Pick<RunView, 'id' | 'originalRequest'>[]> {
    const accompanied = new Map<string, Promise<void>>();
    while (true) {
      const news = this.#news.promise;
      const { status } = await this.#client.getRun(parentId);
      const { items } = await this.#client.listRuns({ parentId, limit: 100 });
      for (const { id } of items) {
        if (accompanied.has(id)) continue;
        const ended = this.#accompany(id);
        accompanied.set(id, ended);
        // Awaited below; the server may be killed before that.
        ended.catch(() => undefined);
      }
      if (FINAL_STATUSES.has(status)) {
        await Promise.all(accompanied.values());
        return items;
      }
      await news;
    }
  }

  /** Stays with a run until it has ended. */
  async #accompany(runId: string, whileHeld?: Scenario['whileHeld']): Promise<void> {
    while (true) {
      const run = await this.#client.getRun(runId);
      if (FINAL_STATUSES.has(run.status)) return;
      if (run.gate !== null) {
        await this.#lookAtWait(run);
        if (await this.#decide(run.gate, run)) continue;
        await this.#stopAfter(runId, run.lastSequence);
        continue;
      }
      const stopped = this.#stopAfter(runId, run.lastSequence);
      if (whileHeld === undefined) {
        await stopped;
      } else if ((await Promise.race([stopped, this.#world.held.then(() => 'held')])) === 'held') {
        await whileHeld(this.#client, run).catch(unlessConflict);
      }
    }
  }

  async #lookAtWait(run: RunView): Promise<void> {
    const { id, projectId, status } = run;
    if (this.#watch === null || projectId === '') return;
    const events = await this.#client.listEvents(id, 0, 1_000);
    const find = (): Promise<readonly string[]> => unrecordedCommits(this.#world.place, projectId, events);
    const missing = isPromised(run) ? await find() : await missingInTheEnd(find, this.#signal);
    this.#watch(missing.map((commit) => describeWait(id, status, commit)));
  }

  /** @returns false where nothing is to be decided now */
  async #decide(gate: Gate, run: RunView): Promise<boolean> {
    const decision = await this.#decisionOn(gate, run);
    if (decision === null) return false;
    try {
      await this.#client.decideGate(gate.id, decision);
    } catch (error) {
      unlessConflict(error);
      const now = await this.#client.getRun(run.id);
      if (now.gate?.id === gate.id)
        throw new Unplayable(`the gate '${gate.kind}' is open and refuses: ${messageOf(error)}`);
    }
    return true;
  }

  /**
   * Retries a run that is paused for a change of others, once that change is undone, and a run that is quarantined
   * because its servers were killed. The scenario decides all other gates.
   */
  async #decisionOn(gate: Gate, run: RunView): Promise<GateDecision | null> {
    if (gate.kind === 'pause' && this.#move?.remedy !== undefined && gate.reason === 'push_rejected') {
      this.#remedied += 1;
      if (this.#remedied > MOST_REMEDIED) throw new Unplayable(`the run cannot be published: ${gate.summary}`);
      await this.#move.remedy(this.#world.place.remote);
      return { decision: 'retry' };
    }
    if (gate.reason === 'poisoned') {
      if (this.#crashes < MOST_CRASHES || !gate.summary.includes(UNDER_WAY))
        throw new Unplayable(`after ${this.#crashes} crashes, a run is quarantined: ${gate.summary}`);
      return { decision: 'retry' };
    }
    // The time of a stage passed while its archive was kept.
    if (this.#isResumed && gate.reason === 'timeout') return { decision: 'extend', minutes: 60 };
    return (this.#scenario.decide ?? approveOrAnswer)(gate, run, this.#world);
  }

  #follow(): void {
    this.#client
      .followFeed({
        after: this.#heard.at(-1)?.position ?? 0,
        signal: this.#signal,
        onEvent: (event) => {
          this.#heard.push(event);
          this.#tell();
        },
      })
      .catch(() => undefined);
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #stopAfter(runId: string, sequence: number): Promise<void> {
    const isIt = (event: WorkflowEvent): boolean =>
      event.workflowRunId === runId && event.sequence > sequence && STOPS.has(event.type);
    while (!this.#heard.some(isIt)) await this.#news.promise;
  }
}

/** A child run that nobody expects is called by its request, and is a difference. */
function labelIn(declared: NonNullable<Scenario['children']>, wanted: string): string {
  return declared.find(({ request }) => request === wanted)?.label ?? wanted;
}

function approveOrAnswer(gate: Gate): GateDecision {
  if (gate.kind === 'clarification') return { decision: 'answer', response: gate.question?.options?.[0] ?? 'Yes' };
  if (!gate.decisions.includes('approve'))
    throw new Unplayable(`nobody expected the gate '${gate.kind}': ${gate.summary}`);
  return { decision: 'approve', ...shownAt(gate) };
}

/** The run has moved on meanwhile: it is looked at again. */
function unlessConflict(error: unknown): void {
  if (error instanceof ApiError && error.status === 409) return;
  throw error;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Unplayable('the time limit was reached')), { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The workflow and its input, as a launch names them. */
function launchOf(own: Scenario['own']): Pick<NonNullable<Scenario['own']>, 'workflow' | 'input'> | undefined {
  if (own === undefined) return undefined;
  const { workflow, input } = own;
  return { workflow, ...(input === undefined ? {} : { input }) };
}
