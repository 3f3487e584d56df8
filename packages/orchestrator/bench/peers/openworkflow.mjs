/**
 * OpenWorkflow on SQLite, which syncs each commit (`node:sqlite` comes with FULL). A worker asks the database for work,
 * less often the longer there was none. The gate waits for a signal, the approval sends it.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenWorkflow } from 'openworkflow';
import { BackendSqlite } from 'openworkflow/sqlite';
import { workload, Workload } from '../contest/contender.ts';

/** Runs that its worker carries out at the same time; as it comes it is one. */
const CONCURRENCY = 50;
const ASK_AGAIN_MS = 5;

/** @type {import('../contest/contender.ts').OpenContender} */
export async function open({ folder }) {
  const backend = BackendSqlite.connect(path.join(folder, 'openworkflow.db'));
  const client = new OpenWorkflow({ backend });
  const waiting = new Map();
  const change = client.defineWorkflow({ name: 'change' }, async ({ input: { id }, step }) => {
    await step.run({ name: 'planning' }, () => workload.plan(id));
    waiting.get(id)?.();
    waiting.delete(id);
    await step.waitForSignal({ signal: `approval of ${id}`, timeout: '10d' });
    await step.run({ name: 'implementing' }, () => workload.implement(id));
    return step.run({ name: 'validating' }, () => workload.validate(id));
  });
  const growth = client.defineWorkflow({ name: 'growth' }, async ({ input: { id, steps }, step }) => {
    const messages = [];
    while (messages.length < steps) {
      messages.push(await step.run({ name: `growing ${messages.length}` }, () => workload.grow()));
    }
    return workload.validate(id);
  });
  const worker = client.newWorker({ concurrency: CONCURRENCY });
  await worker.start();
  return {
    async start(id) {
      const atGate = new Promise((resolve) => {
        waiting.set(id, resolve);
      });
      await change.run({ id });
      await atGate;
    },
    async approve(id) {
      const validated = workload.validated(id);
      const runId = await signal(client, id);
      // Its own handle asks once a second whether the run has ended, which would measure that second.
      await validated;
      Workload.check(id, await resultOf(backend, runId));
    },
    async grow(id, steps) {
      const validated = workload.validated(id);
      const { workflowRun } = await growth.run({ id, steps });
      await validated;
      Workload.check(id, await resultOf(backend, workflowRun.id));
    },
    async close() {
      await worker.stop();
      await backend.stop();
    },
  };
}

/** A signal that nobody waits for yet is dropped, so it is sent until one run has taken it. */
async function signal(client, id) {
  for (;;) {
    const { workflowRunIds } = await client.sendSignal({ signal: `approval of ${id}`, data: true });
    if (workflowRunIds.length > 0) return workflowRunIds[0];
    await sleep(ASK_AGAIN_MS);
  }
}

async function resultOf(backend, workflowRunId) {
  for (;;) {
    const run = await backend.getWorkflowRun({ workflowRunId });
    if (run.status === 'completed' || run.status === 'succeeded') return run.output;
    if (run.status === 'failed' || run.status === 'canceled') throw new Error(`Run ${workflowRunId} is ${run.status}.`);
    await sleep(ASK_AGAIN_MS);
  }
}
