import { COMMON_GATES, type JsonObject, type RunConfig } from '@autonomous/shared';
import { gateDetailsOf } from '@autonomous/shared/presentation';
import { Actor } from 'xstate';
import { describe, expect, it, vi } from 'vitest';
import { newRun } from '../../core/advance.ts';
import { replay } from '../../core/replay.ts';
import { aConfig, aQuestion, buildDefinition as build, BuildRun, outputs } from './build.fixture.ts';

const allAuto = { ...aConfig.trustMode, planning: 'auto' as const };
const merging = { ...aConfig.git, autoMerge: true };

/** As far as the gate of the pull request. */
const toPullRequest = (git: Partial<RunConfig['git']> = { createPR: true }): BuildRun =>
  BuildRun.start({ git: { ...aConfig.git, ...git } })
    .toImplementation()
    .implemented()
    .toValidated()
    .done('copyRecord', outputs.copyRecord)
    .done('pushBranch', outputs.pullRequest);

describe('the gate of a pull request', () => {
  it('completes and names the branch where people merged it into another one', () => {
    const run = toPullRequest().done('followPullRequest', { ...outputs.mergedThere, baseBranch: 'release' });
    expect(run.view).toMatchObject({ status: 'completed', merged: { baseBranch: 'release', commit: 'c-merge' } });
    expect(run.events.at(-1)).toMatchObject({
      type: 'RUN_COMPLETED',
      payload: { summary: 'Pull request 7 was merged into release, not into main' },
    });
    expect(run.events.filter(({ type }) => type === 'NOTICE').map(({ payload }) => payload['message'])).toContain(
      'Pull request 7 led to release and was merged there. Nothing was merged into main, for which this run was.',
    );
  });

  it('sends back what an agent is given at once, and keeps the remarks that do not fit', () => {
    const run = toPullRequest({ createPR: true, maxReviewRounds: 0 });
    for (const round of [1, 2, 3])
      run.done('followPullRequest', {
        ...outputs.asked,
        asked: {
          remarks: [1, 2, 3, 4].map((n) => ({
            login: 'anna',
            text: `Remark ${round}${n}. ${'x'.repeat(3_989)}`,
            threadId: `t${round}${n}`,
            path: 'src/login.js',
            line: n,
          })),
          unheard: 0,
          checks: [],
        },
      });
    expect(run.view?.gate?.details['waiting']).toHaveLength(12);
    run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'Do what they say.' });
    const said = (run.input['notes'] as { readonly text: string }[]).map(({ text }) => text).join('\n');
    expect(said.length).toBeLessThan(21_000);
    expect(said).toContain('Remark 21.');
    expect(said).not.toContain('Remark 22.');
    expect(said).toContain('7 remarks of 28000 characters are left out and come later.');
    expect(run.events.findLast(({ type }) => type === 'NOTICE')?.payload['message']).toContain(
      '7 remarks of 28000 characters were left out',
    );
    run.implemented().toValidated().done('copyRecord', outputs.copyRecord).done('pushBranch', outputs.pullRequest);
    expect(run.input).toMatchObject({ answering: { threads: ['t11', 't12', 't13', 't14', 't21'] } });
    run.done('answerReviewers', { answered: 5 });
    expect(run.view?.gate?.details['waiting']).toHaveLength(7);
  });

  it('shows the dependencies that a round of review added, and takes no approval from before', () => {
    const run = toPullRequest();
    const before = run.view?.gate;
    expect(before?.details).not.toHaveProperty('newDependencies');
    const added = { name: 'expresss', version: '0.0.1', file: 'package-lock.json', hasInstallScript: true, ageDays: 1 };
    run
      .done('followPullRequest', outputs.asked)
      .done('implementer', outputs.implementer)
      .done('commitCode', { ...outputs.commitCode, codeTree: 't-2' })
      .done('checkAsIs', { ...outputs.check('as_is'), codeTree: 't-2', newDependencies: [added] })
      .done('checkBaseTests', { ...outputs.check('base_tests'), codeTree: 't-2' })
      .done('validator', outputs.validator)
      .done('report', { ...outputs.report, hash: 'report-2' })
      .done('copyRecord', outputs.copyRecord)
      .done('pushBranch', outputs.pullRequest)
      .done('answerReviewers', { answered: 1 });
    expect(run.view?.gate?.kind).toBe('pull_request');
    expect(gateDetailsOf(run.view?.gate ?? { details: {} }, COMMON_GATES['pull_request'] ?? {})).toContainEqual({
      key: 'newDependencies',
      title: 'New dependencies',
      lines: ['expresss 0.0.1 (package-lock.json, 1 day old, has an install script)'],
      isList: true,
    });
    const { artifactHash = '', codeTree = '' } = before ?? {};
    expect([artifactHash, codeTree]).toEqual(['report-hash', 't-code']);
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash, codeTree })).toBe(false);
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash: 'report-2', codeTree: 't-2' })).toBe(true);
  });
});

