/** Files of another approach's result, taken at a gate: committed on the run's branch, checked anew, never past the gate. */
import type { GateDecision, RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aScript, aServer, type Fixture, passes, runs, when, writes } from '../fixtures/orchestrator.fixture.ts';

const REVIEWED = { trustMode: { planning: 'auto', implementation: 'manual', fixes: 'manual' } } as const;

/** Two approaches, each at the gate that is named. */
async function explored(
  server: Fixture,
  ours: 'implementation' | 'fix' = 'implementation',
): Promise<readonly [RunView, RunView]> {
  const exploration = await server.client.explore({
    projectId: server.project.id,
    variants: [
      { request: 'Add it with a session', config: REVIEWED },
      { request: 'Add it with a token', config: REVIEWED },
    ],
  });
  const [mine, theirs] = exploration.runs as [RunView, RunView];
  return [await server.until(mine, { gate: ours }), await server.until(theirs, { gate: 'implementation' })];
}

const scripted = (
  session: ReturnType<typeof writes>,
  token: ReturnType<typeof writes>,
  ...more: ReturnType<typeof writes>[]
) =>
  aScript({
    // The first that fits is played: what is said later stands in the prompt beside the request.
    implementer: [...more, when('Add it with a session', session), when('Add it with a token', token)],
    validator: Array.from({ length: 6 }, () => passes()),
  });

const taking = (theirs: RunView, ...paths: readonly string[]): GateDecision => ({
  decision: 'reject',
  take: { runId: theirs.id, commit: theirs.headCommit ?? '', paths },
});

/** Both sides of what the tests below take. */
const aPair = () =>
  aServer({
    script: scripted(
      writes({ 'feature.sh': 'echo session\n', 'own.sh': 'echo own\n', 'lib/deep.sh': 'echo deep\n' }),
      runs('echo echo token > feature.sh', 'echo echo helper > helper.sh', 'echo echo lib > lib', 'rm README.md'),
    ),
  });

