/** A message to a run whose child run works reaches the child, whose agents are those that the person means. */
import { expect, it } from 'vitest';
import { aResearchServer, found, OLDEST, reads, report, synthesis } from '../research/research.fixture.ts';
import { respond } from '../../src/web-pages/local-web.fixture.ts';

it('reaches the research of a plan, once for each key, and the runs that have ended are left alone', async () => {
  const isAsked = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const server = await aResearchServer(
    (web) => ({
      synthesiser: [
        synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
        synthesis({ themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }] }),
      ],
      researcher: [
        reads(
          [`${web}/slow`, `${web}/oldest`],
          report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
        ),
      ],
    }),
    {
      pages: {
        '/slow': (request, response) => {
          isAsked.resolve();
          void waiting.promise.then(() => respond('text/plain', 'A slow page about bells.')(request, response));
        },
      },
    },
  );
  const { client, project } = server;
  const plan = await client.launchRun({
    projectId: project.id,
    workflow: 'research-and-plan',
    request: 'Ring the oldest bell of the town again.',
    input: { topic: 'Bells', researchers: 1, analysts: 0, researchRounds: 1 },
  });
  await isAsked.promise;
  const [child] = (await client.listRuns({ parentId: plan.id })).items;
  expect(child?.workflow.name).toBe('research');
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const { status } = await fetch(`${server.orchestrator.server.url}/api/runs/${plan.id}/message`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.orchestrator.token}`,
        'content-type': 'application/json',
        'idempotency-key': 'the-same-message',
      },
      body: JSON.stringify({ text: 'Look at the parish.' }),
    });
    expect(status).toBe(200);
  }
  for (const id of [plan.id, child?.id ?? ''])
    expect(await server.payloads(id, 'MESSAGE_SENT')).toEqual([{ by: 'local', text: 'Look at the parish.' }]);

  waiting.resolve();
  await server.until(child?.id ?? '', { status: 'completed' });
  await client.sendMessage(plan.id, 'Be brief.');
  expect(await server.payloads(plan.id, 'MESSAGE_SENT')).toHaveLength(2);
  expect(await server.payloads(child?.id ?? '', 'MESSAGE_SENT')).toHaveLength(1);
  await client.cancelRun(plan.id);
});
