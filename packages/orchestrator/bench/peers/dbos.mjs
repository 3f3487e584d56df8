/**
 * DBOS on PostgreSQL, which syncs each commit (`fsync` and `synchronous_commit` are on, as they come).
 * The gate is a `recv`, the approval a `send`.
 */
import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { workload, Workload } from '../contest/contender.ts';
import { familyOf } from '../contest/processes.ts';

const DATABASE = 'dbos_bench';
const TEN_DAYS_S = 864_000;
const ENDED_SOON_MS = 20;

const waiting = new Map();
const change = DBOS.registerWorkflow(
  async (id) => {
    await DBOS.runStep(async () => workload.plan(id), { name: 'planning' });
    waiting.get(id)?.();
    waiting.delete(id);
    const approved = await DBOS.recv('approval', TEN_DAYS_S);
    if (!approved) throw new Error(`Run ${String(id)} was not approved in time.`);
    await DBOS.runStep(async () => workload.implement(id), { name: 'implementing' });
    return DBOS.runStep(async () => workload.validate(id), { name: 'validating' });
  },
  { name: 'change' },
);
const growth = DBOS.registerWorkflow(
  async (steps) => {
    // The state of a DBOS workflow is its code's: what it holds comes back from the steps' stored results.
    const messages = [];
    while (messages.length < steps) messages.push(await DBOS.runStep(async () => workload.grow(), { name: 'growing' }));
  },
  { name: 'growth' },
);

/** @type {import('../contest/contender.ts').OpenContender} */
export async function open({ settings, resumed }) {
  const admin = new pg.Client({ connectionString: `${settings.postgres}/postgres` });
  await admin.connect();
  const exists = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
  if (!resumed) {
    if (exists.rowCount > 0) await admin.query(`DROP DATABASE ${DATABASE} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${DATABASE}`);
  }
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: `${settings.postgres}/${DATABASE}`,
    logLevel: 'error',
    // What an earlier process left is taken up only by the same executor with the same version of the code.
    applicationVersion: '1',
    executorID: 'bench',
  });
  await DBOS.launch();
  const handles = new Map();
  return {
    async start(id) {
      const atGate = new Promise((resolve) => {
        waiting.set(id, resolve);
      });
      handles.set(id, await DBOS.startWorkflow(change, { workflowID: id })(id));
      await atGate;
    },
    async approve(id) {
      const handle = handles.get(id);
      handles.delete(id);
      const validated = handle ? undefined : workload.validated(id);
      await DBOS.send(id, true, 'approval');
      // A handle of this process is told of the end; any other has to ask the database, and need not before it is near.
      await validated;
      const verdict = await (handle ?? DBOS.retrieveWorkflow(id)).getResult({ pollingIntervalMs: ENDED_SOON_MS });
      Workload.check(id, verdict);
    },
    async grow(id, steps) {
      const handle = await DBOS.startWorkflow(growth, { workflowID: id })(steps);
      await handle.getResult();
    },
    processes: () => familyOf(Number(settings.postmaster)),
    async bytesOnDisk() {
      await admin.query('CHECKPOINT');
      const { rows } = await admin.query('SELECT pg_database_size($1) AS bytes', [DATABASE]);
      return Number(rows[0].bytes);
    },
    async close() {
      await DBOS.shutdown();
      await admin.end();
    },
  };
}
