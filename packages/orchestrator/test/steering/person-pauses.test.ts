/** A person pauses a run that works, with the runs below it, and continues it later: also after a crash, and after longer than a stage may take. */
import { expect, it } from 'vitest';
import { respond } from '../../src/web-pages/local-web.fixture.ts';
import { commandLine as cli } from '../fixtures/command-line.fixture.ts';
import { aServer } from '../fixtures/orchestrator.fixture.ts';
import { aResearchServer, found, OLDEST, reads, report, synthesis } from '../research/research.fixture.ts';

/** The research of a plan whose first page does not come before `answer`. */
async function aPlanAtWork() {
  const asked: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const research = (web: string) =>
    reads(
      [`${web}/slow`, `${web}/oldest`],
      report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
    );
  const server = await aResearchServer(
    (web) => ({
      synthesiser: [
        synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
        synthesis({ themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }] }),
      ],
      researcher: [research(web), research(web)],
    }),
    {
      pages: {
        '/slow': (request, response) => {
          asked.push(request.url ?? '');
          void waiting.promise.then(() => respond('text/plain', 'A slow page about bells.')(request, response));
        },
      },
    },
  );
  const plan = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'research-and-plan',
    request: 'Ring the oldest bell of the town again.',
    input: { topic: 'Bells', researchers: 1, analysts: 0, researchRounds: 1 },
  });
  await expect.poll(() => asked.length).toBe(1);
  const [child] = (await server.client.listRuns({ parentId: plan.id })).items;
  return { server, plan, childId: child?.id ?? '', answer: () => waiting.resolve() };
}

it('pauses the run and its child, takes no message meanwhile, and goes on with both and with the words of the retry', async () => {
  const { server, plan, childId, answer } = await aPlanAtWork();
  const { client } = server;
  expect(await cli(server, 'pause', plan.id, '--reason', 'Lunch.')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(`continue it with: autonomous retry ${plan.id}`),
  });
  for (const id of [plan.id, childId])
    expect(await client.getRun(id)).toMatchObject({
      status: 'paused',
      gate: { kind: 'pause', reason: 'held', decisions: ['retry'], summary: expect.stringContaining('Lunch.') },
    });
  // Again, it changes nothing.
  const { lastSequence } = await client.getRun(plan.id);
  expect((await client.pauseRun(plan.id)).lastSequence).toBe(lastSequence);
  await expect(client.sendMessage(plan.id, 'Hurry.')).rejects.toThrow(/is paused .* does not accept MESSAGE_SENT/);
  answer();

  const { gate } = await client.getRun(plan.id);
  await client.decideGate(gate?.id ?? '', { decision: 'retry', notes: 'Look at the parish.' });
  await server.until(childId, { status: 'completed' });
  for (const id of [plan.id, childId])
    expect(await server.payloads(id, 'MESSAGE_SENT')).toEqual([{ by: 'local', text: 'Look at the parish.' }]);
  await server.event(plan.id, 'RESEARCH_TAKEN' as never);
  await client.cancelRun(plan.id);
  await expect(client.pauseRun(plan.id)).rejects.toThrow('has already ended');
});

it('refuses where the run waits for a person already', async () => {
  const server = await aResearchServer(() => ({}));
  const run = await server.client.launchRun({ projectId: server.project.id, request: 'Add the feature' });
  await server.until(run, { gate: 'plan' });
  await expect(server.client.pauseRun(run.id)).rejects.toThrow(
    `Run ${run.id} waits for a person already, at its gate 'plan'`,
  );
});

it('says that a run was retried where it cannot take the words yet, since it waits for its slot', async () => {
  const { client, project } = await aServer({ env: { MAX_CONCURRENT_RUNS_PER_USER: '1' } });
  const [, queued] = [
    await client.launchRun({ projectId: project.id, request: 'Add the feature' }),
    await client.launchRun({ projectId: project.id, request: 'Add another feature' }),
  ];
  expect(queued.status).toBe('queued');
  const { gate } = await client.pauseRun(queued.id);
  await expect(client.decideGate(gate?.id ?? '', { decision: 'retry', notes: 'Be brief.' })).rejects.toThrow(
    `Run ${queued.id} was retried, and your words did not reach it`,
  );
  expect((await client.getRun(queued.id)).gate).toBeNull();
});