describe('files taken from another run', () => {
  it('are a commit of the run’s own, checked anew by the server, and go through the gate once more', async () => {
    const server = await aPair();
    const [mine, theirs] = await explored(server);
    const before = mine.gate;
    await server.decide(mine, taking(theirs, 'helper.sh', 'README.md'));
    const again = await server.until(mine, { gate: 'implementation' });

    expect(again.gate?.codeTree).not.toBe(before?.codeTree);
    // Nothing that was proven of the result before counts for this one.
    const proven = again.evidence.filter(({ codeTree }) => codeTree === again.gate?.codeTree);
    expect(proven.map(({ mode, passed }) => [mode, passed])).toEqual([
      ['as_is', true],
      ['base_tests', true],
    ]);
    expect(again.gates.at(-1)).toMatchObject({
      decision: 'reject',
      by: 'local',
      notes: expect.stringContaining(`Take helper.sh, README.md from run ${theirs.id}`),
    });
    expect(again.notices).toContainEqual(expect.stringContaining(`Taken from run ${theirs.id}`));
    expect(again.artifacts.findLast(({ type }) => type === 'code')).toMatchObject({
      version: 2,
      scripted: true,
      filesChanged: ['README.md', 'feature.sh', 'helper.sh', 'lib/deep.sh', 'own.sh'],
    });
    // What was shown before is no longer what would be approved.
    await expect(server.decide(mine, { decision: 'approve', codeTree: before?.codeTree })).rejects.toMatchObject({
      status: 409,
      code: 'stale',
    });
    await server.decide(mine, { decision: 'approve', codeTree: again.gate?.codeTree });
    await server.until(mine, { status: 'completed' });
    expect(await server.file(mine.branch, 'helper.sh')).toBe('echo helper\n');
    expect(await server.file(mine.branch, 'feature.sh')).toBe('echo session\n');
    expect(await server.file(mine.branch, 'README.md')).toBeNull();
    // The other run is as it was.
    expect(await server.client.getRun(theirs.id)).toMatchObject({
      headCommit: theirs.headCommit,
      gate: { kind: 'implementation' },
    });
  });

  it('are refused before anything is decided where they cannot be taken', async () => {
    const server = await aPair();
    const [mine, theirs] = await explored(server);
    const id = mine.gate?.id ?? '';
    const refuses = (decision: GateDecision, problem: object) =>
      expect(server.client.decideGate(id, decision)).rejects.toMatchObject(problem);
    const { commit } = taking(theirs, 'helper.sh').take ?? { commit: '' };

    await refuses(taking(theirs, 'app.sh'), { status: 400, message: expect.stringContaining('did not change app.sh') });
    await refuses(taking(theirs, '.autonomous/specs/001-feature.md'), { status: 400 });
    await refuses(taking(theirs, '../../etc/passwd'), { status: 400 });
    await refuses(taking(theirs, 'lib'), { status: 409, problem: { paths: ['lib'] } });
    await refuses(taking({ ...theirs, headCommit: 'a'.repeat(40) }, 'helper.sh'), {
      status: 409,
      code: 'stale',
      problem: { commit },
    });
    await refuses(taking(mine, 'own.sh'), { status: 400 });
    await refuses({ ...taking(theirs, 'helper.sh'), decision: 'approve' }, { status: 400 });
    await refuses({ decision: 'reject' }, { status: 400 });
    await refuses(taking({ ...theirs, id: 'nobody' }, 'helper.sh'), { status: 404 });
    expect((await server.client.getRun(mine.id)).gate?.id).toBe(id);

    await server.decide(mine, taking(theirs, 'helper.sh'));
    await server.until(mine, { gate: 'implementation' });
    await expect(server.decide(mine, taking(theirs, 'helper.sh'))).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('Nothing would change'),
    });
  });

  it('are worked on from there by the implementer where there are words for it', async () => {
    const server = await aServer({
      script: scripted(
        writes({ 'feature.sh': 'echo session\n' }),
        writes({ 'helper.sh': 'echo helper\n' }),
        when('Call the helper', runs('test -f helper.sh', 'echo sh helper.sh > feature.sh')),
      ),
    });
    const [mine, theirs] = await explored(server);
    await server.decide(mine, { ...taking(theirs, 'helper.sh'), feedback: 'Call the helper.' });
    const again = await server.until(mine, { gate: 'implementation' });
    await server.decide(mine, { decision: 'approve', codeTree: again.gate?.codeTree });
    await server.until(mine, { status: 'completed' });
    expect(await server.file(mine.branch, 'feature.sh')).toBe('sh helper.sh\n');
    expect(await server.file(mine.branch, 'helper.sh')).toBe('echo helper\n');
  });

  it('are refused where the base branch changed them between the two runs', async () => {
    const server = await aServer({
      script: scripted(
        writes({ 'feature.sh': 'echo session\n' }),
        writes({ 'README.md': '# Mine\n', 'helper.sh': 'echo helper\n' }),
      ),
    });
    const mine = await server.launch('Add it with a session', REVIEWED);
    await server.until(mine, { gate: 'implementation' });
    await server.commit({ 'README.md': '# Changed by a colleague\n' });
    const theirs = await server.until(await server.launch('Add it with a token', REVIEWED), { gate: 'implementation' });
    await expect(server.decide(mine, taking(theirs, 'helper.sh', 'README.md'))).rejects.toMatchObject({
      status: 409,
      problem: { paths: ['README.md'] },
    });
    await server.decide(mine, taking(theirs, 'helper.sh'));
    await server.until(mine, { gate: 'implementation' });
  });

  it('mend a result whose checks failed', async () => {
    const server = await aServer({
      script: scripted(writes({ 'app.sh': 'echo broken\n' }), writes({ 'app.sh': 'echo hello again\n' })),
    });
    const [mine, theirs] = await explored(server, 'fix');
    await server.decide(mine, { ...taking(theirs, 'app.sh'), decision: 'retry' });
    const mended = await server.until(mine, { gate: 'implementation' });
    expect(mended.fixAttempts).toBe(1);
    expect(mended.evidence.at(-1)).toMatchObject({ passed: true, codeTree: mended.gate?.codeTree });
  });
});
