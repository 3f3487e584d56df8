/** Comments beside the lines of a result, over HTTP: kept until a decision sends them, over restarts, and never lost. */
import { foldRun, type RunView } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { aScript, aServer, startServer, when, writes } from '../fixtures/orchestrator.fixture.ts';

const MANUAL = { trustMode: { planning: 'auto', implementation: 'manual', fixes: 'manual' } } as const;
const AT_LINE_1 = { path: 'feature.sh', line: 1, text: 'Say good evening, too.' };
const textsOf = ({ comments = [] }: Pick<RunView, 'comments'>): readonly string[] => comments.map(({ text }) => text);
const refusal = (call: Promise<unknown>): Promise<ApiError> =>
  call.then(
    () => {
      throw new Error('it was taken');
    },
    (error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    },
  );

describe('comments on a result', () => {
  it('are one list of its gate, changed and deleted by all faces, and there again after a restart', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL);
    const gateId = (await server.until(run, { gate: 'implementation' })).gate?.id ?? '';
    const added = await server.client.addComment(gateId, AT_LINE_1);
    const [first] = added.comments ?? [];
    expect(first).toMatchObject({ ...AT_LINE_1, gateId, by: 'local' });
    const two = await server.client.addComment(gateId, { path: 'feature.sh', line: 0, text: 'Add a title.' });
    const [, second] = two.comments ?? [];
    await server.client.editComment(first?.id ?? '', 'Say good night, too.');
    await server.client.deleteComment(second?.id ?? '');
    expect((await refusal(server.client.editComment(second?.id ?? '', 'Again'))).status).toBe(409);

    await server.close();
    const again = await startServer(server.folder);
    try {
      const kept = await again.client.listComments(gateId);
      expect(kept).toMatchObject([{ ...AT_LINE_1, id: first?.id, gateId, text: 'Say good night, too.' }]);
      // Every client has them by the feed, as the server does.
      const events = await again.client.listEvents(run.id, 0, 1_000);
      const folded = events.reduce<RunView | null>(foldRun, null);
      expect(folded?.comments).toEqual(kept);
      expect((await again.client.getRun(run.id)).comments).toEqual(kept);
    } finally {
      await again.stop();
    }
  });

  it('are sent with a rejection, with or without general words', async () => {
    const second = when('feature.sh:1: Say good evening, too.', writes({ 'feature.sh': 'echo evening\n' }));
    const server = await aServer({
      script: aScript({ implementer: [second, writes({ 'feature.sh': 'echo feature\n' })] }),
    });
    const run = await server.launch('Add the feature', MANUAL);
    const gateId = (await server.until(run, { gate: 'implementation' })).gate?.id ?? '';
    expect((await refusal(server.client.decideGate(gateId, { decision: 'reject' }))).status).toBe(400);
    await server.client.addComment(gateId, AT_LINE_1);
    const rejected = await server.client.decideGate(gateId, { decision: 'reject' });
    expect(rejected.gates.at(-1)).toMatchObject({
      decision: 'reject',
      notes: 'feature.sh:1: Say good evening, too.',
    });
    expect(rejected.comments).toBeUndefined();
    const next = (await server.until(run, { gate: 'implementation' })).gate?.id ?? '';
    expect(await server.client.listComments(next)).toEqual([]);

    await server.client.addComment(next, { ...AT_LINE_1, line: 2, text: 'And a title.' });
    const words = await server.client.decideGate(next, { decision: 'reject', feedback: 'Shorter.' });
    expect(words.gates.at(-1)?.notes).toBe('Shorter.\n\nfeature.sh:2: And a title.');
  });

  it('are sent with another try and with an acceptance at a failed check', async () => {
    const server = await aServer({
      script: aScript({
        implementer: [writes({ 'test/app.test.sh': 'exit 1\n' }), writes({ 'test/app.test.sh': 'exit 2\n' })],
      }),
    });
    const run = await server.launch('Add the feature', MANUAL);
    const first = (await server.until(run, { gate: 'fix' })).gate?.id ?? '';
    await server.client.addComment(first, AT_LINE_1);
    await server.client.decideGate(first, { decision: 'retry' });
    const again = (await server.until(run, { gate: 'fix' })).gate;
    await server.client.addComment(again?.id ?? '', { ...AT_LINE_1, text: 'Next time.' });
    await server.decide(run, { decision: 'accept', reason: 'Good enough.' });
    expect((await server.payloads(run.id, 'FIX_DECIDED')).map(({ reason }) => reason)).toEqual([
      'feature.sh:1: Say good evening, too.',
      'Good enough.\n\nfeature.sh:1: Next time.',
    ]);
  });

  it('stay where the gate is decided without them, and go with the next words', async () => {
    const server = await aServer({
      script: aScript({ implementer: [writes({ 'feature.sh': 'exit 1\n', 'test/app.test.sh': 'exit 1\n' })] }),
    });
    const run = await server.launch('Add the feature', {
      ...MANUAL,
      trustMode: { ...MANUAL.trustMode, planning: 'manual' },
    });
    const plan = (await server.until(run, { gate: 'plan' })).gate?.id ?? '';
    await server.client.addComment(plan, { path: 'docs/plan.md', line: 3, text: 'Name the states.' });
    await server.decide(run, { decision: 'approve' });
    const fix = await server.until(run, { gate: 'fix' });
    expect(textsOf(fix)).toEqual(['Name the states.']);
    expect(await server.client.listComments(fix.gate?.id ?? '')).toMatchObject([{ gateId: plan }]);
    // A decided gate takes no more comments.
    expect(await refusal(server.client.addComment(plan, AT_LINE_1))).toMatchObject({
      status: 409,
      message: expect.stringContaining('already decided'),
    });
    await server.decide(run, { decision: 'retry', notes: 'Once more.' });
    expect((await server.client.getRun(run.id)).gates.at(-1)?.notes).toBe(
      'Once more.\n\ndocs/plan.md:3: Name the states.',
    );
  });

  it('are bounded, so that there is room for them in one decision', async () => {
    const server = await aServer();
    const run = await server.launch('Add the feature', MANUAL);
    const gateId = (await server.until(run, { gate: 'implementation' })).gate?.id ?? '';
    const long = { ...AT_LINE_1, text: 'x'.repeat(3_900) };
    for (let count = 0; count < 4; count += 1) await server.client.addComment(gateId, long);
    expect(await refusal(server.client.addComment(gateId, long))).toMatchObject({
      status: 409,
      message: expect.stringContaining('have more than 16,000 characters'),
    });
    const tooMuch = { decision: 'reject', feedback: 'y'.repeat(10_000) } as const;
    expect(await refusal(server.client.decideGate(gateId, tooMuch))).toMatchObject({
      status: 400,
      message: expect.stringMatching(/The feedback has 2\d,\d{3} characters with the 4 comments/),
    });
    await server.client.decideGate(gateId, { decision: 'reject', feedback: 'Shorter.' });
  });
});
