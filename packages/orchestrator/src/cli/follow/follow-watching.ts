/**
 * Follows a run with its child runs until it ends or a person has to decide. The run itself may decide about gates of its child runs
 * at which an attempt has come to nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FINAL_STATUSES, type Gate, type RunView, type WorkflowEvent } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { followFamily, openChildren } from './follow-family.ts';
import type { AskPerson } from './follow.ts';
import { gateLines } from '../gates/gate-lines.ts';
import { type CliIo, note, say } from '../io.ts';
import { resultLines } from './result-lines.ts';
import { leftLine } from '../run-texts.ts';
import { workflowOfRun } from '../run-workflow.ts';

/** A run that decides about gates of its child runs has done so within this time, also on a busy machine. */
const OWN_DECISION_MS = 60_000;
const BETWEEN_LOOKS_MS = 1_000;
/** Facts by which such a run says that a person has to decide, such as `FEATURE_WAITS`. */
const SAYS_SO = /_WAITS$/;

interface Watched {
  readonly client: Client;
  readonly io: CliIo;
  readonly runId: string;
  readonly json: boolean;
  /** As in `followFamily`. */
  readonly onEvent?: ((event: WorkflowEvent) => void) | undefined;
  /** As in `followFamily`. */
  readonly toldUpTo?: number;
  /** Is asked about each gate that waits. Absent: the following ends there. */
  readonly person?: AskPerson | undefined;
}

/** Follows the run until it has ended, or until a person has to decide elsewhere. Says then how, unless the output is JSON. */
export async function followWatching(watched: Watched) {
  const { client, io, runId, json, person } = watched;
  let followed = await followUntilDecided(watched);
  if (person !== undefined) {
    for (let gate = followed.gates[0]; gate !== undefined; gate = followed.gates[0]) {
      if (followed.interrupted || !(await askAbout(client, gate, person))) break;
      const toldUpTo = await lastPosition(client, [runId, ...followed.gates.map((each) => each.runId)]);
      followed = await followUntilDecided({ ...watched, toldUpTo });
    }
  }
  const { gates, interrupted } = followed;
  if (!json) {
    if (interrupted) note(io, leftLine(runId, gates, io.program));
    for (const gate of gates) for (const text of await linesOf(io, client, gate)) say(io, text);
    for (const text of await resultLines(io, client, followed.run)) say(io, text);
  }
  return followed;
}

/** Until the run has ended, or a gate is open that the run itself does not decide. */
async function followUntilDecided(watched: Watched) {
  const { client, io, runId, json } = watched;
  let saidAt = '';
  let toldUpTo = watched.toldUpTo ?? 0;
  let seen = 0;
  const onEvent = (event: WorkflowEvent): void => {
    toldUpTo = Math.max(toldUpTo, event.position);
    if (event.workflowRunId === runId) {
      seen = event.sequence;
      if (SAYS_SO.test(event.type)) saidAt = event.timestamp;
    }
    watched.onEvent?.(event);
  };
  for (;;) {
    const followed = await followFamily({ client, io, runId, json, toldUpTo, onEvent });
    const { gates, interrupted, run } = followed;
    if (interrupted || FINAL_STATUSES.has(run.status)) return followed;
    // The run has gone on since its last event that was told.
    if (gates.length === 0 || run.lastSequence > seen) continue;
    const isOfRun = gates.some((gate) => gate.runId === runId);
    const isSaid = gates.some(({ openedAt }) => saidAt >= openedAt);
    if (isOfRun || isSaid || !(await decidesItself(client, run, gates))) return followed;
  }
}

/** Waits for what a run does about gates of its child runs. @returns false when a person has to decide about them */
async function decidesItself(client: Client, before: RunView, gates: readonly Gate[]): Promise<boolean> {
  const workflow = await workflowOfRun(client, before);
  if (!Object.keys(workflow?.events ?? {}).some((type) => SAYS_SO.test(type))) return false;
  for (let waitedMs = 0; waitedMs < OWN_DECISION_MS; waitedMs += BETWEEN_LOOKS_MS) {
    await sleep(BETWEEN_LOOKS_MS);
    const [run, children] = await Promise.all([client.getRun(before.id), openChildren(client, before.id)]);
    const isSame = children.some(({ gate }) => gates.some(({ id }) => id === gate?.id));
    // The run has said something of it, or has gone on.
    if (!isSame || run.status !== 'awaiting_children' || run.lastSequence > before.lastSequence) return true;
  }
  return false;
}

/** Asks about a gate until it is decided, here or elsewhere. @returns false when the person leaves */
async function askAbout(client: Client, gate: Gate, person: AskPerson): Promise<boolean> {
  const decided = new AbortController();
  const after = await lastPosition(client, [gate.runId]);
  const look = async (): Promise<void> => {
    if ((await client.getRun(gate.runId)).gate?.id !== gate.id) decided.abort();
  };
  const following = client.followFeed({
    after,
    runIds: [gate.runId],
    signal: decided.signal,
    // A look that fails is repeated at the next event; the decision itself tells the person what is wrong.
    onEvent: () => void look().catch(() => undefined),
  });
  try {
    return await person(gate, decided.signal);
  } finally {
    decided.abort();
    await following;
  }
}

/** The latest position of the feed that was told of these runs. */
async function lastPosition(client: Client, runIds: readonly string[]): Promise<number> {
  const positions = await Promise.all(
    runIds.map(async (id) => {
      const { lastSequence } = await client.getRun(id);
      return (await client.listEvents(id, Math.max(0, lastSequence - 1), 1))[0]?.position ?? 0;
    }),
  );
  return Math.max(...positions);
}

/** Lines about an open gate: its summary, and the commands that decide it. */
async function linesOf(io: CliIo, client: Client, gate: Gate): Promise<readonly string[]> {
  const run = await client.getRun(gate.runId);
  return [gate.summary, ...gateLines(io, gate, { run, workflow: await workflowOfRun(client, run) })];
}
