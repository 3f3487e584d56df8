import { PassThrough } from 'node:stream';
import type { RunView, WorkflowEvent } from '@autonomous/shared';
import { aGate, aRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import type { Client } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { followWatching } from './follow-watching.ts';
import type { CliIo } from '../io.ts';

const stream = new PassThrough().resume();
const io: CliIo = { stdin: stream, stdout: stream, stderr: stream, env: {}, cwd: '/', program: 'autonomous' };

const event = (position: number, type: string, payload: object = {}): WorkflowEvent =>
  ({
    id: `e-${position}`,
    position,
    workflowRunId: 'parent',
    sequence: position,
    type,
    origin: 'emitted',
    payload,
    timestamp: new Date(Date.UTC(2030, 0, 1, 0, position)).toISOString(),
  }) as unknown as WorkflowEvent;

const { workflow, projectId, userId, originalRequest, branch, config } = aRun();
const START = { workflow, projectId, userId, request: originalRequest, branch, config };
const gate = aGate({ id: 'child.4', runId: 'child', openedAt: '2030-01-01T00:03:00.000Z' });
const waiting = aRun({ id: 'child', status: 'awaiting_approval', gate, lastSequence: 4 });
const parent = aRun({ id: 'parent', status: 'awaiting_children', lastSequence: 2 });

/** A server whose run decides after so many looks. @param says what the run says when it does not decide */
function aClient(options: { readonly looks: number; readonly says?: WorkflowEvent; readonly events?: object }) {
  const told = [event(1, 'RUN_STARTED', START), event(2, 'FEATURES_LISTED')];
  let looks = 0;
  let follows = 0;
  const isOver = (): boolean => looks >= options.looks && options.says === undefined;
  const client = {
    listWorkflows: async () => [aWorkflow({ events: (options.events ?? { FEATURE_WAITS: { text: '' } }) as never })],
    listEvents: async () => told.slice(0, 1),
    listRuns: async () => ({ items: isOver() ? [] : [waiting], nextCursor: null }),
    followFeed: async ({ onEvent }: { readonly onEvent: (event: WorkflowEvent) => void }) => {
      follows += 1;
      for (const each of told) onEvent(each);
      if (looks >= options.looks && options.says !== undefined) onEvent(options.says);
    },
    getRun: async (id: string): Promise<RunView> => {
      if (id === 'child') return waiting;
      looks += 1;
      if (isOver()) return { ...parent, status: 'completed', lastSequence: 9 };
      return looks >= options.looks ? { ...parent, lastSequence: 4 } : parent;
    },
  };
  return { client: client as unknown as Client, follows: () => follows };
}

const watch = (client: Client) => followWatching({ client, io, runId: 'parent', json: true });

it('follows on where the run itself decides about the gate of a child run, also late', async () => {
  // Two looks are those of the following; then one a second.
  const { client } = aClient({ looks: 9 });
  const { run, gates } = await watch(client);
  expect(run.status).toBe('completed');
  expect(gates).toEqual([]);
});

it('ends as soon as the run says that a person has to decide', async () => {
  const { client, follows } = aClient({ looks: 3, says: event(4, 'FEATURE_WAITS') });
  const startedAt = Date.now();
  expect((await watch(client)).gates).toEqual([gate]);
  expect(follows()).toBe(2);
  expect(Date.now() - startedAt).toBeLessThan(15_000);
});

it('ends at once where the workflow leaves gates of child runs to a person', async () => {
  const { client, follows } = aClient({ looks: 99, events: {} });
  expect((await watch(client)).gates).toEqual([gate]);
  expect(follows()).toBe(1);
});
