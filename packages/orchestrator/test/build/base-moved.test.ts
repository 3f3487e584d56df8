/** Runs and a base branch that does not stand still: what is merged is what was checked, and nobody's work is lost. */
import { describe, expect, it } from 'vitest';
import { aPlan, aScript, aServer, FILES, type Fixture, when, writes } from '../fixtures/orchestrator.fixture.ts';

const merging = (mergeStrategy: 'squash' | 'merge' | 'ff') => ({
  trustMode: { planning: 'manual' as const },
  git: { autoMerge: true, mergeStrategy },
});

describe('a base branch that moved while a run waited', () => {
  it('is taken in, checked again and shown again before the squash merge', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', {
      trustMode: { planning: 'auto', implementation: 'manual' },
      git: { autoMerge: true },
    });
    const before = await server.until(run, { gate: 'implementation' });
    const base = await server.commit({ 'colleague.txt': 'hello\n' });
    await server.decide(run, { decision: 'approve' });
    // What was approved is not what would be merged.
    const after = await server.until(run, { gate: 'implementation' });
    expect(after.gate?.codeTree).not.toBe(before.gate?.codeTree);
    const { artifactHash, codeTree } = before.gate ?? {};
    await expect(server.decide(run, { decision: 'approve', artifactHash, codeTree })).rejects.toMatchObject({
      status: 409,
      code: 'stale',
    });
    await server.decide(run, { decision: 'approve', codeTree: after.gate?.codeTree });
    const done = await server.until(run, { status: 'completed' });

    expect(await server.file('main', 'colleague.txt')).toBe('hello\n');
    expect(await server.file('main', 'feature.sh')).toBe('echo feature\n');
    expect(await parentsOf(server, 'main')).toEqual([base]);
    expect(done.merged).toMatchObject({ strategy: 'squash', baseBranch: 'main' });
    expect(done).toMatchObject({ baseCommit: base, notices: [expect.stringContaining('The base branch main moved')] });
    const evidence = await server.payloads(run.id, 'EVIDENCE_RECORDED');
    expect(evidence.map(({ mode, codeTree: tree }) => ({ mode, isFinal: tree === done.codeTree }))).toEqual([
      { mode: 'as_is', isFinal: false },
      { mode: 'base_tests', isFinal: false },
      { mode: 'as_is', isFinal: true },
      { mode: 'base_tests', isFinal: true },
    ]);
    // The run's own changes are shown, not the colleague's.
    const changed = (await server.client.getDiff(run.id)).files.map((file) => file.path);
    expect(changed).toContain('feature.sh');
    expect(changed).not.toContain('colleague.txt');
  });

  it('gets the merge commit or the very head of the run, by strategy', async () => {
    const server = await aServer({
      script: aScript({
        implementer: [when('by merge', writes({ 'one.sh': '1\n' })), when('by ff', writes({ 'two.sh': '2\n' }))],
      }),
    });
    const merged = await server.launch('by merge', merging('merge'));
    const forwarded = await server.launch('by ff', merging('ff'));
    await server.until(merged, { gate: 'plan' });
    await server.until(forwarded, { gate: 'plan' });
    const base = await server.commit({ 'colleague.txt': 'hello\n' });

    await server.decide(merged, { decision: 'approve' });
    const first = await server.until(merged, { status: 'completed' });
    expect(await parentsOf(server, 'main')).toEqual([base, first.headCommit]);
    await server.decide(forwarded, { decision: 'approve' });
    const second = await server.until(forwarded, { status: 'completed' });
    expect((await server.git('rev-parse', 'main')).trim()).toBe(second.headCommit);
    await expect(server.git('merge-base', '--is-ancestor', first.merged?.commit ?? '', 'main')).resolves.toBe('');
    const files = (await server.git('ls-tree', '--name-only', 'main')).split('\n');
    expect(files).toEqual(expect.arrayContaining(['colleague.txt', 'one.sh', 'two.sh']));
  });

  it('pauses runs that changed the same lines, and stays as it is', async () => {
    const server = await aServer({
      script: aScript({ implementer: [writes({ 'README.md': '# Notes of the run\n' })] }),
    });
    const run = await server.launch('Greet', merging('squash'));
    const other = await server.launch('Greet, too', merging('squash'));
    await server.until(run, { gate: 'plan' });
    await server.until(other, { gate: 'plan' });
    const base = await server.commit({ 'README.md': '# Notes of a colleague\n' });
    await Promise.all([run, other].map((each) => server.decide(each, { decision: 'approve' })));
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({
      reason: 'merge_conflict',
      summary: expect.stringContaining('README.md'),
      stage: 'publishing',
    });
    await server.until(other, { gate: 'pause' });
    expect((await server.git('rev-parse', 'main')).trim()).toBe(base);

    // One is given up; the other goes on when the conflict is out of the way, and no sooner.
    expect((await server.client.cancelRun(run.id, 'somebody else did it')).status).toBe('cancelled');
    await server.decide(other, { decision: 'retry' });
    await server.until(other, { gate: 'pause' });
    expect((await server.git('rev-parse', 'main')).trim()).toBe(base);
    await server.commit({ 'README.md': FILES['README.md'] ?? '' });
    await server.decide(other, { decision: 'retry' });
    await server.until(other, { status: 'completed' });
    expect(await server.file('main', 'README.md')).toBe('# Notes of the run\n');
  });

  it('pauses the run where its history was rewritten, so that what was taken out does not come back', async () => {
    const server = await aServer();
    const secret = await server.commit({ 'taken-out.txt': 'oops\n' });
    const run = await server.launch('Add the feature', merging('squash'));
    await server.until(run, { gate: 'plan' });
    await server.git('update-ref', 'refs/heads/main', `${secret}^`);
    await server.decide(run, { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({ reason: 'merge_conflict', summary: expect.stringContaining('rewritten') });
    expect(await server.file('main', 'taken-out.txt')).toBeNull();
  });
});

