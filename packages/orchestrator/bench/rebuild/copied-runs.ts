/**
 * Makes many runs of one that was played: the same inputs under another id, through the product's own steps, store and record
 * writer, with commits of their own in git.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject, Project, WorkflowEvent } from '@autonomous/shared';
import { pino } from 'pino';
import { advance } from '../../src/core/advance.ts';
import type { WorkflowDefinition } from '../../src/core/definition.ts';
import { createRegistry } from '../../src/core/registry.ts';
import { systemClock } from '../../src/engine/clock.ts';
import { unbegunRun } from '../../src/engine/live/live-run.ts';
import { commitOf } from '../../src/engine/run-commit.ts';
import { RunRecordWriter } from '../../src/record/run-record-writer.ts';
import { Transcripts } from '../../src/engine/transcripts.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { createGitRepository } from '../../src/repository/git-repository.ts';
import { withChildren } from '../../src/workflows/workflow.ts';
import { workflows } from '../../src/workflows/index.ts';

export interface CopyOptions {
  /** Data folder of a server that has stopped, whose only run is copied. */
  readonly dataFolder: string;
  readonly store: EventStore;
  readonly copies: number;
}

/** Runs whose record is written in one commit. */
const AT_ONCE = 25;
const OBJECT_ID = /\b[0-9a-f]{40}\b/g;
/** Where copies stop, in turn: most runs of a project have ended. */
const ENDS: readonly (string | null)[] = [
  ...Array.from({ length: 17 }, () => null),
  'APPROVAL_GRANTED',
  'APPROVAL_GRANTED',
  'CLARIFICATION_ANSWERED',
];

export async function copyRuns({ dataFolder, store, copies }: CopyOptions): Promise<void> {
  const { items } = await store.listRuns({ limit: 1 });
  const [original] = items;
  const project = original === undefined ? null : await store.getProject(original.projectId);
  if (original === undefined || project === null) throw new Error('There is no run to copy.');
  const events = await store.readRun(original.id, 0);
  const registry = createRegistry(withChildren(workflows).flatMap(({ versions }) => versions));
  const definition = registry.find(original.workflow.name, original.workflow.version);
  if (definition === undefined) throw new Error(`There is no workflow '${original.workflow.name}'.`);
  const mirror = path.join(dataFolder, 'mirrors', `${project.id}.git`);
  const commits = await ownCommits(mirror, project, events);
  const transcripts = path.join(dataFolder, 'transcripts');
  const transcript = await readFile(path.join(transcripts, `${original.id}.jsonl`), 'utf8').catch(() => '');
  const recorder = await aRecorder(dataFolder, store);
  for (let from = 1; from <= copies; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, copies - from + 1) }, (_, index) => from + index);
    const runs = numbers.map((number) => ({
      runId: `bench0-${String(number).padStart(6, '0')}`,
      inputs: inputsUntil(events, ENDS[number % ENDS.length] ?? null),
    }));
    const ids = await copyCommits(
      mirror,
      commits,
      runs.map(({ runId }) => [original.id, runId]),
    );
    for (const [index, { runId, inputs }] of runs.entries()) {
      const rename = (text: string): string =>
        text.replaceAll(original.id, runId).replace(OBJECT_ID, (id) => ids[index]?.get(id) ?? id);
      await writeFile(path.join(transcripts, `${runId}.jsonl`), rename(transcript));
      recorder.receive(await storeRun(store, definition, runId, inputs, rename));
    }
    await recorder.settled();
  }
  await recorder.stop();
}

async function aRecorder(dataFolder: string, store: EventStore): Promise<RunRecordWriter> {
  const repository = createGitRepository({
    folder: path.join(dataFolder, 'mirrors'),
    author: { name: 'Bench', email: 'bench@autonomous.invalid' },
  });
  const recorder = new RunRecordWriter({
    store,
    repository,
    transcripts: new Transcripts(path.join(dataFolder, 'transcripts')),
    clock: systemClock,
    log: pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
    scrub: (text) => text,
    serverId: 'bench',
    // Without the search for secrets, which is no part of a rebuild.
    objectsOf: (project, _view, log) => repository.gather(project, [...new Set(log.match(OBJECT_ID))]),
  });
  await recorder.start();
  return recorder;
}

