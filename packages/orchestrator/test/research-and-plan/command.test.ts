/** The command `research-and-plan` against a real server. */
import { expect, it } from 'vitest';
import { commandLine } from '../fixtures/command-line.fixture.ts';
import { aPlanServer, blocker, draft, review, STRUCTURE, WAY } from './research-and-plan.fixture.ts';

it('follows a run to the gate of its blockers, and refuses a topic that is a path and an empty request', async () => {
  const server = await aPlanServer(() => ({
    architects: [draft(STRUCTURE), draft(WAY)],
    critics: [review({ issues: [blocker()] }), review()],
  }));
  const project = ['--project', server.project.id];
  expect(await commandLine(server, 'research-and-plan', '../secrets', 'Ring it.', ...project)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('A topic is a name, not a path'),
  });
  expect(await commandLine(server, 'research-and-plan', 'Bells', ...project)).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining('Say what is to be planned: autonomous research-and-plan "Bells" "Your request"'),
  });
  const limits = ['--researchers', '1', '--analysts', '0', '--research-rounds', '1', '--rounds', '1'];
  const waiting = await commandLine(server, 'research-and-plan', 'Bells', 'Ring it again.', ...limits, ...project);
  expect(waiting).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('has 1 open blocker after 1 round. Take it, plan further or stop?'),
  });
  const [run] = (await server.client.listRuns({ workflow: 'research-and-plan' })).items;
  expect(run?.gate?.kind).toBe('plan_blockers');
});

it('says how to decide about the report while its child run waits, and ends', async () => {
  const server = await aPlanServer(() => ({ architects: [draft(STRUCTURE), draft(WAY)], critics: [] }));
  const limits = ['--researchers', '1', '--analysts', '0', '--research-rounds', '1', '--review'];
  const asked = ['research-and-plan', 'Bells', 'Ring it again.', ...limits, '--project', server.project.id];
  const waiting = await commandLine(server, ...asked);
  const [child] = (await server.client.listRuns({ workflow: 'research' })).items;
  expect(child?.gate?.kind).toBe('research_result');
  expect(waiting).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(`approve ${child?.id} --gate`) });
  expect(waiting.stdout).toContain('Round 1 ended');
});
