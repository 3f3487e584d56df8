/** Plan gate and implementation gate over HTTP: what an approval binds to, edits, questions, and sending work back. */
import { shownAt } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { aPlan, aScript, aServer, finish, when, writes } from '../fixtures/orchestrator.fixture.ts';

const MANUAL_PLAN = { trustMode: { planning: 'manual' as const } };
const edited = (label: string) =>
  `# Edited plan\n\n\`\`\`mermaid\nflowchart TD\n  a["Start"] --> b["${label}"]\n\`\`\`\n`;

describe('a decision', () => {
  const MANUAL = { trustMode: { planning: 'manual', implementation: 'manual' } } as const;

  it('that approves without the gate or a hash that was shown is refused by every route, with what is missing', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL);
    const { gate } = await server.until(run, { gate: 'plan' });
    if (!gate) throw new Error('the run has no gate');
    const { gateId, artifactHash, codeTree, concernsHash } = shownAt(gate);
    const missing = async (decided: Promise<unknown>): Promise<string> => {
      const refused: unknown = await decided.catch((error: unknown) => error);
      if (!(refused instanceof ApiError)) return 'it was taken';
      expect(refused.status).toBe(400);
      return (refused.problem.faults ?? []).map(({ path }) => path).join(' ');
    };
    await expect(server.client.decideOpenGate(run.id, { decision: 'approve' })).rejects.toThrow(
      `the command 'show ${run.id}'`,
    );
    const { client } = server;
    const approve = (shown: object) => ({ decision: 'approve', ...shown }) as const;
    const hashes = { artifactHash, codeTree, concernsHash };
    const open = (shown: object) => missing(client.decideOpenGate(run.id, approve(shown)));
    const named = (shown: object) => missing(client.decideGate(gate.id, approve(shown)));
    expect(await open({})).toBe('gateId artifactHash codeTree concernsHash');
    expect(await open(hashes)).toBe('gateId');
    expect(await open({ gateId, codeTree, concernsHash })).toBe('artifactHash');
    expect(await open({ gateId, artifactHash, codeTree })).toBe('concernsHash');
    expect(await named({})).toBe('artifactHash codeTree concernsHash');
    expect(await named({ artifactHash, concernsHash })).toBe('codeTree');
    expect(await named({ ...hashes, gateId: `${run.id}.1` })).toBe('gateId');
    // The whole of it is taken, by the short form too.
    await client.decideOpenGate(run.id, approve({ gateId, ...hashes }));
    await server.until(run, { gate: 'implementation' });
  });

  it('H03: that was made for an earlier gate is refused at the one that is open now, whatever it is', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL);
    const plan = (await server.until(run, { gate: 'plan' })).gate;
    await server.decide(run, { decision: 'approve' });
    const result = (await server.until(run, { gate: 'implementation' })).gate;
    if (!plan || !result) throw new Error('the run has no gate');
    for (const decision of [
      { decision: 'approve', ...shownAt(plan) },
      // As of an old notification whose hashes were read anew.
      { decision: 'approve', ...shownAt(result), gateId: plan.id },
      { decision: 'reject', gateId: plan.id, feedback: 'No.' },
      { decision: 'ask', gateId: plan.id, question: 'Why?' },
      { decision: 'retry', gateId: plan.id },
      { decision: 'extend', gateId: plan.id, minutes: 5 },
      { decision: 'ignore', gateId: plan.id },
      { decision: 'answer', gateId: plan.id, response: 'Yes' },
    ] as const) {
      await expect(server.client.decideOpenGate(run.id, decision), decision.decision).rejects.toMatchObject({
        status: 409,
        message: expect.stringMatching(`Gate ${plan.id} is already decided: 'approve' by local .*${result.id}`),
        problem: { winner: { gateId: plan.id } },
      });
    }
    expect((await server.client.getRun(run.id)).gate).toEqual(result);
    await expect(
      server.client.decideOpenGate(run.id, { decision: 'reject', gateId: `${run.id}.1`, feedback: 'No.' }),
    ).rejects.toMatchObject({ status: 404 });
    await server.decide(run, { decision: 'approve' });
    expect((await server.client.getRun(run.id)).gates.map(({ decision }) => decision)).toEqual(['approve', 'approve']);
  });
});

