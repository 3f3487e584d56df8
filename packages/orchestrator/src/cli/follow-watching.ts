/** Follows a run that itself decides about gates of its child runs at which an attempt has come to nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Gate, WorkflowEvent } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { followFamily, openChildren } from './follow-family.ts';
import { gateLines } from './follow-started.ts';
import { type CliIo, note, say } from './io.ts';
import { workflowOfRun } from './run-workflow.ts';

/** The run itself decides within this time. */
const OWN_DECISION_MS = 4_000;

interface Watched {
  readonly client: Client;
  readonly io: CliIo;
  readonly runId: string;
  readonly json: boolean;
  /** As in `followFamily`. */
  readonly onEvent?: ((event: WorkflowEvent) => void) | undefined;
}

/** Follows the run until it has ended, or until a person has to decide. Says then how, unless the output is JSON. */
export async function followWatching({ client, io, runId, json, onEvent }: Watched) {
  let followed = await followFamily({ client, io, runId, json, onEvent });
  while (!followed.interrupted && followed.gates.length > 0 && !followed.gates.some((gate) => gate.runId === runId)) {
    const toldUpTo = await lastPosition(client, [runId, ...followed.gates.map((gate) => gate.runId)]);
    await sleep(OWN_DECISION_MS);
    const [run, children] = await Promise.all([client.getRun(runId), openChildren(client, runId)]);
    const isSame = children.some(({ gate }) => followed.gates.some(({ id }) => id === gate?.id));
    if (run.status === 'awaiting_children' && isSame) break;
    followed = await followFamily({ client, io, runId, json, toldUpTo, onEvent });
  }
  const { gates, interrupted } = followed;
  if (!json) {
    if (interrupted) note(io, `The run continues. Follow it with: ${io.program} watch ${runId}`);
    else for (const gate of gates) for (const text of await linesOf(io, client, gate)) say(io, text);
  }
  return followed;
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
