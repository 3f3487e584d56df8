/**
 * Makes steps of the events of databases that had one row an event, whose hashes were text: each event becomes a step of
 * its own. What was damaged before stays noticed: its old hashes are kept where they do not fit.
 */
import { hash } from 'node:crypto';
import { CHAIN_START, linkStep } from '../hash-chain.ts';
import type { Connection } from './sqlite-connection.ts';

interface OldEvent {
  readonly position: number;
  readonly runId: string;
  readonly run: number;
  readonly sequence: number;
  readonly type: string;
  readonly origin: 'input' | 'emitted';
  readonly payload: string;
  readonly at: number;
  readonly payloadHash: string;
  readonly hash: string;
}

interface OldRun {
  readonly number: number;
  readonly lastSequence: number;
  readonly tip: string;
  readonly view: string;
  readonly snapshot: string | null;
  readonly snapshotSequence: number | null;
}

/** Fills what the migration left empty from `old_events`, `old_runs` and `old_snapshots`, then drops the old tables. */
export function convertEvents(connection: Connection): void {
  const run = connection.prepare<[number], OldRun>(
    `SELECT run.number, old.last_sequence AS lastSequence, old.tip, old.view, snapshot.data AS snapshot,
       snapshot.sequence AS snapshotSequence
     FROM workflow_runs AS run JOIN old_runs AS old ON old.id = run.id
     LEFT JOIN old_snapshots AS snapshot ON snapshot.run_id = run.id
     WHERE run.number = ?`,
  );
  const saveView = connection.prepare('INSERT INTO run_views (run, sequence, view, hash) VALUES (?, ?, ?, ?)');
  const saveSnapshot = connection.prepare('INSERT INTO snapshots (run, sequence, data, hash) VALUES (?, ?, ?, ?)');
  for (const number of connection.prepare<[], number>('SELECT number FROM workflow_runs').pluck().all()) {
    const old = run.get(number);
    if (old === undefined) continue;
    convertRun(connection, old);
    saveView.run(number, old.lastSequence, old.view, sha256(old.view));
    if (old.snapshot !== null) saveSnapshot.run(number, old.snapshotSequence, old.snapshot, sha256(old.snapshot));
  }
  for (const table of [
    'old_snapshots',
    'old_timers',
    'old_activities',
    'old_clarifications',
    'old_events',
    'old_runs',
  ]) {
    connection.exec(`DROP TABLE ${table}`);
  }
}

function convertRun(connection: Connection, { number, tip }: OldRun): void {
  const events = connection.prepare<[number], OldEvent>(
    `SELECT position, run.id AS runId, run.number AS run, sequence, type, origin, payload, timestamp AS at,
       payload_hash AS payloadHash, hash
     FROM workflow_runs AS run JOIN old_events ON workflow_run_id = run.id
     WHERE run.number = ? ORDER BY sequence`,
  );
  const insert = connection.prepare(
    'INSERT INTO workflow_steps (position, run, sequence, at, events, hashes, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  let oldPrevious = CHAIN_START.hash;
  let previous = CHAIN_START.hash;
  for (const event of events.all(number)) {
    const { runId, position, sequence, type, payload, at, payloadHash } = event;
    const origin = event.origin === 'emitted' ? 1 : 0;
    const isSound = event.hash === oldLink(oldPrevious, event);
    const link = linkStep(previous, runId, { sequence, at, events: [{ type, origin, payload, payloadHash, at: 0 }] });
    oldPrevious = event.hash;
    previous = isSound ? link : event.hash;
    const text = `[[${JSON.stringify(type)},${origin},${payload}]]`;
    insert.run(position, number, sequence, at, text, fromHex(payloadHash), fromHex(previous));
  }
  if (tip === oldPrevious) {
    connection.prepare('UPDATE workflow_runs SET tip = ? WHERE number = ?').run(fromHex(previous), number);
  }
}

/** How an event was linked to its predecessor. */
function oldLink(previous: string, { runId, sequence, type, origin, at, payloadHash }: OldEvent): string {
  return hash('sha256', JSON.stringify([previous, runId, sequence, type, origin, at, payloadHash]));
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function fromHex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}