describe('the plan gate', () => {
  it('H03: refuses an approval of something else than what is there now, with what is', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL_PLAN);
    const { gate } = await server.until(run, { gate: 'plan' });
    const { artifactHash, codeTree, concernsHash } = gate ?? {};
    for (const stale of [
      { artifactHash: 'a'.repeat(64) },
      { codeTree: 'a'.repeat(40) },
      { artifactHash, codeTree: 'a'.repeat(40) },
      { artifactHash, codeTree, concernsHash: 'a'.repeat(64) },
    ]) {
      await expect(server.decide(run, { decision: 'approve', ...stale })).rejects.toMatchObject({
        status: 409,
        code: 'stale',
        problem: { artifactHash, codeTree, concernsHash },
      });
    }
    const approved = await server.client.decideGate(gate?.id ?? '', {
      decision: 'approve',
      artifactHash,
      codeTree,
      concernsHash,
      notes: 'Fine.',
    });
    expect(approved.artifacts).toMatchObject([{ approvedBy: 'local', approvalNotes: 'Fine.', hash: artifactHash }]);
    // The first decision won; the second is shown it.
    await expect(
      server.client.decideGate(gate?.id ?? '', { decision: 'reject', feedback: 'No.' }),
    ).rejects.toMatchObject({
      status: 409,
      problem: { winner: { decision: 'approve', by: 'local' } },
    });
    await server.until(run, { status: 'completed' });
  });

  it('takes a corrected plan with the approval: it is committed and worked from', async () => {
    const server = await aServer({
      script: aScript({ implementer: [when('Corrected', writes({ 'feature.sh': 'echo corrected\n' }))] }),
    });
    const run = await server.launch('Add the feature', MANUAL_PLAN);
    const { gate } = await server.until(run, { gate: 'plan' });
    await server.decide(run, {
      decision: 'approve',
      artifactHash: gate?.artifactHash,
      editedPlan: edited('Corrected'),
    });
    const done = await server.until(run, { status: 'completed' });

    const [first, second] = done.artifacts.filter(({ type }) => type === 'mermaid_diagram');
    expect(first).toMatchObject({ version: 1, gitPath: '.autonomous/specs/001-feature.md' });
    expect(second).toMatchObject({ version: 2, gitPath: '.autonomous/specs/001-feature.md' });
    const { content } = await server.client.getArtifact(run.id, second?.id ?? '');
    expect(content).toContain('Corrected');
    expect(content).toMatch(/models:\n {2}- scripted:test\n {2}- person\n/);
    expect(await server.file(run.branch, '.autonomous/specs/001-feature.md')).toBe(content);
    expect(await server.file(run.branch, 'feature.sh')).toBe('echo corrected\n');
  });

  it('asks again where the corrected plan cannot be read, with the words of the parser', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL_PLAN);
    await server.until(run, { gate: 'plan' });
    const broken = edited('x').replace('-->', '==>>> [');
    await server.decide(run, { decision: 'approve', editedPlan: broken });
    const { gate } = await server.until(run, { gate: 'invalid_plan' });
    expect(gate?.details['parserMessage']).toMatch(/line \d/);
    expect(gate?.details['draft']).toContain('==>>> [');
    // Nothing of it was committed, and approving it without a correction is no way out.
    expect((await server.client.getRun(run.id)).artifacts).toHaveLength(1);
    await expect(server.decide(run, { decision: 'approve' })).rejects.toMatchObject({
      status: 400,
      problem: { faults: [{ path: 'editedPlan' }] },
    });
    await server.decide(run, { decision: 'approve', editedPlan: edited('Mended') });
    const done = await server.until(run, { status: 'completed' });
    expect(await server.file(run.branch, done.artifacts[0]?.gitPath ?? '')).toContain('Mended');
  });

  it('opens for a planner that writes no readable diagram twice, told the message once in between', async () => {
    const bad = aPlan({ plan: '```mermaid\nflowchart TD\n  a ==>>> [\n```\n' });
    const server = await aServer({ script: aScript({ planner: [bad, when('From the Mermaid parser', bad)] }) });
    const run = await server.launch();
    const { gate, cost } = await server.until(run, { gate: 'invalid_plan' });
    expect(cost.calls).toBe(2);
    expect(gate?.details['parserMessage']).toMatch(/line \d/);
    await server.decide(run, { decision: 'approve', editedPlan: edited('Mended') });
    await server.until(run, { status: 'completed' });
  });

  it('sends the plan back: the next one has the feedback, the next version and the same path', async () => {
    const better = when('Think of the errors', aPlan({ title: 'Feature with errors', plan: edited('Errors') }));
    const server = await aServer({ script: aScript({ planner: [better, aPlan()] }) });
    const run = await server.launch('Add the feature', MANUAL_PLAN);
    const first = await server.until(run, { gate: 'plan' });
    await server.decide(run, { decision: 'reject', feedback: 'Think of the errors.' });
    const second = await server.until(run, { gate: 'plan' });
    expect(second.gate?.id).not.toBe(first.gate?.id);
    expect(second.gate?.artifactHash).not.toBe(first.gate?.artifactHash);
    expect(second.gate?.details).toMatchObject({
      version: 2,
      title: 'Feature with errors',
      path: first.gate?.details['path'],
    });
    expect((await server.mirror('ls-tree', '--name-only', run.branch, '.autonomous/specs/')).trim()).toBe(
      '.autonomous/specs/001-feature.md',
    );
    // Not a byte of a plan that nobody has accepted leaves the machine, but for the record.
    expect((await server.git('branch', '--list', run.branch)).trim()).toBe('');
  });

  it('answers a question and opens again as it was', async () => {
    const reply = when('Why two steps?', finish({ reply: 'Because one is not enough.' }));
    const server = await aServer({ script: aScript({ 'plan-reply': [reply] }) });
    const run = await server.launch('Add the feature', MANUAL_PLAN);
    const before = await server.until(run, { gate: 'plan' });
    await server.decide(run, { decision: 'ask', question: 'Why two steps?' });
    const after = await server.until(run, { gate: 'plan' });
    expect(await server.payloads(run.id, 'QUESTION_REPLIED')).toEqual([
      { question: 'Why two steps?', reply: 'Because one is not enough.' },
    ]);
    const facts = ({ gate }: typeof before) => [gate?.kind, gate?.artifactHash, gate?.codeTree, gate?.details];
    expect(facts(after)).toEqual(facts(before));
  });
});