describe('the build workflow', () => {
  it('waits for approval of the plan before anything leaves the machine', () => {
    const run = BuildRun.start().toPlanGate();
    expect(run.view).toMatchObject({
      status: 'awaiting_approval',
      currentStage: 'planning',
      gate: { kind: 'plan', artifactHash: 'plan-hash', decisions: ['approve', 'reject', 'ask'] },
    });
    expect(run.open).toEqual([]);
    run.send('APPROVAL_GRANTED', { by: 'me', artifactHash: 'plan-hash' });
    expect(run.open).toEqual(['pushPlan']);
    expect(run.view?.artifacts[0]).toMatchObject({ approvedBy: 'me', type: 'mermaid_diagram' });
  });

  it('refuses an approval that names another plan', () => {
    const run = BuildRun.start().toPlanGate();
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash: 'older' })).toBe(false);
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', codeTree: 'other' })).toBe(false);
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash: 'plan-hash', codeTree: 't-plan' })).toBe(true);
  });

  it('passes the plan gate by itself when planning is trusted', () => {
    const run = BuildRun.start({ trustMode: allAuto }).toPlanGate();
    expect(run.open).toEqual(['pushPlan']);
    expect(run.types).not.toContain('APPROVAL_REQUESTED');
  });

  it('goes the whole way to a merge, with every standard fact', () => {
    const run = BuildRun.start({ git: merging }).toImplementation().implemented().toValidated();
    run
      .done('integrate', { moved: false })
      .done('copyRecord', outputs.copyRecord)
      .done('pushBranch', { commit: 'c-record', pushed: true })
      .done('merge', outputs.merge);
    expect(run.view).toMatchObject({
      status: 'completed',
      currentStage: null,
      gate: null,
      merged: { commit: 'c-merge', baseBranch: 'main' },
    });
    expect(run.view?.stages.map(({ stage, completedAt }) => [stage, completedAt !== undefined])).toEqual([
      ['planning', true],
      ['implementation', true],
      ['validation', true],
      ['publishing', true],
    ]);
    expect(run.types).toEqual(
      expect.arrayContaining([
        'RUN_CONFIGURED',
        'IMPLEMENTATION_SUCCEEDED',
        'EVIDENCE_RECORDED',
        'VALIDATION_PASSED',
        'CHANGES_PUBLISHED',
        'RUN_MERGED',
        'RUN_COMPLETED',
      ]),
    );
    expect(run.view?.artifacts).toHaveLength(3);
    expect(run.state.activities).toEqual({});
    expect(run.state.timers).toEqual({});
  });

  it('leaves the pushed branch and says so where a pull request was asked for and no forge is configured', () => {
    const run = BuildRun.start({ git: { ...merging, createPR: true } })
      .toImplementation()
      .implemented()
      .toValidated();
    run.done('copyRecord', outputs.copyRecord).done('pushBranch', { commit: 'c-record', pushed: true });
    expect(run.view).toMatchObject({
      status: 'completed',
      published: { pushed: true, note: expect.stringContaining('No forge') },
    });
    expect(run.view?.merged).toBeUndefined();
  });

  it('stays open with its pull request, and merges no other result than the one that is shown', () => {
    const run = toPullRequest();
    expect(run.view).toMatchObject({
      status: 'awaiting_approval',
      gate: { kind: 'pull_request', codeTree: 't-code', decisions: ['approve', 'reject', 'accept', 'close'] },
    });
    expect(run.open).toEqual(['followPullRequest']);
    expect(run.takes('APPROVAL_GRANTED', { by: 'me', artifactHash: 'report-hash', codeTree: 'other' })).toBe(false);
    run.send('APPROVAL_GRANTED', { by: 'me', artifactHash: 'report-hash', codeTree: 't-code' });
    expect(run.open).toEqual(['mergePullRequest']);
    expect(run.input).toMatchObject({ number: 7, head: 'c-record', codeTree: 't-code', strategy: 'squash' });
  });

  it('completes at once where its pull request is not followed', () => {
    const run = toPullRequest({ createPR: true, followPR: false });
    expect(run.view).toMatchObject({ status: 'completed', published: { pullRequest: { number: 7 } } });
  });

  it('gives the implementer what reviewers ask as quotations, answers after the push, and looks only for what is new', () => {
    const run = toPullRequest().done('followPullRequest', outputs.asked);
    expect(run.open).toEqual(['implementer']);
    expect(run.input['notes']).toEqual([
      { kind: 'feedback', text: expect.stringContaining('github:anna at src/login.js:3:\n> Rename it.') },
    ]);
    run.done('implementer', { ...outputs.implementer, summary: 'Renamed.\nAs asked.' });
    run.done('commitCode', { ...outputs.commitCode, commit: 'c-renamed', codeTree: 't-renamed' });
    for (const mode of ['as_is', 'base_tests'] as const)
      run.done(mode === 'as_is' ? 'checkAsIs' : 'checkBaseTests', {
        ...outputs.check(mode),
        codeTree: 't-renamed',
      });
    run.done('validator', outputs.validator).done('report', outputs.report);
    run.done('copyRecord', outputs.copyRecord).done('pushBranch', { ...outputs.pullRequest, commit: 'c-record-2' });
    expect(run.input).toMatchObject({
      published: 'c-record-2',
      answering: { threads: ['t1'], others: [], commit: 'c-renamed', summary: 'Renamed.' },
    });
    run.done('answerReviewers', { answered: 1 });
    expect(run.input).toMatchObject({ commit: 'c-record-2', seen: outputs.asked.seen });
  });

  it('sends remarks back by itself as often as it may, then keeps them for a person', () => {
    const run = toPullRequest({ createPR: true, maxReviewRounds: 1 }).done('followPullRequest', outputs.asked);
    run.implemented().toValidated().done('copyRecord', outputs.copyRecord);
    run.done('pushBranch', outputs.pullRequest).done('answerReviewers', { answered: 1 });
    run.done('followPullRequest', outputs.asked);
    expect(run.open).toEqual(['followPullRequest']);
    expect(run.view?.gate).toMatchObject({
      summary: 'Pull request 7: 1 remark waits for you, since 1 round of review is done',
      details: { waiting: ['github:anna at src/login.js:3: Rename it.'] },
    });
    run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'Do it.' });
    expect(run.input['notes']).toHaveLength(3);
  });

  it('keeps a failed check for a person until it passes, or the published commit is another one', () => {
    const { seen } = outputs.asked;
    const failing = (failed: readonly string[], commit = 'c-record') => ({ ...seen, checksOf: commit, failed });
    const checks = [
      { name: 'ci', conclusion: 'failure', summary: 'red', by: '' },
      { name: 'lint', conclusion: 'failure', summary: 'red', by: 'app' },
    ];
    const held = { kind: 'asked', asked: { remarks: [], unheard: 0, checks }, seen: failing(['/ci', 'app/lint']) };
    const run = toPullRequest({ createPR: true, maxReviewRounds: 0 }).done('followPullRequest', held);
    expect(run.view?.gate).toMatchObject({
      summary: 'Pull request 7: 2 failed checks wait for you, since git.maxReviewRounds is 0',
      details: { waiting: ['ci: failure', 'lint: failure'] },
    });
    run.done('followPullRequest', { kind: 'reading', seen: failing(['/ci']) });
    expect(run.view?.gate?.summary).toContain('1 failed check waits for you');
    expect(run.events.findLast(({ type }) => type === 'NOTICE')?.payload).toEqual({
      message: 'Pull request 7: a check that failed has passed since: `lint`.',
    });
    run.done('followPullRequest', { kind: 'asked', asked: outputs.asked.asked, seen: failing([]) });
    expect(run.view?.gate?.summary).toContain('1 remark waits for you');
    run.done('followPullRequest', held);
    expect(run.view?.gate?.summary).toContain('1 remark and 2 failed checks wait for you');
    // The base has moved: it is checked and published anew.
    run.send('APPROVAL_GRANTED', { by: 'me', artifactHash: 'report-hash', codeTree: 't-code' });
    run.done('mergePullRequest', { kind: 'refused', message: 'The forge says: ci is required.' });
    expect(run.view?.gate?.summary).toMatch(/^Pull request 7: it was not merged: The forge says: ci is required\. 1 r/);
    run.done('followPullRequest', { kind: 'reading', seen: failing([], 'another commit') });
    expect(run.view?.gate?.details['waiting']).toEqual(['github:anna at src/login.js:3: Rename it.']);
  });

  it('commits what the implementer did before it asks, and goes on with the answer', () => {
    const run = BuildRun.start().toImplementation().done('implementer', outputs.implementerAsks);
    expect(run.open).toEqual(['saveWork']);
    run.done('saveWork', { ...outputs.commitCode, commit: 'c-checkpoint' });
    expect(run.view).toMatchObject({
      status: 'awaiting_clarification',
      currentStage: 'implementation',
      clarificationCount: 1,
      gate: { kind: 'clarification', question: aQuestion },
    });
    run.send('CLARIFICATION_ANSWERED', { by: 'me', response: 'Supabase' });
    expect(run.open).toEqual(['implementer']);
    expect(run.input).toMatchObject({
      call: 2,
      head: 'c-checkpoint',
      notes: [{ kind: 'answer', text: expect.stringContaining('Supabase') }],
    });
    expect(run.view?.clarifications).toMatchObject([{ status: 'answered', response: 'Supabase', answeredBy: 'me' }]);
  });

  it('treats an ignored question as a rejection of the plan', () => {
    const run = BuildRun.start()
      .toImplementation()
      .done('implementer', outputs.implementerAsks)
      .done('saveWork', outputs.commitCode);
    run.send('CLARIFICATION_IGNORED', { by: 'me' });
    expect(run.open).toEqual(['planner']);
    expect(run.view?.clarifications[0]?.status).toBe('ignored');
  });

  it('turns the question over the limit into a gate that shows all of them', () => {
    const run = BuildRun.start({ maxClarifications: 2 }).done(
      'prepare',
      outputs.prepare({ ...aConfig, maxClarifications: 2 }),
    );
    for (const answer of ['one', 'two'])
      run.done('planner', outputs.plannerAsks).send('CLARIFICATION_ANSWERED', { by: 'me', response: answer });
    run.done('planner', outputs.plannerAsks);
    const gate = { kind: 'escalation', summary: expect.stringContaining('More than 2 questions') };
    expect(run.view).toMatchObject({ status: 'awaiting_approval', gate });
    expect(run.view?.gate?.details).toMatchObject({
      answered: [{ response: 'one' }, { response: 'two' }],
      question: aQuestion,
    });
    run.send('APPROVAL_GRANTED', { by: 'me', notes: 'Take Supabase' });
    expect(run.open).toEqual(['planner']);
  });

  it('gives a planner that wrote an unreadable diagram one more try, then asks a person', () => {
    const run = BuildRun.start().done('prepare', outputs.prepare(aConfig)).done('planner', outputs.plannerFails);
    expect(run.input['notes']).toMatchObject([{ kind: 'parser' }]);
    run.done('planner', outputs.plannerFails);
    expect(run.gate).toBe('invalid_plan');
    expect(run.takes('APPROVAL_GRANTED', { by: 'me' })).toBe(false);
    run
      .send('APPROVAL_GRANTED', { by: 'me', editedPlan: '# Mended' })
      .done('revisePlan', { ok: true, plan: outputs.commitPlan });
    expect(run.open).toEqual(['pushPlan']);
  });

  it('brings a question about the plan back to the same gate with its answer', () => {
    const run = BuildRun.start().toPlanGate();
    const first = run.view?.gate?.id;
    run.send('QUESTION_ASKED', { by: 'me', question: 'Why a session?' }).done('plan-reply', {
      reply: 'Because.',
      cost: { role: 'plan-reply', model: 'm', scripted: true, inputTokens: 1, outputTokens: 1, calls: 1 },
    });
    expect(run.gate).toBe('plan');
    expect(run.view?.gate?.id).not.toBe(first);
    expect(run.types).toContain('QUESTION_REPLIED');
  });

  it('fixes a failed check by itself, at most as often as it may, then asks', () => {
    const run = BuildRun.start({ maxFixAttempts: 1 })
      .done('prepare', outputs.prepare({ ...aConfig, maxFixAttempts: 1 }))
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan);
    run.send('APPROVAL_GRANTED', { by: 'me' }).done('pushPlan', outputs.pushed).implemented();
    run.done('checkAsIs', outputs.check('as_is', false)).done('report', outputs.report);
    expect(run.open).toEqual(['implementer']);
    expect(run.view?.fixAttempts).toBe(1);
    run.implemented().done('checkAsIs', outputs.check('as_is', false)).done('report', outputs.report);
    expect(run.view).toMatchObject({
      status: 'awaiting_approval',
      gate: { kind: 'fix', decisions: ['retry', 'accept'] },
    });
  });

  it('fixes what a review finds by itself, at most as often as it may, then asks with its words', () => {
    const run = BuildRun.start({ maxFixAttempts: 1 })
      .done('prepare', outputs.prepare({ ...aConfig, maxFixAttempts: 1 }))
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan);
    run.send('APPROVAL_GRANTED', { by: 'me' }).done('pushPlan', outputs.pushed);
    const isNotContent = (): BuildRun =>
      run
        .implemented()
        .toChecked()
        .done('validator', { ...outputs.validator, verdict: 'fail', summary: 'Not yet.', feedback: 'Once more.' })
        .done('report', outputs.report);
    expect(isNotContent().open).toEqual(['implementer']);
    expect(isNotContent().view).toMatchObject({ fixAttempts: 1, gate: { kind: 'fix', summary: 'Not yet.' } });
  });

  it('asks at once when the checks fail as they did before the run', () => {
    const baseline = {
      ...outputs.baseline,
      passed: false,
      command: { ...outputs.baseline.command, exitCode: 1 },
      tests: { ...outputs.baseline.tests, failed: 1, failedNames: ['test/old.test.js: never worked'] },
    };
    const checked = { ...outputs.check('as_is', false), baseline, failsAsBefore: true };
    const run = BuildRun.start({ maxFixAttempts: 3 }).toImplementation().implemented();
    run.done('checkAsIs', checked).done('report', outputs.report);
    expect(run.view).toMatchObject({ fixAttempts: 0, gate: { kind: 'fix', decisions: ['retry', 'accept'] } });
    expect(run.view?.gate?.summary).toBe(
      'The checks failed before the run already (1 failed: test/old.test.js: never worked) and fail in the same way now: `npm test` (exit code 1)',
    );
    const known =
      'On the base commit the checks failed already (exit code 1); 3 tests ran, 1 failed: test/old.test.js: never worked.';
    expect(run.view?.gate?.details).toMatchObject({ baseline: known, feedback: expect.stringContaining(known) });
  });

  it('tells the agent that fixes a check how the checks ended on the base commit', () => {
    const run = BuildRun.start({ maxFixAttempts: 3 }).toImplementation().implemented();
    const checked = { ...outputs.check('as_is', false), baseline: outputs.baseline };
    run.done('checkAsIs', checked).done('report', outputs.report);
    expect(run.open).toEqual(['implementer']);
    expect(JSON.stringify(run.steps.at(-1))).toContain('On the base commit the checks passed; 3 tests ran, 0 failed.');
  });

  it('tells of tests that were there and were changed, once', () => {
    const run = BuildRun.start().toImplementation().implemented();
    const changedTests = [
      { path: 'test/a.test.js', linesRemoved: 2, assertionsBefore: 2, assertions: 2 },
      { path: 'test/b.test.js', isDeleted: true, linesRemoved: 1, assertionsBefore: 1, assertions: 0 },
      { path: 'test/new.test.js', linesRemoved: 0, assertionsBefore: 0, assertions: 1 },
    ];
    run.done('checkAsIs', { ...outputs.check('as_is'), changedTests });
    expect(run.view?.notices).toEqual([
      'Tests that were there before the run were changed: test/a.test.js (−2 lines), test/b.test.js (deleted, −1 line)',
    ]);
  });

  it('asks at once when the result passes only with changed tests', () => {
    const run = BuildRun.start()
      .toImplementation()
      .implemented()
      .done('checkAsIs', outputs.check('as_is'))
      .done('checkBaseTests', { ...outputs.check('base_tests', false), restored: ['test/login.test.js'] });
    run.done('report', outputs.report);
    expect(run.gate).toBe('fix');
    expect(run.view?.gate?.details).toMatchObject({ from: 'base_tests', restored: ['test/login.test.js'] });
    expect(run.view?.gate?.summary).toBe(
      "The project's checks pass with the result as it is; with these files as on the base commit they fail: test/login.test.js: `npm test` (exit code 1)",
    );
  });

  it('publishes a failed result only when a person accepts exactly it', () => {
    const run = BuildRun.start({ trustMode: { ...aConfig.trustMode, fixes: 'manual' } })
      .toImplementation()
      .implemented();
    run.done('checkAsIs', outputs.check('as_is', false)).done('report', outputs.report);
    expect(run.takes('FIX_DECIDED', { by: 'me', decision: 'accept' })).toBe(false);
    run.send('FIX_DECIDED', { by: 'me', decision: 'accept', reason: 'known flake' });
    expect(run.open).toEqual(['copyRecord']);
    expect(run.view?.gates.at(-1)).toMatchObject({ decision: 'accept', by: 'me', notes: 'known flake' });
  });

  it('asks for the checks of a project that names none, once', () => {
    const run = BuildRun.start()
      .done('prepare', { ...outputs.prepare(aConfig), test: null })
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan);
    run.send('APPROVAL_GRANTED', { by: 'me' }).done('pushPlan', outputs.pushed).implemented();
    expect(run.view).toMatchObject({
      status: 'awaiting_clarification',
      clarificationCount: 0,
      gate: { decisions: ['answer'] },
    });
    run.send('CLARIFICATION_ANSWERED', { by: 'me', response: 'make check' });
    expect(run.input['test']).toMatchObject({ command: 'make check' });
  });

  it('never completes without evidence: a project without checks needs a person', () => {
    const run = BuildRun.start()
      .done('prepare', { ...outputs.prepare(aConfig), test: { command: '', source: 'configuration' } })
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan);
    run
      .send('APPROVAL_GRANTED', { by: 'me' })
      .done('pushPlan', outputs.pushed)
      .implemented()
      .done('validator', outputs.validator)
      .done('report', outputs.report);
    expect(run.gate).toBe('fix');
  });

  it('pauses with the reason of a failed activity and takes up the same work on retry', () => {
    const run = BuildRun.start().toImplementation().fail('implementer', 'model_unavailable', 'no answer');
    expect(run.open).toEqual(['checkpoint']);
    run.done('checkpoint', { commit: 'c-saved', refused: [] });
    expect(run.view).toMatchObject({
      status: 'paused',
      currentStage: 'implementation',
      gate: { kind: 'pause', reason: 'model_unavailable', summary: 'no answer' },
    });
    run.send('RETRY_REQUESTED', { by: 'me', notes: 'The key is set now' });
    expect(run.open).toEqual(['implementer']);
    expect(run.input['notes']).toMatchObject([{ kind: 'message', text: 'The key is set now' }]);
    expect(run.input['head']).toBe('c-saved');
    expect(run.types).toContain('RUN_RESUMED');
  });

  it('resumes by itself when the limit of a provider ends, or before when a person says so', () => {
    const paused = () =>
      BuildRun.start().toImplementation().rateLimited('implementer', 90_000).done('checkpoint', outputs.nothingLeft);
    const run = paused();
    expect(run.view).toMatchObject({ status: 'paused', gate: { reason: 'rate_limited', decisions: ['retry'] } });
    expect(Object.values(run.state.timers).map((timer) => Date.parse(timer.dueAt) - run.now)).toEqual([90_000]);
    run.fire();
    expect(run.open).toEqual(['implementer']);
    expect(paused().send('RETRY_REQUESTED', { by: 'me' }).open).toEqual(['implementer']);
  });

  describe('when a limit of a provider does not end', () => {
    const waits = (run: BuildRun) =>
      Object.values(run.state.timers).map((timer) => Math.round((Date.parse(timer.dueAt) - run.now) / 1_000));
    const limited = (run: BuildRun, retryAfterMs: number) =>
      run.rateLimited('implementer', retryAfterMs).done('checkpoint', outputs.nothingLeft);
    const resumed = (times: number) => {
      const run = BuildRun.start().toImplementation();
      for (let count = 0; count < times; count += 1) limited(run, 0).fire();
      return run;
    };

    it('resumes ever later, and asks a person after five times', () => {
      const run = BuildRun.start().toImplementation();
      const waited: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        waited.push(...waits(limited(run, 1_000)));
        run.fire();
      }
      expect(waited).toEqual([1, 60, 120, 240, 480]);
      limited(run, 1_000);
      expect(run.state.timers).toEqual({});
      expect(run.view).toMatchObject({
        status: 'paused',
        gate: { reason: 'rate_limited', decisions: ['retry'], summary: expect.stringContaining('by itself 5 times') },
      });
    });

    it('waits as long as the provider says where that is longer', () => {
      expect(waits(limited(resumed(1), 3_600_000))).toEqual([3_600]);
    });

    it('begins to count anew when a person has retried', () => {
      const asked = limited(resumed(5), 0).send('RETRY_REQUESTED', { by: 'me' });
      expect(waits(limited(asked, 1_000))).toEqual([1]);
      const before = limited(resumed(3), 0).send('RETRY_REQUESTED', { by: 'me' });
      expect(waits(limited(before, 1_000))).toEqual([1]);
    });

    it('begins to count anew when an agent has come to an end', () => {
      const run = resumed(4).implemented().toChecked().rateLimited('validator', 1_000);
      expect(waits(run.done('checkpoint', outputs.nothingLeft))).toEqual([1]);
    });
  });

  it('pauses when a stage takes too long, and goes on with more time', () => {
    const run = BuildRun.start().toImplementation().fire();
    expect(run.open).toEqual(['checkpoint']);
    run.done('checkpoint', outputs.nothingLeft);
    expect(run.view?.gate).toMatchObject({ reason: 'timeout' });
    run.send('STAGE_EXTENDED', { by: 'me', minutes: 90 });
    expect(run.open).toEqual(['implementer']);
    const [timer] = Object.values(run.state.timers);
    expect(Date.parse(timer?.dueAt ?? '') - run.now).toBe(90 * 60_000);
  });

  it('says what was under way when a stage took too long, and which setting is its limit', () => {
    const run = BuildRun.start().toImplementation().implemented();
    const during = [{ activity: 'checkAsIs', what: 'npm test', elapsedMs: 290_000, lastLine: 'ok 12 - adds' }];
    run.fire({ during }).done('checkpoint', outputs.nothingLeft);
    expect(run.view?.gate?.summary).toBe(
      'The stage validation took longer than 5 minutes. Under way was `npm test`, for 4 min 50 s; its last line: ok 12 - adds. Extend the stage for this run, or set defaultRunConfig.timeoutMinutes.validation in .autonomous/config.json for the next ones.',
    );
  });

  it('gives validation more time where the baseline took long, unless somebody set the limit', () => {
    const slow = {
      ...outputs.baseline,
      preparedMs: 10 * 60_000,
      command: { ...outputs.baseline.command, durationMs: 4 * 60_000 },
    };
    const limitAfter = (validation: number, baseline: JsonObject) => {
      const run = BuildRun.start({ timeoutMinutes: { ...aConfig.timeoutMinutes, validation } });
      run.ended('prepare', outputs.prepare(run.view?.config ?? aConfig)).ended('baseline', baseline);
      return run.view?.config.timeoutMinutes['validation'];
    };
    expect(limitAfter(30, slow)).toBe(4 * (10 + 2 * 4) + 10);
    expect(limitAfter(20, slow)).toBe(20);
    expect(limitAfter(30, outputs.baseline)).toBe(30);
    expect(limitAfter(30, { ...slow, command: { ...slow.command, exitCode: null } })).toBe(30);
  });

  it('extends a running stage without touching its work', () => {
    const run = BuildRun.start().toImplementation();
    const key = run.key('implementer');
    run.send('STAGE_EXTENDED', { by: 'me', minutes: 120 });
    expect(run.key('implementer')).toBe(key);
    expect(run.view?.config.timeoutMinutes['implementation']).toBe(120);
  });

  describe('stopped while it publishes', () => {
    const ways = [
      { way: 'pull_request', text: 'Open a pull request', note: 'Open the pull request: https://x.test' },
      { way: 'resolve_base', text: 'Have the agent resolve it' },
      { way: 'leave_branch', text: 'Leave it as the branch', note: 'It conflicts.' },
      { way: 'of_another_workflow', text: 'Never offered' },
    ];
    const stoppedAt = (activity: 'integrate' | 'merge', reason = 'merge_conflict') => {
      const run = BuildRun.start({ git: merging }).toImplementation().implemented().toValidated();
      if (activity === 'merge')
        run
          .done('integrate', { moved: false })
          .done('copyRecord', outputs.copyRecord)
          .done('pushBranch', { commit: 'c-record', pushed: true });
      return run.fail(activity, reason, 'Stopped.', { ways }).done('checkpoint', outputs.nothingLeft);
    };
    const answer = (response: string) => ({ by: 'me', response });

    it('offers the ways on that it takes, beside a retry', () => {
      const run = stoppedAt('merge', 'push_rejected');
      expect(run.view?.gate).toMatchObject({
        kind: 'pause',
        reason: 'push_rejected',
        decisions: ['answer', 'retry'],
        question: {
          question: 'Stopped.',
          responseType: 'single_choice',
          options: ['Open a pull request', 'Have the agent resolve it', 'Leave it as the branch'],
        },
      });
      expect(run.takes('CLARIFICATION_ANSWERED', answer('Never offered'))).toBe(false);
      expect(run.send('RETRY_REQUESTED', { by: 'me' }).open).toEqual(['merge']);
    });

    it('completes as the pushed branch, with the link of the pull request', () => {
      const run = stoppedAt('merge', 'push_rejected').send('CLARIFICATION_ANSWERED', answer('Open a pull request'));
      expect(run.view).toMatchObject({
        status: 'completed',
        published: { pushed: true, commit: 'c-record', note: 'Open the pull request: https://x.test' },
      });
      expect(run.view?.merged).toBeUndefined();
    });

    it('pushes the branch and does not merge where that is chosen before the push', () => {
      const run = stoppedAt('integrate').send('CLARIFICATION_ANSWERED', answer('Leave it as the branch'));
      run.done('copyRecord', outputs.copyRecord).done('pushBranch', { commit: 'c-record', pushed: true });
      expect(run.view).toMatchObject({ status: 'completed', published: { note: 'It conflicts.' } });
    });

    it('has the implementer resolve conflicts, and checks the result again', () => {
      const run = stoppedAt('integrate').send('CLARIFICATION_ANSWERED', answer('Have the agent resolve it'));
      expect(run.input).toMatchObject({ from: 'base', head: 'c-report' });
      run.done('takeInBase', {
        commit: 'c-taken',
        codeTree: 't-taken',
        baseCommit: 'base2',
        planPath: outputs.commitPlan.path,
        conflicts: ['src/cart.js'],
      });
      expect(run.open).toEqual(['implementer']);
      expect(JSON.stringify(run.input['notes'])).toContain('src/cart.js');
      run.done('implementer', outputs.implementer);
      expect(run.input).toMatchObject({ head: 'c-taken', baseCommit: 'base2', conflicts: ['src/cart.js'] });
      run.done('commitCode', outputs.commitCode);
      expect(run.open).toEqual(['checkAsIs']);
    });
  });

  it('checks everything again when the base moved', () => {
    const run = BuildRun.start({ git: merging }).toImplementation().implemented().toValidated();
    run.done('integrate', {
      moved: true,
      baseCommit: 'base2',
      commit: 'c-merged-in',
      codeTree: 't-new',
      planPath: outputs.commitPlan.path,
    });
    expect(run.open).toEqual(['checkAsIs']);
    run
      .done('checkAsIs', { ...outputs.check('as_is'), codeTree: 't-new', planPath: outputs.commitPlan.path })
      .done('checkBaseTests', { ...outputs.check('base_tests'), codeTree: 't-new' });
    run.done('validator', outputs.validator).done('report', outputs.report).done('integrate', { moved: false });
    expect(run.open).toEqual(['copyRecord']);
  });

  it('does not publish on evidence for another code tree', () => {
    const run = BuildRun.start().toImplementation().implemented();
    run
      .done('checkAsIs', { ...outputs.check('as_is'), codeTree: 'elsewhere' })
      .done('checkBaseTests', outputs.check('base_tests'));
    run.done('validator', outputs.validator).done('report', outputs.report).done('checkpoint', outputs.nothingLeft);
    expect(run.view).toMatchObject({ status: 'paused', gate: { reason: 'poisoned' } });
  });

  it('can be cancelled from every state that is not final, and leaves nothing open', () => {
    const waystations: ((run: BuildRun) => BuildRun)[] = [
      (run) => run,
      (run) => run.toPlanGate(),
      (run) => run.toImplementation(),
      (run) => run.toImplementation().done('implementer', outputs.implementerAsks).done('saveWork', outputs.commitCode),
      (run) => run.toImplementation().implemented(),
      (run) => run.toImplementation().implemented().toValidated(),
      (run) => run.toImplementation().fail('implementer'),
      (run) => run.toImplementation().fail('implementer').done('checkpoint', outputs.nothingLeft),
    ];
    for (const goTo of waystations) {
      const run = goTo(BuildRun.start()).send('RUN_CANCELLED', { by: 'me' });
      expect(run.view).toMatchObject({ status: 'cancelled', gate: null });
      expect([run.open, Object.keys(run.state.timers)]).toEqual([[], []]);
    }
  });

  it('ignores the late result of an activation that was left', () => {
    const run = BuildRun.start().toImplementation();
    const stale = run.key('implementer');
    run.fail('implementer').done('checkpoint', outputs.nothingLeft).send('RETRY_REQUESTED', { by: 'me' });
    expect(() =>
      run.send('ACTIVITY_COMPLETED', { key: stale, activity: 'implementer', output: outputs.implementer }),
    ).toThrow('late');
  });

  it('replays identically, and notices a changed event', () => {
    const run = BuildRun.start({ git: merging }).toImplementation().implemented().toValidated();
    const replayed = replay(build, newRun('r'), run.events);
    expect(replayed.ok && replayed.state.activities).toEqual(run.state.activities);
    const at = run.events.findIndex((event) => event.type === 'EVIDENCE_RECORDED');
    const tampered = run.events.map((event, index) =>
      index === at ? { ...event, payload: { ...event.payload, passed: false } } : event,
    );
    expect(replay(build, newRun('r'), tampered)).toMatchObject({ ok: false, sequence: at + 1 });
    expect(
      replay(
        build,
        newRun('r'),
        run.events.filter((_, index) => index !== at),
      ),
    ).toMatchObject({ ok: false });
  });

  it('starts no actor', () => {
    const start = vi.spyOn(Actor.prototype, 'start');
    BuildRun.start({ git: merging }).toImplementation().implemented().toValidated();
    expect(start).not.toHaveBeenCalled();
    start.mockRestore();
  });
});
