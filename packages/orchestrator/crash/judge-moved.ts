/**
 * Finds faults of a playback in which others changed the remote between two servers, or in which a person retried a run
 * that was quarantined for its crashes. Such a playback ends differently from an undisturbed one. So it is checked
 * against the rules that hold in every case: no work of others is lost, no effect is there twice, and every run ends.
 */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { effectsAtForge } from './forge.ts';
import { brokenPromises, type Fault, heardFaults, logFaults, recordFaults, type Verdict, waitFaults } from './judge.ts';
import { IN_THE_RECORD, type OutsideMove, REMEMBERED } from './outside-moves.ts';
import type { Playback } from './play.ts';
import { readRepository, type RepositoryState, type StoredCommit } from './repository-state.ts';
import type { Scenario } from './scenario.ts';
import { EFFECT_KINDS } from './effects.ts';
import { mirrorOf } from './story.ts';
import { RECORD_BRANCH } from './waits.ts';

export async function judgeMoved(
  scenario: Scenario,
  move: OutsideMove | undefined,
  playback: Playback,
): Promise<Verdict> {
  const [remote, mirror] = await Promise.all([
    readRepository(playback.world.place.remote),
    readRepository(mirrorOf(playback)),
  ]);
  const faults: Fault[] = [
    ...(await brokenPromises(scenario, playback)).filter((fault) => !isOfTheMove(move, fault)),
    ...lostWork(scenario, remote, playback),
    ...doubledCommits(remote, playback),
    // Child runs and the merges of them are in the mirror alone.
    ...(scenario.children === undefined ? [] : doubledCommits(mirror, playback)),
    ...(await doubledLetters(playback)),
    ...doubledAtForge(move, playback),
    ...lostRecords(move, remote),
    ...(await recordFaults(playback)),
    ...waitFaults(playback),
    ...heardFaults(playback),
    ...logFaults(playback),
  ];
  return {
    faults,
    repeatedCalls: 0,
    repeatedRequests: 0,
    effects: Object.fromEntries(EFFECT_KINDS.map((kind) => [kind, { seen: 0, duplicated: 0 }])) as Verdict['effects'], // every kind is there
  };
}

/** The branch was pushed and then deleted, or pushed to, by others. */
function isOfTheMove(move: OutsideMove | undefined, { what }: Fault): boolean {
  return move?.name.startsWith('branch-') === true && what.includes("the remote's branch is elsewhere");
}

const MEMORY = '.autonomous/memory.md';

/** Faults for files that others committed to the base branch and that are gone or different at the end. */
function lostWork({ edits = [] }: Scenario, remote: RepositoryState, { runs }: Playback): readonly Fault[] {
  const history = remote.historyOf('main');
  const files = remote.filesOf(history.at(-1)?.tree ?? '');
  // A forge makes a run's merge, and gives it no key.
  const merges = new Set(runs.map(({ view }) => view.merged?.commit));
  const others = history.filter(({ id, effectKey }) => effectKey === null && !merges.has(id));
  const brought = new Map(others.flatMap(({ tree }) => [...remote.filesOf(tree)]));
  return [...brought].flatMap(([file, text]): Fault[] => {
    const now = files.get(file);
    return isKept(file, text, now, edits)
      ? []
      : [{ kind: 'difference', what: `${file}, which others brought to main, is not as they left it` }];
  });
}

/**
 * A file that the runs themselves edit keeps each of its lines, in their order. Only the status in a line may be another one. In a roadmap,
 * the states of its items are the runs' own.
 */
function isKept(file: string, text: string, now: string | undefined, edits: readonly string[]): boolean {
  if (file === MEMORY) return now?.includes(REMEMBERED) === true;
  if (!edits.includes(file)) return now === text;
  if (file.endsWith('.json')) return isDeepStrictEqual(withoutStates(now ?? 'null'), withoutStates(text));
  const left = linesWithoutStatus(now ?? '');
  let at = 0;
  return linesWithoutStatus(text).every((line) => {
    const found = left.indexOf(line, at);
    at = found + 1;
    return found >= 0;
  });
}

const OF_RUNS = new Set(['status', 'updatedAt', 'workflowState']);

function withoutStates(roadmap: string): unknown {
  return JSON.parse(roadmap, (key, value: unknown) => (OF_RUNS.has(key) ? undefined : value));
}

/** Lines with `S` for the status of an item; a line of JSON is the same with and without a comma at its end. */
function linesWithoutStatus(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.replace(STATUS, 'S').replace(/,$/, ''))
    .filter((line) => line !== '');
}

const STATUS = /\b(?:queued|in_progress|blocked|done|not-started|in-progress|completed|on-hold)\b/;

/** Each effect is one commit of each branch, and each run is merged once. */
function doubledCommits(remote: RepositoryState, { runs }: Playback): readonly Fault[] {
  const branches = [...remote.branches.keys()].filter((branch) => branch !== RECORD_BRANCH);
  const keys = branches.flatMap((branch) => twice(remote.historyOf(branch), ({ effectKey }) => effectKey));
  const merges = runs.flatMap(({ view }) => {
    const merged = remote.historyOf('main').filter(({ effectKey }) => effectKey?.startsWith(`${view.id}/merge/`));
    return merged.length > 1 ? [`run ${view.id} was merged ${merged.length} times`] : [];
  });
  return [...keys.map((key) => `the effect ${key} is on its branch twice`), ...merges].map((what): Fault => ({
    kind: 'duplicate',
    what,
  }));
}

/** Each effect of a custom workflow is a line with its key. */
async function doubledLetters({ world }: Playback): Promise<readonly Fault[]> {
  const lines = (await readFile(world.place.letters, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return [...Map.groupBy(lines, (key) => key)]
    .filter(([, times]) => times.length > 1)
    .map(([key, times]) => ({ kind: 'duplicate', what: `the effect ${key} was made ${times.length} times` }));
}

/** Each remark is answered once. A branch that others deleted closes its pull request, so that there may be another one. */
function doubledAtForge(move: OutsideMove | undefined, { world: { forge } }: Playback): readonly Fault[] {
  if (forge === null) return [];
  const { comment, 'pull request': pulls } = effectsAtForge(forge);
  return [...comment, ...(move === undefined ? pulls : [])]
    .filter(([, count]) => count > 1)
    .map(([name, count]) => ({ kind: 'duplicate', what: `${name}: ${count} times at the forge` }));
}

function twice(commits: readonly StoredCommit[], keyOf: (commit: StoredCommit) => string | null): readonly string[] {
  const seen = new Set<string>();
  return commits.flatMap((commit) => {
    const key = keyOf(commit);
    if (key === null) return [];
    if (seen.has(key)) return [key];
    seen.add(key);
    return [];
  });
}

function lostRecords(move: OutsideMove | undefined, remote: RepositoryState): readonly Fault[] {
  const files = remote.filesOf(remote.historyOf(RECORD_BRANCH).at(-1)?.tree ?? '');
  if (move?.name !== 'record-taken' || files.has(IN_THE_RECORD)) return [];
  return [{ kind: 'difference', what: 'the record of another server is gone' }];
}
