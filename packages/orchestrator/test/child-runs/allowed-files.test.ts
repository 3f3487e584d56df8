/** The files that a child `build` may change, on a whole server with real git. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { aPlan, aScript, aServer, asks, FILES, runs, when } from '../fixtures/orchestrator.fixture.ts';

const WORKFLOWS = fileURLToPath(new URL('allowed-files.fixture.ts', import.meta.url));
const ALLOWED = { changes: ['app.sh'], newFiles: ['parts/*.sh'] };
const REASON = 'it is not among the files that this run may change; change only those, or ask for it';
/** As the prompt lists them, complete and in this order. */
const LISTED = '- app.sh\n- new: parts/*.sh\n=====';

/** A new file that is allowed, in a second call a change of it, and one that is not. */
const WRITES = 'mkdir -p parts; echo new >> parts/new.sh; echo new > other.sh';

const UNTOLD = asks({ question: 'The prompt lacks something.' });
const told = (name: string): string => `- not taken from the agent's folder: ${name} (${REASON})`;

it('are the only ones that its commits change; the agent is told of them before and of others after', async () => {
  const server = await aServer({
    files: { ...FILES, 'docs.md': 'as it was\n' },
    env: { AUTONOMOUS_WORKFLOWS: WORKFLOWS },
    script: aScript({
      planner: [when(LISTED, aPlan()), UNTOLD],
      implementer: [
        when(LISTED, runs('echo "echo feature" >> app.sh', 'echo mine > docs.md', WRITES)),
        when(`${told('docs.md')}\n${told('other.sh')}\n`, runs('echo again > docs.md', WRITES)),
        UNTOLD,
      ],
    }),
  });
  const { client, project } = server;
  const { id } = await client.launchRun({
    projectId: project.id,
    workflow: 'limited',
    request: 'Add the feature',
    input: ALLOWED,
  });
  const children = async () => (await client.listRuns({ parentId: id })).items;
  await expect.poll(async () => (await children()).length).toBe(1);
  const [child] = await children();
  const childId = child?.id ?? '';
  expect(child?.allowedFiles).toEqual([ALLOWED]);

  for (let rested = await server.rests(childId); rested.gate?.kind === 'plan'; rested = await server.rests(childId))
    await server.decide(childId, { decision: 'approve' });
  const shown = await server.until(childId, { gate: 'implementation' });
  expect(shown.notices.filter((notice) => notice.startsWith('Not taken'))).toEqual(
    ['docs.md', 'other.sh'].map((name) => `Not taken from the sandbox: ${name} (${REASON})`),
  );
  const changed = async (head: string | undefined) =>
    server.mirror('diff', '--name-only', `${shown.baseCommit}`, `${head}`, '--', ':!.autonomous');
  expect(await changed(shown.headCommit)).toBe('app.sh\nparts/new.sh\n');

  await server.decide(childId, { decision: 'reject', feedback: 'Once more.' });
  const again = await server.until(childId, { gate: 'implementation' });
  expect(await changed(again.headCommit)).toBe('app.sh\nparts/new.sh\n');
  expect(await server.mirror('show', `${again.headCommit}:parts/new.sh`)).toBe('new\nnew\n');
  await server.decide(childId, { decision: 'approve' });
  await server.until(childId, { status: 'completed' });
  await server.until(id, { status: 'completed' });
});
