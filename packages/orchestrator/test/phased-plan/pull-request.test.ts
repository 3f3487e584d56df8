/** Plans in phases that end with a pull request: it is followed, and what reviewers ask is done in one more phase. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { type ForgeProject, type ForgeRun, type ForgeServer, startForgeServer } from '../forge/forge-runs.fixture.ts';
import { finish, tool } from '../fixtures/orchestrator.fixture.ts';

const inPhase = (words: string, call: ScriptCall): ScriptCall => ({ when: { contains: words }, ...call });
const writing = (content: string): ScriptCall => ({
  turns: [
    { tools: [tool('write', { path: 'feature.sh', content })] },
    ...finish({ outcome: 'SUCCESS', summary: 'Wrote it.' }).turns,
  ],
});
const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
const PLAN = '# Feature\n\n## Phase 1: The feature\nAdd `feature.sh`.\n';

let forge: ForgeServer;
beforeAll(async () => {
  forge = await startForgeServer({
    'phase-implementer': [
      inPhase('> Why not louder?', finish({ outcome: 'SUCCESS', summary: 'It is loud enough.' })),
      inPhase('> Why not louder?', finish({ outcome: 'SUCCESS', summary: 'It is loud enough.' })),
      inPhase('> Say it loudly.', writing('echo FEATURE\n')),
      inPhase('Say it twice.', writing('echo feature feature\n')),
      inPhase('Say it twice.', writing('echo feature feature\n')),
      ...Array.from({ length: 5 }, () => inPhase('Phase: 1 of 1', writing('echo feature\n'))),
    ],
    'phase-reviewer': Array.from({ length: 9 }, () => approves),
  });
});
afterAll(() => forge.close());

const carriedOut = async (shop: ForgeProject): Promise<{ readonly run: ForgeRun; readonly number: number }> => {
  const plan = { planPath: 'plans/feature.md', plan: PLAN };
  const run = await shop.launch({}, {}, { workflow: 'phased-plan', input: plan });
  const { published } = await run.atPullRequest();
  return { run, number: published?.pullRequest?.number ?? 0 };
};

/** Carried out, asked by a reviewer what leads to no change, and at the gate of that result. */
async function askedWhy(shop: ForgeProject) {
  const { run, number } = await carriedOut(shop);
  const { published } = await run.view();
  await shop.as('anna', 'POST', `/pulls/${number}/reviews`, {
    event: 'REQUEST_CHANGES',
    body: '',
    comments: [{ path: 'feature.sh', line: 1, body: 'Why not louder?' }],
  });
  const { gate } = await run.until(({ gate: at }) => at?.kind === 'plan_result');
  return { run, number, published, gate };
}

it('does what a reviewer asks in one more phase, answers her thread, and merges at the gate', async () => {
  const shop = await forge.project('reviewed');
  const { run, number } = await carriedOut(shop);
  const { published, gate } = await run.view();
  expect(gate?.decisions).toEqual(['approve', 'reject', 'accept', 'close']);
  const { body } = await shop.pull(number);
  expect(body).toMatch(/## Plan\n[^]*Phase 1: The feature \([0-9a-f]{10}\)[^]*Add `feature\.sh`/);
  expect(body).toContain('and 1 child run with');
  expect(body).toContain('Scripted models took part');
  await shop.as('anna', 'POST', `/pulls/${number}/reviews`, {
    event: 'REQUEST_CHANGES',
    body: '',
    comments: [{ path: 'feature.sh', line: 1, body: 'Say it loudly.' }],
  });
  const second = await run.pushedAfter(published?.commit);
  expect(second.progress).toMatchObject({ done: 2, total: 2 });
  expect(shop.repository.git('show', `${second.branch}:feature.sh`)).toBe('echo FEATURE');
  const [thread] = shop.repository.issues.get(number)?.pull?.threads ?? [];
  expect(thread).toMatchObject({ isResolved: true });
  const [, commit = ''] = /Changed in ([0-9a-f]{10}): Wrote it/.exec(JSON.stringify(thread)) ?? [];
  expect(shop.repository.git('show', '--name-only', '--format=', commit)).toBe('feature.sh');
  expect(shop.repository.git('merge-base', commit, second.branch)).toMatch(new RegExp(`^${commit}`));
  await run.decide({ decision: 'approve' });
  const { merged } = await run.completed();
  expect(merged).toMatchObject({ baseBranch: 'main' });
  expect(shop.repository.git('show', 'main:feature.sh')).toBe('echo FEATURE');
});

it('leaves the thread of a question open where nothing was changed for it', async () => {
  const shop = await forge.project('asked-why');
  const { run, number, published, gate } = await askedWhy(shop);
  expect(JSON.stringify(gate)).toContain('no_change');
  expect(JSON.stringify(gate)).toContain('Changes for reviewers: It left everything as it found it');
  await run.decide({ decision: 'approve' });
  await run.pushedAfter(published?.commit);
  const [thread] = shop.repository.issues.get(number)?.pull?.threads ?? [];
  expect(thread).toMatchObject({ isResolved: false });
  expect(JSON.stringify(thread)).toContain('Nothing was changed: It is loud enough.');
});

it('leaves the thread of a question open where a person then asks for something else', async () => {
  const shop = await forge.project('asked-else');
  const { run, number, published, gate } = await askedWhy(shop);
  expect(gate?.details).toMatchObject({
    reviewers: expect.stringContaining('Why not louder?'),
    answer: 'It is loud enough.',
  });
  await run.decide({ decision: 'reject', feedback: 'Say it twice.' });
  await run.until(({ gate: at }) => at?.kind === 'plan_result' && at.id !== gate?.id);
  await run.decide({ decision: 'approve' });
  const second = await run.pushedAfter(published?.commit);
  expect(shop.repository.git('show', `${second.branch}:feature.sh`)).toBe('echo feature feature');
  const [thread] = shop.repository.issues.get(number)?.pull?.threads ?? [];
  expect(thread).toMatchObject({ isResolved: false });
  expect(JSON.stringify(thread)).toMatch(
    /Nothing was changed: It is loud enough\. A person then asked for a change, which is in [0-9a-f]{10}\./,
  );
});

it('does what a person asks at the gate in one more phase, and completes when it is closed', async () => {
  const shop = await forge.project('sent-back');
  const { run, number } = await carriedOut(shop);
  const { published } = await run.view();
  await run.decide({ decision: 'reject', feedback: 'Say it twice.' });
  const second = await run.pushedAfter(published?.commit);
  expect(shop.repository.git('show', `${second.branch}:feature.sh`)).toBe('echo feature feature');
  await run.decide({ decision: 'close', reason: 'Not now.' });
  await run.completed();
  expect((await shop.pull(number)).state).toBe('closed');
});
