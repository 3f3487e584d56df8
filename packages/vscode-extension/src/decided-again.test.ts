/** A decision whose answer never comes back, against the real server: it is made again. */
import path from 'node:path';
import type { Gate } from '@autonomous/shared';
import { type Client, createClient, createDecisionKeys, explainRefusal } from '@autonomous/shared/client';
import { afterEach, expect, it, vi } from 'vitest';
import { aServer, type AServer } from './local-server/a-server.fixture.ts';

const INVOICES = path.resolve(import.meta.dirname, '..', '..', '..', 'examples', 'own-workflow', 'workflow.ts');
const APPROVE = { decision: 'approve' } as const;

let own: AServer | undefined;
afterEach(async () => {
  vi.unstubAllEnvs();
  await own?.remove();
});

/** Sends what it is given and keeps the answer to the first decision for itself. */
function losesTheFirstAnswer(): typeof fetch {
  let isLost = false;
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (isLost || !answer.url.endsWith('/decision')) return answer;
    isLost = true;
    return new Promise(() => {});
  };
}

async function aGate(): Promise<{ readonly client: Client; readonly gate: Gate }> {
  own = await aServer();
  vi.stubEnv('AUTONOMOUS_WORKFLOWS', INVOICES);
  vi.stubEnv('INVOICE_FOLDER', path.join(own.folder, 'invoices'));
  const baseUrl = await own.start();
  const token = (await own.server.place())?.token ?? '';
  const client = createClient({ baseUrl, token, fetch: losesTheFirstAnswer() });
  const input = { customer: 'Ada', cents: 100, address: 'London' };
  const { id } = await client.launchRun({ workflow: 'invoice', input });
  await expect.poll(async () => (await client.getRun(id)).gate).not.toBeNull();
  const { gate } = await client.getRun(id);
  if (gate === null) throw new Error('The gate is gone.');
  return { client, gate };
}

it('the same decision is done once and its answer given, another one is told who decided what', async () => {
  const { client, gate } = await aGate();
  const { keyOf } = createDecisionKeys();
  void client.decideGate(gate.id, APPROVE, keyOf(gate.id, APPROVE));
  const decided = async () => (await client.getRun(gate.runId)).gates.map(({ decision }) => decision);
  await expect.poll(decided).toEqual(['approve']);

  const run = await client.decideGate(gate.id, APPROVE, keyOf(gate.id, APPROVE));
  expect(run.gates).toMatchObject([{ gateId: gate.id, decision: 'approve' }]);
  expect(await decided()).toEqual(['approve']);

  const reject = { decision: 'reject', feedback: 'Too much.' } as const;
  const refused: unknown = await client
    .decideGate(gate.id, reject, keyOf(gate.id, reject))
    .catch((error: unknown) => error);
  expect(explainRefusal(refused, Date.now())).toMatch(/^Somebody was first: local has approved this /);
  expect(await decided()).toEqual(['approve']);
});
