/** Chooses the points, plays them, several at a time, and tells what came of them. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { InvalidRequest } from '@autonomous/shared';
import {
  costFaults,
  type Fault,
  judge,
  type Passed,
  refer,
  type Reference,
  situations,
  type Verdict,
} from './judge.ts';
import { baselinesOf, makePlace, makeRemote } from './place.ts';
import { judgeMoved } from './judge-moved.ts';
import { OUTSIDE_MOVES, type OutsideMove } from './outside-moves.ts';
import { play, type Playback, Unplayable, wasCutOff, wasQuarantined } from './play.ts';
import type { Scenario } from './scenario.ts';
import { FILES } from './scenarios.ts';

/** A scenario, and the boundary at which its first server ends itself, its second, its third. */
export interface Point {
  readonly scenario: Scenario;
  readonly kills: readonly string[];
  /** Change that others make before the second server starts. */
  readonly move?: OutsideMove;
}

export interface Played {
  readonly point: Point;
  /** False where a boundary that depends on timing did not come up: the point then proves nothing. */
  readonly reached: boolean;
  readonly verdict: Verdict | null;
  readonly faults: readonly Fault[];
  /** Lines that its servers logged, from warnings on. */
  readonly log: readonly string[];
  /** Boundaries that the last server, which was not killed, passed up to its first step: a next kill can hit there. */
  readonly recovery: readonly Passed[];
}

export interface SweepOptions {
  readonly scenarios: readonly Scenario[];
  /** How many points to play; every boundary of every scenario once when `all`. */
  readonly points: number | 'all';
  /** Points to play instead of chosen ones. */
  readonly only?: readonly string[];
  readonly seed: string;
  /** Points that are played at the same time. */
  readonly workers: number;
  /** No point is begun later. */
  readonly minutes: number;
  readonly say: (line: string) => void;
  /** Aborted: what is under way is finished, nothing more is begun. */
  readonly signal?: AbortSignal;
}

export interface SweepResult {
  readonly played: readonly Played[];
  /** Scenarios that could not even be played undisturbed, and why. */
  readonly unplayable: readonly Fault[];
  /** Points that there was no time for. */
  readonly left: number;
  readonly ms: number;
}

/** Of all points, those whose servers are killed a second time while they take up the run, and a third time. */
const TWICE = 0.16;
const THRICE = 0.06;
/** Of all points, those at which others move something before the next server starts. */
const MOVED = 0.2;
/** When they come up is a matter of time: the record is written in batches, a comment on an issue after some seconds. */
const BY_TIME = /^(?:recorder|store\.setMark|issues)\b/;