async function parentsOf(server: Fixture, commit: string): Promise<string[]> {
  const [, ...parents] = (await server.git('rev-list', '--parents', '-1', commit)).trim().split(' ');
  return parents;
}

describe('runs side by side', () => {
  it('of one exploration merge one after the other: both decisions are remembered, no plan takes the number of another', async () => {
    const variant = (name: string) => ({
      plan: when(
        `variant ${name}`,
        aPlan({
          title: 'Feature',
          decisions: [{ topic: 'Variant', choice: name, rationale: 'to compare' }],
          patterns: [`pattern ${name}`],
        }),
      ),
      code: when(`variant ${name}`, writes({ [`${name}.sh`]: `echo ${name}\n` })),
    });
    const [a, b, c] = [variant('alpha'), variant('beta'), variant('gamma')];
    const server = await aServer({
      script: aScript({ planner: [a.plan, b.plan, c.plan], implementer: [a.code, b.code, c.code] }),
    });
    const { id, runs } = await server.client.explore({
      projectId: server.project.id,
      variants: [
        { request: 'Build variant alpha', config: merging('squash') },
        { request: 'Build variant beta', config: merging('squash') },
        { request: 'Build variant gamma', config: { trustMode: { planning: 'manual' } } },
      ],
    });
    expect(runs.map((run) => run.explorationId)).toEqual([id, id, id]);
    expect((await server.client.listRuns({ explorationId: id })).items).toHaveLength(3);
    // All have planned on the same base before the first goes on.
    for (const run of runs) await server.until(run, { gate: 'plan' });
    await Promise.all(runs.map((run) => server.decide(run, { decision: 'approve' })));
    const done = await Promise.all(runs.map((run) => server.until(run, { status: 'completed' })));

    const memory = (await server.file('main', '.autonomous/memory.md')) ?? '';
    for (const run of done.slice(0, 2)) expect(memory.match(new RegExp(`\\(run: ${run.id}\\)`, 'g'))).toHaveLength(1);
    expect(memory).toContain('- Variant: alpha (to compare)');
    expect(memory).toContain('- Variant: beta (to compare)');
    expect(memory).toMatch(/patterns:\n( {2}- .*\n)*? {2}- pattern alpha\n/);
    expect(memory).toMatch(/patterns:\n( {2}- .*\n)*? {2}- pattern beta\n/);
    expect(memory).not.toContain('gamma');

    const specs = (await server.git('ls-tree', '--name-only', 'main', '.autonomous/specs/')).trim().split('\n');
    expect(specs).toEqual(['.autonomous/specs/001-feature.md', '.autonomous/specs/002-feature.md']);
    const plans = await Promise.all(
      specs.map(async (spec) => /^run: (.*)$/m.exec((await server.file('main', spec)) ?? '')?.[1]),
    );
    expect(new Set(plans)).toEqual(new Set([done[0]?.id, done[1]?.id]));
    expect(await server.file('main', 'alpha.sh')).toBe('echo alpha\n');
    expect(await server.file('main', 'beta.sh')).toBe('echo beta\n');
    expect(await server.file('main', 'gamma.sh')).toBeNull();
    expect(await server.file(done[2]?.branch ?? '', 'gamma.sh')).toBe('echo gamma\n');
  });

  it('beyond the limit wait in a queue and move up as places become free', async () => {
    const slow = when('the first', { turns: [{ delayMs: 3_600_000, text: 'Thinking.' }, ...aPlan().turns] });
    const server = await aServer({
      script: aScript({ planner: [slow, aPlan()] }),
      env: { MAX_CONCURRENT_RUNS_PER_USER: '1' },
    });
    const manual = { trustMode: { planning: 'manual' as const } };
    const first = await server.launch('the first', manual);
    const second = await server.launch('the second', manual);
    const third = await server.launch('the third', manual);
    expect([first, second, third].map(({ status, queuePosition }) => [status, queuePosition])).toEqual([
      ['running', undefined],
      ['queued', 1],
      ['queued', 2],
    ]);
    await server.client.cancelRun(second.id);
    expect((await server.client.getRun(third.id)).queuePosition).toBe(1);
    await server.client.cancelRun(first.id);
    await server.until(third, { gate: 'plan' });
    // A run that waits for a person holds no place.
    const fourth = await server.launch('the fourth', manual);
    expect(fourth.status).toBe('running');
    await server.until(fourth, { gate: 'plan' });
  });
});
