/** The command `continue` against a real server: which run it means, and what it retries. */
import { expect, it } from 'vitest';
import { commandLine as cli } from '../fixtures/command-line.fixture.ts';
import { aResearchServer, synthesis } from './research.fixture.ts';

it('goes on with the unfinished run of a topic, and names the runs where it cannot tell', async () => {
  // Nobody researches: the run is paused after its first directions.
  const server = await aResearchServer(() => ({
    synthesiser: [
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest clock?' }] }),
    ],
    researcher: [],
  }));
  expect(await cli(server, 'continue')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No run of a topic is unfinished. Start one: autonomous research TOPIC REQUEST'),
  });
  const research = (topic: string) =>
    server.client.launchRun({
      projectId: server.project.id,
      workflow: 'research',
      request: 'Which one is the oldest?',
      input: { topic, researchers: 1, analysts: 0 },
    });
  const bells = await research('Bells');
  await server.until(bells, { gate: 'pause' });
  const again = await cli(server, 'continue', ' bells');
  expect(again).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining(`${bells.id} goes on: it was paused (`),
  });
  expect((await server.payloads(bells.id, 'RETRY_REQUESTED' as never)).length).toBe(1);
  expect(await cli(server, 'continue', 'Whistles')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      `No run of the topic 'Whistles' is unfinished. There are: 'Bells' (research, run ${bells.id})`,
    ),
  });

  const clocks = await research('Clocks');
  const several = await cli(server, 'continue');
  expect(several.exitCode).toBe(64);
  for (const words of [`'Bells' (research, run ${bells.id})`, `'Clocks' (research, run ${clocks.id})`])
    expect(several.stderr).toContain(words);
  await server.client.cancelRun(clocks.id, 'Enough.');
  await server.client.cancelRun(bells.id, 'Enough.');
  expect(await cli(server, 'continue', 'Bells')).toMatchObject({ exitCode: 1 });
});