export async function sweep(options: SweepOptions): Promise<SweepResult> {
  const startedAt = performance.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-crash-sweep-'));
  try {
    const bench = new Bench(folder);
    await bench.prepare(options.scenarios);
    const named = options.only?.map((id) => pointOf(options.scenarios, id));
    const scenarios = named ? [...new Set(named.map(({ scenario }) => scenario))] : options.scenarios;
    const references = new Map<Scenario, Reference>();
    const unplayable: Fault[] = [];
    await inParallel(options.workers, scenarios, async (scenario) => {
      try {
        references.set(scenario, await bench.refer(scenario));
      } catch (error) {
        if (!(error instanceof Unplayable)) throw error;
        unplayable.push({ kind: 'unplayable', what: `${scenario.name} without any crash: ${error.message}` });
      }
    });
    const { queue, spare } = named
      ? { queue: named.map((point) => ({ point, more: 0 })), spare: [] }
      : choose(references, options.points, options.seed);
    const passed = [...references.values()].flatMap((reference) => reference.passed);
    options.say(`${passed.length} boundaries in ${new Set(passed.map(({ situation }) => situation)).size} situations`);
    const played: Played[] = [];
    const deadline = startedAt + options.minutes * 60_000;
    let left = 0;
    await inParallel(options.workers, queue, async ({ point, more }) => {
      const reference = references.get(point.scenario);
      if (reference === undefined) return;
      if (performance.now() > deadline || options.signal?.aborted) {
        left += 1 + more;
        return;
      }
      const outcome = await bench.play(point, reference);
      played.push(outcome);
      for (const { kind, what } of outcome.faults) options.say(`${kind} at ${pointId(point)}: ${what}`);
      if (outcome.faults.length > 0) for (const line of outcome.log) options.say(`  logged: ${line}`);
      const [next] = more > 0 && outcome.faults.length === 0 ? drawn(furtherPoints(outcome), options.seed) : [];
      if (next) queue.push({ point: next, more: more - 1 });
      // Others take the place of what did not come up, and of what cannot go on.
      const missing = (outcome.reached ? 0 : 1) + (next ? 0 : more);
      queue.push(...spare.splice(0, missing).map((instead) => ({ point: instead, more: 0 })));
      if (played.length % 20 === 0) options.say(progress(played.length, queue.length, startedAt));
    });
    return { played, unplayable, left, ms: performance.now() - startedAt };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Every boundary of a scenario in the order in which an undisturbed server passes them. */
export async function listBoundaries(scenario: Scenario): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-crash-sweep-'));
  try {
    const bench = new Bench(folder);
    await bench.prepare([scenario]);
    return (await bench.refer(scenario)).passed.map(({ boundary }) => boundary);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Name of a point, as `--only` takes it. */
export function pointId({ scenario, kills, move }: Point): string {
  return `${scenario.name}:${kills.join('+')}${move ? `~${move.name}` : ''}`;
}

/** The command that plays a point again. */
export function replayOf(point: Point): string {
  return `npm run crash-sweep -- --only '${pointId(point)}'`;
}

function pointOf(scenarios: readonly Scenario[], id: string): Point {
  const [place = '', moved] = id.split('~', 2);
  const [name, kills = ''] = place.split(':', 2);
  const move = OUTSIDE_MOVES.find((candidate) => candidate.name === moved);
  if (moved !== undefined && move === undefined)
    throw new InvalidRequest(
      `There is no move '${moved}' of others; there are ${OUTSIDE_MOVES.map((each) => each.name).join(', ')}.`,
    );
  const scenario = scenarios.find((candidate) => candidate.name === name);
  if (scenario === undefined || kills === '')
    throw new InvalidRequest(
      `There is no point '${id}'; it is <scenario>:<boundary>[+<boundary>…][~<move>] with one of ${scenarios.map((each) => each.name).join(', ')}.`,
    );
  return { scenario, kills: kills.split('+'), ...(move ? { move } : {}) };
}

interface Queued {
  readonly point: Point;
  /** How many more kills follow while the run is taken up, each a point of its own. */
  readonly more: number;
}

/**
 * Every situation once, one of each scenario first, then the same situations on other ways; some of them go on with kills while
 * the run is taken up. Drawn where there are too many; `spare` are those that were not.
 */
function choose(
  references: ReadonlyMap<Scenario, Reference>,
  points: SweepOptions['points'],
  seed: string,
): { readonly queue: Queued[]; readonly spare: Point[] } {
  const situationOf = new Map<Point, string>();
  for (const [scenario, { passed }] of references) {
    for (const { boundary, situation } of passed) {
      // An empty database has nothing to be taken up.
      if (!boundary.startsWith('start.')) situationOf.set({ scenario, kills: [boundary] }, situation);
    }
  }
  const known = new Set<string>();
  const fresh: Point[] = [];
  const again: Point[] = [];
  for (const point of drawn([...situationOf.keys()], seed)) {
    const situation = situationOf.get(point) ?? '';
    (known.has(situation) ? again : fresh).push(point);
    known.add(situation);
  }
  const moved = drawn(movedPoints([...situationOf.keys()]), seed);
  const candidates = [...oneOfEachFirst(fresh), ...again];
  const wanted = points === 'all' ? candidates.length : points;
  const thrice = Math.round(wanted * THRICE);
  const twice = Math.round(wanted * TWICE);
  const ofOthers = points === 'all' ? moved : moved.slice(0, Math.round(wanted * MOVED));
  const once = points === 'all' ? wanted : Math.max(1, wanted - twice - 2 * thrice - ofOthers.length);
  const queue = candidates
    .slice(0, once)
    .map((point, index) => ({ point, more: index < thrice ? 2 : index < thrice + twice ? 1 : 0 }));
  return { queue: [...queue, ...ofOthers.map((point) => ({ point, more: 0 }))], spare: candidates.slice(once) };
}

/** The first point of each scenario, then all others, so that a short sweep plays most scenarios. */
function oneOfEachFirst(points: readonly Point[]): readonly Point[] {
  const firsts = new Set(
    [...new Set(points.map(({ scenario }) => scenario))].map((wanted) =>
      points.find(({ scenario }) => scenario === wanted),
    ),
  );
  return [...points.filter((point) => firsts.has(point)), ...points.filter((point) => !firsts.has(point))];
}

/** The same points, with all that others can do there before the next server starts. */
function movedPoints(points: readonly Point[]): readonly Point[] {
  return points
    .filter(({ scenario }) => scenario.ends !== 'cancelled' && scenario.own === undefined)
    .flatMap((point) =>
      OUTSIDE_MOVES.filter(({ after }) => after.test(point.kills[0] ?? '')).map((move) => ({ ...point, move })),
    );
}

/** The same point, whose last server ends itself too. */
function furtherPoints({ point, recovery }: Played): readonly Point[] {
  return recovery.map(({ boundary }) => ({ ...point, kills: [...point.kills, boundary] }));
}

/** In an order that follows from the seed and their names alone, so that one more or less changes nothing for the others. */
function drawn(points: readonly Point[], seed: string): readonly Point[] {
  return points
    .map((point) => ({
      point,
      rank: createHash('sha256')
        .update(`${seed} ${pointId(point)}`)
        .digest('hex'),
    }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ point }) => point);
}

/** What all points share: templates of the remotes, and compiled code. */
class Bench {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async prepare(scenarios: readonly Scenario[]): Promise<void> {
    await mkdir(this.#compileCache);
    for (const scenario of scenarios) await makeRemote(this.#templateOf(scenario), { ...FILES, ...scenario.files });
  }

  /**
   * Plays a scenario undisturbed, with the baselines known that a first playback left.
   * @throws {Unplayable}
   */
  async refer(scenario: Scenario): Promise<Reference> {
    const template = this.#templateOf(scenario);
    await play({ ...this.#common(scenario), kills: [] }, async ({ world }) => {
      const known = path.join(world.place.data, 'baselines');
      if (existsSync(known)) await cp(known, baselinesOf(template), { recursive: true });
    });
    return play({ ...this.#common(scenario), kills: [] }, (playback) => refer(scenario, playback));
  }

  async play(point: Point, reference: Reference): Promise<Played> {
    const { scenario, kills, move } = point;
    const nothing = { point, reached: true, verdict: null, log: [], recovery: [] };
    try {
      return await play({ ...this.#common(scenario), kills, move }, async (playback) => {
        const reached = playback.lives.filter(({ end }) => end === 'killed').length === kills.length;
        const verdict = await judged(point, reference, playback);
        const [first = ''] = kills;
        // What comes up while a run is taken up depends on what else the first server had under way.
        const isFault = !reached && kills.length === 1 && !BY_TIME.test(first);
        const missed: readonly Fault[] = isFault ? [{ kind: 'unplayable', what: `no server came to ${first}` }] : [];
        return {
          point,
          reached,
          verdict,
          faults: [...verdict.faults, ...missed],
          log: playback.lives.flatMap(({ log }) => log.split('\n')).filter((line) => line !== ''),
          recovery: untilFirstStep(situations(playback.lives.at(-1)?.ledger ?? [])),
        };
      });
    } catch (error) {
      if (!(error instanceof Unplayable)) throw error;
      return { ...nothing, faults: [{ kind: 'unplayable', what: error.message }] };
    }
  }

  #common(scenario: Scenario) {
    return { scenario, makePlace: () => makePlace(this.#templateOf(scenario)), compileCache: this.#compileCache };
  }

  #templateOf({ name }: Scenario): string {
    return path.join(this.#folder, `${name}.git`);
  }

  get #compileCache(): string {
    return path.join(this.#folder, 'compiled');
  }
}

/**
 * Compares a playback with the undisturbed one. A playback with an outside move, a quarantined run or a release that was cut
 * off ends differently: it is checked against the rules that hold in every case.
 */
async function judged({ scenario, move }: Point, reference: Reference, playback: Playback): Promise<Verdict> {
  if (move) return judgeMoved(scenario, move, playback);
  if (!wasQuarantined(playback) && !wasCutOff(playback)) return judge(scenario, reference, playback);
  const verdict = await judgeMoved(scenario, undefined, playback);
  return { ...verdict, faults: [...verdict.faults, ...costFaults(scenario, reference, playback)] };
}

function untilFirstStep(passed: readonly Passed[]): readonly Passed[] {
  const first = passed.findIndex(({ boundary }) => /(?:^|\/)append\..*\.after$/.test(boundary));
  return first === -1 ? passed : passed.slice(0, first + 1);
}

/** @param queue may grow while it is worked off */
async function inParallel<Item>(
  workers: number,
  queue: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  let busy = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fill = (): void => {
    for (; busy < workers && next < queue.length; busy++) {
      const item = queue[next++] as Item; // within the queue
      work(item).then(() => {
        busy--;
        fill();
      }, reject);
    }
    if (busy === 0) resolve();
  };
  fill();
  await promise;
}

function progress(played: number, queued: number, startedAt: number): string {
  return `${played} of ${queued} points, ${Math.round((performance.now() - startedAt) / 1_000)} s`;
}
