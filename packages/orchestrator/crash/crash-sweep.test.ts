/** A handful of the sweep's points, and that it would see what it looks for. `npm run crash-sweep` plays them all. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Fault, judge, recordFaults, type Reference, refer } from './judge.ts';
import { makePlace, makeRemote } from './place.ts';
import { play, type Playback } from './play.ts';
import { reportOn } from './report.ts';
import { git } from './repository-state.ts';
import type { Scenario } from './scenario.ts';
import { FILES, SCENARIOS } from './scenarios.ts';
import { sweep } from './sweep.ts';

vi.setConfig({ testTimeout: 1_200_000 });

/** None of these scenarios needs a sandbox. */
const POINTS = [
  'question:implementer.model.after',
  'question:append.CLARIFICATION_ANSWERED.after+start.openActivities.before+planner.book.after',
  // Two commits of an integration are there, nobody knows of them, and another run is merged.
  'base-moved:integrate.commit.after#2~base',
  'children:merge.commit.after#2',
  // The forge has merged, and nobody knows of it.
  'pull-request:mergePullRequest.forge.PUT-merge.after',
];

describe('the crash sweep', () => {
  it('finds nothing wrong with a handful of points, one of them killed thrice', async () => {
    const said: string[] = [];
    const result = await sweep({
      // The boundaries of the others are not needed.
      scenarios: SCENARIOS.filter(({ name }) => POINTS.some((point) => point.startsWith(`${name}:`))),
      points: POINTS.length,
      only: POINTS,
      seed: 'test',
      workers: 2,
      minutes: 18,
      say: (line) => said.push(line),
    });
    const { lines, ok } = reportOn(result);
    expect({ said, ok }, lines.join('\n')).toEqual({ said: [expect.stringMatching(/boundaries in/)], ok: true });
    expect(result.played.map(({ reached }) => reached)).toEqual(POINTS.map(() => true));
    expect(lines.at(-1)).toMatch(
      /^crash-sweep: 5 points, 0 duplicates, 0 differences, [1-9] repeated model calls \(all booked\) in \d+ (?:s|min)$/,
    );
  });

  it('names what was done twice, what differs and what was not booked', async () => {
    const faults = await tamperedFaults();
    expect(faults.twice).toEqual([
      { kind: 'duplicate', effect: 'commit', what: expect.stringMatching(/^commit <run>\/\d+\/commitCode: 2 times/) },
      { kind: 'duplicate', effect: 'merge', what: 'merge main: 3 times instead of 2' },
      expect.objectContaining({ kind: 'difference' }),
    ]);
    expect(faults.unlike).toEqual([
      {
        kind: 'difference',
        what: expect.stringMatching(/^1 lines missing, 1 added\n- run: fixAttempts 0\n\+ run: fixAttempts 7$/),
      },
    ]);
    expect(faults.unbooked).toEqual([
      { kind: 'unbooked', what: expect.stringMatching(/planner while attempt 1 was booked, as before the crash$/) },
    ]);
    expect(faults.untouched).toEqual([]);
  });

  it('names a record with a wrong line, one that lags behind, one that leads to no commits and one that was written for nothing', async () => {
    const faults = await faultsOfChangedRecords();
    expect(faults.untouched).toEqual([]);
    expect(faults.changed).toEqual([
      expect.stringMatching(/^the record of run \S+ in git is not its events: line 2 is .*"origin":"input"/),
      expect.stringMatching(
        /^the record of run \S+ in git cannot be read back: line 1 of .* does not fit the hash chain/,
      ),
      expect.stringMatching(/^the record's commit \S+ has other events of run \S+ than the last one$/),
    ]);
    expect(faults.shorter).toEqual([
      expect.stringMatching(/^the record of run \S+ in git is not its events: line \d+ is {2}instead of \{/),
      expect.stringMatching(/^the record of run \S+ in git cannot be read back: /),
    ]);
    expect(faults.unrelated).toEqual(
      expect.arrayContaining([expect.stringMatching(/^the record does not lead to commit \S+ of run/)]),
    );
    expect(faults.idle).toEqual([expect.stringMatching(/^the record's commit \S+ changes nothing$/)]);
  });
});

type ChangedRecord = 'untouched' | 'changed' | 'shorter' | 'unrelated' | 'idle';

/** Faults found in the record of one undisturbed playback: as it is, and changed as a broken recorder would change it. */
async function faultsOfChangedRecords(): Promise<Record<ChangedRecord, readonly string[]>> {
  return playUndisturbed(async (playback) => {
    const { remote } = playback.world.place;
    const [{ view }] = playback.runs as [Playback['runs'][number]]; // the scenario has one
    const head = await ask(remote, 'rev-parse', 'autonomous/record');
    const log = `.autonomous/runs/${view.id}/events.jsonl`;
    const lines = (await ask(remote, 'show', `${head}:${log}`)).split('\n');
    /** The last commit of the record in another dress. */
    const told = async (text: string | null, parents: readonly string[]): Promise<readonly string[]> => {
      const tree = text === null ? `${head}^{tree}` : await treeWith(remote, head, log, text);
      const commit = await ask(remote, 'commit-tree', tree, ...parents.flatMap((id) => ['-p', id]), '-m', 'Record');
      await ask(remote, 'update-ref', 'refs/heads/autonomous/record', commit);
      const faults = await recordFaults(playback);
      await ask(remote, 'update-ref', 'refs/heads/autonomous/record', head);
      return faults.map(({ what }) => what);
    };
    const changed = lines.with(1, lines[1]!.replace('"origin":"emitted"', '"origin":"input"'));
    return {
      untouched: (await recordFaults(playback)).map(({ what }) => what),
      changed: await told(`${changed.join('\n')}\n`, [head]),
      shorter: await told(`${lines.slice(0, -1).join('\n')}\n`, [head]),
      unrelated: await told(null, []),
      idle: await told(null, [head]),
    };
  });
}

async function treeWith(remote: string, commit: string, file: string, text: string): Promise<string> {
  const env = { ...IDENTITY, GIT_INDEX_FILE: path.join(remote, 'judge.index') };
  const content = path.join(remote, 'judge.blob');
  await writeFile(content, text);
  const run = async (...args: string[]): Promise<string> => (await git(remote, args, env)).toString('utf8').trim();
  await run('read-tree', commit);
  await run('update-index', '--cacheinfo', `100644,${await run('hash-object', '-w', content)},${file}`);
  return run('write-tree');
}

/** What is said of one undisturbed playback, left as it is and changed in ways that a broken engine would. */
async function tamperedFaults(): Promise<Record<'untouched' | 'unlike' | 'unbooked' | 'twice', readonly Fault[]>> {
  return playUndisturbed(async (playback, scenario) => {
    const reference: Reference = await refer(scenario, playback);
    const faultsOf = async (changed: Partial<Playback>): Promise<readonly Fault[]> =>
      (await judge(scenario, reference, { ...playback, ...changed })).faults;
    const untouched = await faultsOf({});
    const unlike = await faultsOf({
      runs: playback.runs.map((run) => ({ ...run, view: { ...run.view, fixAttempts: 7 } })),
    });
    const lives = playback.lives.map((life) => ({ ...life, end: 'killed' as const }));
    const [key] = lives.flatMap(({ ledger }) => ledger.flatMap((line) => ('asks' in line ? [line.asks.key] : [])));
    const again = {
      ledger: [{ asks: { key: key!, attempt: 1 } }, ...lives[0]!.ledger.slice(-1)],
      log: '',
      end: 'stopped' as const,
      waits: [],
    };
    const unbooked = await faultsOf({ lives: [...lives, again] });
    await commitAgain(playback.world.place.remote, 'commitCode');
    return { untouched, unlike, unbooked, twice: await faultsOf({}) };
  });
}

async function playUndisturbed<Result>(
  look: (playback: Playback, scenario: Scenario) => Promise<Result>,
): Promise<Result> {
  const scenario = SCENARIOS.find(({ name }) => name === 'question')!;
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-judge-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const template = path.join(folder, 'template.git');
  const compileCache = path.join(folder, 'compiled');
  await mkdir(compileCache);
  await makeRemote(template, FILES);
  return play({ scenario, kills: [], makePlace: () => makePlace(template), compileCache }, (playback) =>
    look(playback, scenario),
  );
}

/** The commit of an activity once more, on top of what is there. */
async function commitAgain(remote: string, activity: string): Promise<void> {
  const message = await ask(remote, 'log', '-1', '--format=%B', `--grep=/${activity}$`, 'main');
  const commit = await ask(remote, 'commit-tree', 'main^{tree}', '-p', 'main', '-m', message);
  await ask(remote, 'update-ref', 'refs/heads/main', commit);
}

async function ask(remote: string, ...args: string[]): Promise<string> {
  return (await git(remote, args, IDENTITY)).toString('utf8').trim();
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};