/** Inputs up to the first of a type, which is left out; all for `null`. */
function inputsUntil(events: readonly WorkflowEvent[], end: string | null): readonly WorkflowEvent[] {
  const at = end === null ? -1 : events.findIndex(({ type }) => type === end);
  return (at === -1 ? events : events.slice(0, at)).filter(({ origin }) => origin === 'input');
}

async function storeRun(
  store: EventStore,
  definition: WorkflowDefinition,
  runId: string,
  inputs: readonly WorkflowEvent[],
  rename: (text: string) => string,
) {
  const run = unbegunRun(definition, runId);
  const stored: Promise<readonly WorkflowEvent[]>[] = [];
  for (const { type, payload, timestamp } of inputs) {
    const input = { type, payload: JSON.parse(rename(JSON.stringify(payload))) as JsonObject, timestamp };
    const before = run.state;
    const step = advance(definition, before, input);
    if (!step.ok) throw new Error(`Run ${runId} does not take ${type} at event ${before.sequence + 1}.`);
    stored.push(store.append(commitOf(run, before, [{ input, step }], undefined)));
  }
  return { events: (await Promise.all(stored)).flat(), view: run.view };
}

interface OwnCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
}

/** Commits of the run that its events name, with those between them, parents first. */
async function ownCommits(
  mirror: string,
  { baseBranch }: Project,
  events: readonly WorkflowEvent[],
): Promise<readonly OwnCommit[]> {
  const base = events.find(({ type }) => type === 'RUN_CONFIGURED')?.payload['baseCommit'];
  const named = [...new Set(JSON.stringify(events).match(OBJECT_ID))];
  const types = await git(mirror, ['cat-file', '--batch-check=%(objectname) %(objecttype)'], `${named.join('\n')}\n`);
  const ids = types.split('\n').flatMap((line) => (line.endsWith(' commit') ? [line.slice(0, 40)] : []));
  const from = typeof base === 'string' ? base : baseBranch;
  const list = await git(mirror, ['rev-list', '--topo-order', '--reverse', ...ids, `^${from}`]);
  return Promise.all(
    list
      .split('\n')
      .filter((id) => id !== '')
      .map(async (id): Promise<OwnCommit> => {
        const text = await git(mirror, ['cat-file', 'commit', id]);
        const end = text.indexOf('\n\n');
        const values = (name: string): string[] =>
          [...text.slice(0, end).matchAll(new RegExp(`^${name} ([0-9a-f]{40})$`, 'gm'))].map(([, value = '']) => value);
        return { id, tree: values('tree')[0] ?? '', parents: values('parent'), message: text.slice(end + 2) };
      }),
  );
}

/** @returns for each pair of ids, which commit stands for which */
async function copyCommits(
  mirror: string,
  commits: readonly OwnCommit[],
  runs: readonly (readonly [string, string])[],
): Promise<readonly ReadonlyMap<string, string>[]> {
  const lines: string[] = [];
  const marks = runs.map(([original, runId], run) => {
    const markOf = new Map(commits.map(({ id }, index) => [id, run * commits.length + index + 1]));
    for (const { id, tree, parents, message } of commits) {
      const text = message.replaceAll(original, runId);
      const [first, ...others] = parents.map((parent) => (markOf.has(parent) ? `:${markOf.get(parent)}` : parent));
      lines.push(
        `commit refs/heads/autonomous/${runId}`,
        `mark :${markOf.get(id)}`,
        'committer Bench <bench@autonomous.invalid> 1700000000 +0000',
        `data ${Buffer.byteLength(text)}\n${text}`,
        ...(first === undefined ? [] : [`from ${first}`]),
        ...others.map((parent) => `merge ${parent}`),
        'deleteall',
        `M 040000 ${tree} ""`,
        '',
      );
    }
    return markOf;
  });
  const file = path.join(mirror, 'bench-marks');
  await git(mirror, ['fast-import', '--quiet', '--force', `--export-marks=${file}`], lines.join('\n'));
  const made = new Map(
    (await readFile(file, 'utf8')).split('\n').flatMap((line) => {
      const [, mark, id] = /^:(\d+) ([0-9a-f]{40})$/.exec(line) ?? [];
      return mark === undefined || id === undefined ? [] : [[Number(mark), id] as const];
    }),
  );
  return marks.map((markOf) => new Map([...markOf].map(([id, mark]) => [id, made.get(mark) ?? id])));
}

async function git(folder: string, args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)('git', ['--git-dir', folder, ...args], { maxBuffer: 2 ** 28 });
  // Commands that read nothing may have ended by now.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  return (await running).stdout;
}
