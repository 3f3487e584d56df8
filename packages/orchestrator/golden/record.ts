/**
 * Records golden histories anew and prints what changed in each. Versions that are released are replayed first: where one of their
 * histories goes another way, nothing is recorded.
 *
 * Usage: node golden/record.ts [--real] [--data FOLDER ...]
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { WorkflowEvent } from '@autonomous/shared';
import { newRun } from '../src/core/advance.ts';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { replay } from '../src/core/replay.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { changesBetween } from './changes.ts';
import { differencesOf, eventsOf, hasSameView, type History, historyOf } from './history.ts';
import { changedPins, pinsNow, readPins, writePins } from './pins.ts';
import { scenariosOf } from './scenarios-of.ts';
import { isNewest, isReleased, readReleased, shipped } from './shipped.ts';
import { addHistories, readHistories, replaceHistories, rewriteEnds, type StoredHistory } from './store.ts';

const released = readReleased();
const kept = shipped.filter((definition) => isReleased(definition, released));

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { real: { type: 'boolean', default: false }, data: { type: 'string', multiple: true, default: [] } },
  });
  const changed = kept.flatMap((definition) => differencesOf(definition, readHistories(definition)));
  for (const folder of values.data) changed.push(...(await changesIn(folder)));
  if (changed.length > 0) {
    say(`${changed.join('\n')}\n\nNothing is recorded: released versions go another way; see golden/README.md.`);
    return 1;
  }
  for (const definition of shipped.filter(isNewest)) await recordAll(definition, values.real);
  for (const definition of kept) renewViews(definition);
  const pins = pinsNow(released);
  const repinned = changedPins(readPins(), pins);
  if (repinned.length > 0) say(`pinned anew: ${repinned.join(', ')}`);
  writePins(pins);
  return 0;
}

/** The histories of a released version stay as they are, but for what people are shown of them. */
function renewViews(definition: WorkflowDefinition): void {
  for (const { file, history } of readHistories(definition)) {
    if (hasSameView(definition, history)) continue;
    rewriteEnds(file, historyOf(definition, '', eventsOf(definition, history)).ends);
    say(`${file}\n  view: what people are shown of it`);
  }
}

async function recordAll(definition: WorkflowDefinition, isReal: boolean): Promise<void> {
  const seen = new Set<string>();
  const isNew = (state: unknown): boolean => seen.size < seen.add(JSON.stringify(state)).size;
  const driven = Object.entries(await scenariosOf(definition.name)).map(([shows, drive]) =>
    historyOf(definition, shows, drive().events, isNew),
  );
  write(definition, 'driven', driven);
  if (!isReal) return;
  const { realRuns } = await import('./real-runs.ts');
  const real = await realRuns(definition.name);
  if (real.length === 0) return;
  write(
    definition,
    'real',
    real.map(({ shows, events }) => historyOf(definition, shows, events)),
  );
}

/** Histories of a released version stay, and others come to them. */
function write(definition: WorkflowDefinition, kind: 'driven' | 'real', histories: readonly History[]): void {
  const before = readHistories(definition);
  if (isReleased(definition, released)) addHistories(definition, kind, histories);
  else replaceHistories(definition, kind, histories);
  const now = readHistories(definition);
  say(`${definition.name} ${definition.version}: ${now.length} histories`);
  const named = (list: readonly StoredHistory[], file: string): History | undefined =>
    list.find((each) => each.file === file)?.history;
  for (const file of [...new Set([...before, ...now].map((each) => each.file))].sort()) {
    const [was, is] = [named(before, file), named(now, file)];
    const changes = was === undefined ? ['new'] : is === undefined ? ['gone'] : changesBetween(was, is);
    if (changes.length > 0) say([file, ...changes].join('\n  '));
  }
}

/** Runs in a data folder whose server is stopped that would go another way now. */
async function changesIn(folder: string): Promise<string[]> {
  const store = openSqliteEventStore({ file: path.join(folder, 'orchestrator.db') });
  try {
    const changed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listRuns({ cursor, limit: 200 });
      for (const { id } of page.items) {
        const fault = faultOf(await store.readRun(id, 0));
        if (fault !== null) changed.push(`run ${id} in ${folder}: ${fault}`);
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return changed;
  } finally {
    await store.close();
  }
}

function faultOf(events: readonly WorkflowEvent[]): string | null {
  const [first] = events;
  if (!first) return null;
  // A run begins with its start, at once or in the queue.
  const start = (first.payload['start'] ?? first.payload) as { readonly workflow: { name: string; version: number } };
  const { name, version } = start.workflow;
  const versions = (wanted: number): WorkflowDefinition | undefined =>
    kept.find((definition) => definition.name === name && definition.version === wanted);
  const definition = versions(version);
  if (!definition) return null;
  const replayed = replay(definition, newRun(first.workflowRunId), events, versions);
  return replayed.ok ? null : `event ${replayed.sequence}: ${replayed.message}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