describe('the implementation gate', () => {
  it('H03: refuses an approval after the code was made anew, and one after the run was cancelled', async () => {
    const louder = when('louder', writes({ 'feature.sh': 'echo FEATURE\n' }));
    const server = await aServer({
      script: aScript({ implementer: [louder, writes({ 'feature.sh': 'echo feature\n' })] }),
    });
    const run = await server.launch('Add the feature', { trustMode: { planning: 'auto', implementation: 'manual' } });
    const shown = (await server.until(run, { gate: 'implementation' })).gate;
    if (shown === null) throw new Error('the run has no gate');
    await server.decide(run, { decision: 'reject', feedback: 'Make it louder.' });
    const now = (await server.until(run, { gate: 'implementation' })).gate;
    if (now === null) throw new Error('the run has no gate');
    const refused = (gateId: string) =>
      server.client
        .decideGate(gateId, { decision: 'approve', ...shownAt(shown), gateId })
        .catch((error: unknown) => error);
    const { artifactHash, codeTree } = now;
    expect(await refused(now.id)).toMatchObject({ status: 409, code: 'stale', problem: { artifactHash, codeTree } });
    expect(await refused(shown.id)).toMatchObject({ status: 409 });
    expect((await server.client.getRun(run.id)).gate).toEqual(now);
    const { baseCommit } = await server.client.cancelRun(run.id);
    const events = await server.events(run.id);
    const late = server.client.decideGate(now.id, { decision: 'approve', ...shownAt(now), gateId: now.id });
    await expect(late).rejects.toMatchObject({ status: 409 });
    expect(await server.events(run.id)).toEqual(events);
    expect((await server.git('rev-parse', 'main')).trim()).toBe(baseCommit);
  });

  it('shows report and code tree, and sends what a person says back to the implementer', async () => {
    const second = when('say it louder', writes({ 'feature.sh': 'echo FEATURE\n' }));
    const server = await aServer({
      script: aScript({ implementer: [second, writes({ 'feature.sh': 'echo feature\n' })] }),
    });
    const run = await server.launch('Add the feature', { trustMode: { planning: 'auto', implementation: 'manual' } });
    const first = await server.until(run, { gate: 'implementation' });
    const report = first.artifacts.findLast(({ type }) => type === 'validation_report');
    expect(first.gate).toMatchObject({
      artifactHash: report?.hash,
      codeTree: first.codeTree,
      details: {
        report: report?.gitPath,
        checks: [
          { mode: 'as_is', passed: true, sandbox: 'bubblewrap' },
          { mode: 'base_tests', passed: true, sandbox: 'bubblewrap' },
        ],
      },
    });
    const { content } = await server.client.getArtifact(run.id, report?.id ?? '');
    expect(content).toContain('**Verdict: passed**');
    expect(content).toContain('`sh test/app.test.sh`');
    const code = first.artifacts.findLast(({ type }) => type === 'code');
    expect(code).toMatchObject({ hash: first.codeTree, filesChanged: ['feature.sh'] });
    expect((await server.client.getDiff(run.id)).patch).toContain('+echo feature');

    await server.decide(run, { decision: 'reject', feedback: 'Please say it louder.' });
    const next = await server.until(run, { gate: 'implementation' });
    // Somebody tidied up too early: the branch is published all the same.
    await server.git('update-ref', '-d', `refs/heads/${run.branch}`);
    expect(next.codeTree).not.toBe(first.codeTree);
    await server.decide(run, { decision: 'approve', artifactHash: next.gate?.artifactHash, codeTree: next.codeTree });
    const done = await server.until(run, { status: 'completed' });
    expect(await server.file(run.branch, 'feature.sh')).toBe('echo FEATURE\n');
    expect(done.artifacts.findLast(({ type }) => type === 'validation_report')).toMatchObject({
      version: 2,
      approvedBy: 'local',
    });
    expect((await server.git('rev-parse', 'main')).trim()).toBe(done.baseCommit);
  });
});
