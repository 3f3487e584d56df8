/**
 * Records golden histories and accepts changed sources of a released version.
 *
 * Usage: node golden/main.ts record [--real] [--rewrite]
 *        node golden/main.ts accept [--data FOLDER ...]
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { WorkflowEvent } from '@autonomous/shared';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import { newRun } from '../src/core/advance.ts';
import { replay } from '../src/core/replay.ts';
import { differenceIn, eventsOf, hasSameView, historyOf } from './history.ts';
import { pinnedNow, released } from './released.ts';
import { scenariosOf } from './scenarios-of.ts';
import { readHistories, readVersions, rewriteEnds, writeHistories, writeVersions } from './store.ts';

const USAGE = `Usage: npm run golden:record [-- --real] [-- --rewrite]
         records the driven histories of each workflow's newest version; --real plays the real runs on a server too;
         --rewrite also where recorded histories no longer replay: only for a version that no server has run yet
       npm run golden:accept [-- --data FOLDER]
         pins changed sources, when all golden histories and all runs in the data folders replay identically`;

process.exitCode = await main(process.argv.slice(2));

async function main([command, ...args]: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      real: { type: 'boolean', default: false },
      rewrite: { type: 'boolean', default: false },
      data: { type: 'string', multiple: true, default: [] },
    },
  });
  if (command === 'record') return record(values.real, values.rewrite);
  if (command === 'accept') return accept(values.data);
  say(USAGE);
  return 64;
}

async function record(real: boolean, rewrite: boolean): Promise<number> {
  for (const { definition } of released.filter(isNewest)) {
    const changed = rewrite ? [] : changesOf(definition);
    if (changed.length > 0) {
      say(
        `${changed.join('\n')}\n\nRecorded histories no longer replay, so a new version is needed; see golden/README.md.`,
      );
      return 1;
    }
    const seen = new Set<string>();
    const isNew = (state: unknown): boolean => {
      const key = JSON.stringify(state);
      return !seen.has(key) && seen.add(key).size > 0;
    };
    const driven = Object.entries(await scenariosOf(definition.name)).map(([shows, drive]) =>
      historyOf(definition, shows, drive().events, isNew),
    );
    writeHistories(definition, 'driven', driven);
    say(`${definition.name} ${definition.version}: ${driven.length} histories`);
    if (!real) continue;
    const { realRuns } = await import('./real-runs.ts');
    const runs = await realRuns(definition.name);
    writeHistories(
      definition,
      'real',
      runs.map(({ shows, events }) => historyOf(definition, shows, events)),
    );
    say(`${definition.name} ${definition.version}: ${runs.length} real runs`);
  }
  return accept([]);
}

/** Pins the sources as they are now, when nothing that was ever recorded goes another way under them. */
async function accept(dataFolders: readonly string[]): Promise<number> {
  const changed = released.flatMap(({ definition }) => changesOf(definition));
  for (const folder of dataFolders) changed.push(...(await changesIn(folder)));
  if (changed.length > 0) {
    say(`${changed.join('\n')}\n\nNothing is accepted: make a new version and keep the old one; see golden/README.md.`);
    return 1;
  }
  const versions: Record<string, Record<string, ReturnType<typeof pinnedNow>>> = {};
  const before = readVersions();
  for (const [name, pinned] of Object.entries(before)) versions[name] = { ...pinned };
  for (const { definition, files } of released) {
    const { name, version } = definition;
    const now = pinnedNow({ files });
    const known = before[name]?.[version];
    versions[name] = { ...versions[name], [version]: now };
    if (known?.fingerprint === now.fingerprint) say(`${name} ${version}: as it was`);
    else say(`${name} ${version}: ${known ? `accepted, ${sourcesChanged(known.sources, now.sources)}` : 'pinned'}`);
    for (const stored of readHistories(definition)) {
      if (hasSameView(definition, stored.history)) continue;
      const { ends } = historyOf(definition, '', eventsOf(definition, stored.history));
      rewriteEnds(stored.file, ends);
      say(`${stored.file}: the read model is another one now`);
    }
  }
  writeVersions(versions);
  return 0;
}

function changesOf(definition: WorkflowDefinition): string[] {
  return readHistories(definition).flatMap(({ file, history }) => {
    const difference = differenceIn(definition, history);
    return difference ? [`${file}: event ${difference.sequence}: ${difference.message}`] : [];
  });
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
  const versions = (wanted: number) =>
    released.find(({ definition }) => definition.name === name && definition.version === wanted)?.definition;
  const definition = versions(version);
  if (!definition) return null;
  const replayed = replay(definition, newRun(first.workflowRunId), events, versions);
  return replayed.ok ? null : `event ${replayed.sequence}: ${replayed.message}`;
}

function isNewest({ definition }: (typeof released)[number]): boolean {
  return released.every(
    (other) => other.definition.name !== definition.name || other.definition.version <= definition.version,
  );
}

function sourcesChanged(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): string {
  const files = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (file) => before[file] !== now[file],
  );
  return `changed: ${files.join(', ')}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
