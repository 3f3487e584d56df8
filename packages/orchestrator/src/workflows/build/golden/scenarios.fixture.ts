/**
 * Ways through the build workflow, driven by hand: together they take every state, every transition and every signal, and
 * everything that the engine itself does to a run.
 */
import { foldRun, type JsonObject, type RunConfig, type WorkflowEvent } from '@autonomous/shared';
import { aConfig, aQuestion, BuildRun, outputs } from '../build.fixture.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => BuildRun>>;

/** A driven run that the engine quarantines, queues and admits. */
class EngineBuildRun extends BuildRun {
  static queued(): EngineBuildRun {
    const started = BuildRun.start().events[0]?.payload as JsonObject;
    const run = new EngineBuildRun();
    return run.send('RUN_QUEUED', { position: 2, start: started }).send('RUN_STARTED', started);
  }

  static override start(change: Partial<RunConfig> = {}): EngineBuildRun {
    const run = new EngineBuildRun();
    return run.send('RUN_STARTED', BuildRun.start(change).events[0]?.payload);
  }

  /** What the engine writes when it cannot go on with a run. */
  quarantine(reason: string, message: string): this {
    this.now += 1_000;
    const sequence = this.state.sequence + 1;
    const event: WorkflowEvent = {
      id: `e${sequence}`,
      position: sequence,
      workflowRunId: 'r',
      sequence,
      type: 'RUN_PAUSED',
      origin: 'input',
      payload: { gate: 'pause', stage: null, decisions: ['retry'], summary: message, details: {}, reason, message },
      timestamp: new Date(this.now).toISOString(),
    };
    this.events.push(event);
    this.view = foldRun(this.view, event);
    this.state = { ...this.state, sequence, parked: message };
    return this;
  }
}

const by = 'me';
const manual = { planning: 'manual', implementation: 'manual', fixes: 'manual' } as const;
const trusted = { planning: 'auto', implementation: 'auto', fixes: 'auto' } as const;
const merging = { ...aConfig.git, autoMerge: true };

/** As far as a plan, with a configuration of the project's own. */
const prepared = (change: Partial<RunConfig>, more: JsonObject = {}): BuildRun =>
  BuildRun.start(change).done('prepare', { ...outputs.prepare({ ...aConfig, ...change }), ...more });
const planned = (change: Partial<RunConfig> = {}, more: JsonObject = {}): BuildRun =>
  prepared(change, more).done('planner', outputs.planner).done('commitPlan', outputs.commitPlan);
const approved = (change: Partial<RunConfig> = {}, more: JsonObject = {}): BuildRun => {
  const run = planned(change, more);
  if (run.gate === 'plan') run.send('APPROVAL_GRANTED', { by, gateId: run.view?.gate?.id, artifactHash: 'plan-hash' });
  return run.done('pushPlan', outputs.pushed);
};
/** A trusted run that is prepared, whose baseline goes on. */
const trustedBesideItsBaseline = (): BuildRun => {
  const run = BuildRun.start({ trustMode: trusted });
  return run.ended('prepare', outputs.prepare(run.view?.config ?? aConfig));
};
const aConcern = { kind: 'no_change', title: 'Nothing was changed', items: [{ reason: 'It is the base.' }], hash: 'h' };
const reviewed = (run: BuildRun, change: JsonObject = {}): BuildRun =>
  run
    .toChecked()
    .done('validator', { ...outputs.validator, ...change })
    .done('report', outputs.report);
const checksFail = (run: BuildRun): BuildRun =>
  run.implemented().done('checkAsIs', outputs.check('as_is', false)).done('report', outputs.report);
const pausedAt = (run: BuildRun, activity: string, reason?: string): BuildRun =>
  run.fail(activity, reason).done('checkpoint', outputs.nothingLeft);
/** A publication that is stopped, and the way on that a person chooses. */
const way = (run: BuildRun, activity: string, reason: string, chosen: string): BuildRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .done('checkpoint', outputs.nothingLeft)
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });
const validatedToMerge = (): BuildRun => reviewed(approved({ git: merging }).implemented());
const toPush = (): BuildRun => reviewed(approved().implemented()).done('copyRecord', outputs.copyRecord);
const takenIn = {
  commit: 'c-taken',
  codeTree: 't-taken',
  baseCommit: 'base',
  planPath: outputs.commitPlan.path,
  conflicts: [],
};
/** As far as the gate of the pull request. */
const opened = (change: Partial<RunConfig> = {}): BuildRun =>
  reviewed(approved({ trustMode: trusted, git: { ...aConfig.git, createPR: true }, ...change }).implemented())
    .done('copyRecord', outputs.copyRecord)
    .done('pushBranch', outputs.pullRequest);
const mergeThere = (run: BuildRun): BuildRun =>
  run.send('APPROVAL_GRANTED', { by, artifactHash: 'report-hash', codeTree: 't-code' });
const closedHere = (): BuildRun => opened().send('FIX_DECIDED', { by, decision: 'close', reason: 'Not now.' });
const pushedAgain = (run: BuildRun): BuildRun =>
  reviewed(run.implemented()).done('copyRecord', outputs.copyRecord).done('pushBranch', outputs.pullRequest);
const retried = (run: BuildRun): BuildRun => run.send('RETRY_REQUESTED', { by });
const published = (run: BuildRun): BuildRun =>
  run.done('copyRecord', outputs.copyRecord).done('pushBranch', { commit: 'c-record', pushed: true });
const asked = (run: BuildRun): BuildRun =>
  run.done('implementer', outputs.implementerAsks).done('saveWork', outputs.commitCode);
const edited = (run: BuildRun): BuildRun =>
  run.send('APPROVAL_GRANTED', { by, artifactHash: 'plan-hash', editedPlan: '# Mine' });
const taken = (andThen: 'check' | 'implement'): JsonObject => ({
  runId: 'other',
  commit: 'c-other',
  paths: ['src/session.js'],
  andThen,
});
const atResult = (): BuildRun => reviewed(approved({ trustMode: manual }).implemented());
const moved = {
  moved: true,
  baseCommit: 'base2',
  commit: 'c-merged-in',
  codeTree: 't-new',
  planPath: '.autonomous/specs/002-login-flow.md',
};
/** Every activity that a person can be asked to retry, on the way to where it runs. */
const failing: Readonly<Record<string, () => BuildRun>> = {
  prepare: () => BuildRun.start(),
  planner: () => prepared({}),
  commitPlan: () => prepared({}).done('planner', outputs.planner),
  'plan-reply': () => planned().send('QUESTION_ASKED', { by, question: 'Why a session?' }),
  revisePlan: () => edited(planned()),
  pushPlan: () => planned({ trustMode: trusted }),
  setUp: () => approved({}, { setup: { command: 'npm ci', source: 'package-lock.json' } }),
  implementer: () => approved(),
  saveWork: () => approved().done('implementer', outputs.implementerAsks),
  commitCode: () => approved().done('implementer', outputs.implementer),
  checkAsIs: () => approved().implemented(),
  checkBaseTests: () => approved().implemented().done('checkAsIs', outputs.check('as_is')),
  validator: () => approved().implemented().toChecked(),
  report: () => approved().implemented().toChecked().done('validator', outputs.validator),
  integrate: () => reviewed(approved({ git: merging }).implemented()),
  copyRecord: () => reviewed(approved().implemented()),
  pushBranch: () => reviewed(approved().implemented()).done('copyRecord', outputs.copyRecord),
  merge: () => published(reviewed(approved({ git: merging }).implemented()).done('integrate', { moved: false })),
  takeFiles: () => atResult().send('APPROVAL_REJECTED', { by, feedback: 'Take it.', take: taken('check') }),
};
/** The same since the run follows its pull request; the reasons of the others stay as they were recorded. */
const failingThere: Readonly<Record<string, () => BuildRun>> = {
  followPullRequest: () => opened(),
  mergePullRequest: () => mergeThere(opened()),
  closePullRequest: () => closedHere(),
  answerReviewers: () => pushedAgain(opened().done('followPullRequest', outputs.asked)),
};
const reasons = [
  'agent_failed',
  'model_unavailable',
  'auth_expired',
  'push_rejected',
  'setup_failed',
  'merge_conflict',
  'remote_unavailable',
  'sandbox_unavailable',
  'storage_full',
  'secret_found',
] as const;

/** The build workflow's newest version. */
export const buildScenarios: Scenarios = {
  'pull request merged at the forge': () => opened().done('followPullRequest', outputs.mergedThere),
  'pull request merged at the forge with commits of others': () =>
    opened()
      .done('followPullRequest', { kind: 'moved', head: 'c-others', seen: { ...outputs.asked.seen, head: 'c-others' } })
      .done('followPullRequest', { ...outputs.mergedThere, head: 'c-others' }),
  'pull request merged at the forge into another branch': () =>
    opened().done('followPullRequest', { ...outputs.mergedThere, baseBranch: 'release' }),
  'pull request with more remarks than are read, then all of them': () =>
    opened()
      .done('followPullRequest', { kind: 'reading', seen: { ...outputs.asked.seen, unread: true } })
      .done('followPullRequest', { kind: 'reading', seen: outputs.asked.seen })
      .done('followPullRequest', outputs.mergedThere),
  'pull request closed at the forge': () => opened().done('followPullRequest', { kind: 'closed' }),
  'pull request not followed': () => opened({ git: { ...aConfig.git, createPR: true, followPR: false } }),
  'pull request left open': () => opened().send('FIX_DECIDED', { by, decision: 'accept', reason: 'It can wait.' }),
  'draft pull request with the plan': () =>
    planned({ trustMode: trusted, git: { ...aConfig.git, createPR: true } })
      .done('pushPlan', outputs.pullRequest)
      .implemented(),
  'forked at the pull request, which opens its own': () =>
    fork(opened())
      .done('followPullRequest', { kind: 'none' })
      .done('pushBranch', { ...outputs.pullRequest, pullRequest: { number: 8, url: 'https://forge.test/pull/8' } }),
  'forked at the pull request, left open': () =>
    fork(opened())
      .send('FIX_DECIDED', { by, decision: 'accept', reason: 'It can wait.' })
      .done('pushBranch', outputs.pullRequest),
  'forked at the pull request, merged': () => mergeThere(fork(opened())).done('pushBranch', outputs.pullRequest),
  'forked while the pull request is merged': () => fork(mergeThere(opened())).done('pushBranch', outputs.pullRequest),
  'forked while the pull request is closed': () => fork(closedHere()).done('pushBranch', outputs.pullRequest),
  'pull request closed at the gate': () => closedHere().done('closePullRequest', { kind: 'closed' }),
  'pull request merged before it is closed at the gate': () =>
    closedHere().done('closePullRequest', outputs.mergedThere),
  'pull request merged at the gate': () =>
    mergeThere(opened()).done('mergePullRequest', {
      ...outputs.mergedThere,
      by: null,
      method: 'merge',
      notices: ['The repository does not allow squash.'],
    }),
  'pull request closed before it is merged at the gate': () =>
    mergeThere(opened()).done('mergePullRequest', { kind: 'closed' }),
  'pull request that a rule holds back, then merged': () =>
    mergeThere(
      mergeThere(opened()).done('mergePullRequest', { kind: 'refused', message: 'The check ci is expected.' }),
    ).done('mergePullRequest', { ...outputs.mergedThere, notices: [] }),
  'pull request behind its base, brought up to date': () =>
    againOnTheNewBase(
      mergeThere(opened())
        .done('mergePullRequest', { kind: 'outdated', message: 'It is behind.' })
        .done('integrate', moved),
    )
      .done('copyRecord', outputs.copyRecord)
      .done('pushBranch', outputs.pullRequest),
  'reviewers ask, are followed and answered': () =>
    pushedAgain(opened().done('followPullRequest', outputs.asked)).done('answerReviewers', { answered: 1 }),
  'reviewers ask too often, a person sends it back': () =>
    pushedAgain(
      opened({ git: { ...aConfig.git, createPR: true, maxReviewRounds: 0 } })
        .done('followPullRequest', outputs.asked)
        .done('followPullRequest', {
          ...outputs.asked,
          asked: { remarks: [], unheard: 0, checks: [{ name: 'ci', conclusion: 'failure', summary: 'red' }] },
        })
        .send('APPROVAL_REJECTED', { by, feedback: 'Do what they say.' }),
    ).done('answerReviewers', { answered: 1 }),
  'pull request sent back by a person': () =>
    pushedAgain(opened().send('APPROVAL_REJECTED', { by, feedback: 'Rename it.' })),
  'baseline-fails-and-the-plan-goes-on': () =>
    trustedBesideItsBaseline().fail('baseline').done('planner', outputs.planner).done('commitPlan', outputs.commitPlan),
  'baseline-is-waited-for-before-the-checks': () =>
    trustedBesideItsBaseline()
      .done('planner', outputs.planner)
      .done('commitPlan', outputs.commitPlan)
      .done('pushPlan', outputs.pushed)
      .done('implementer', outputs.implementer)
      .done('commitCode', outputs.commitCode)
      .ended('baseline', { ...outputs.baseline, passed: false })
      .toChecked(),
  'nothing-changed-sent-back-once': () =>
    approved({ trustMode: trusted })
      .done('implementer', outputs.implementer)
      .done('commitCode', { ...outputs.commitCode, filesChanged: [] })
      .done('implementer', outputs.implementer)
      .done('commitCode', { ...outputs.commitCode, filesChanged: [] })
      .toChecked()
      .done('validator', outputs.validator)
      .done('report', { ...outputs.report, concerns: [aConcern], openConcerns: [aConcern] })
      .send('APPROVAL_GRANTED', { by, artifactHash: 'report-hash', codeTree: 't-code' }),
  'secret-in-the-plan-sent-back': () =>
    pausedAt(planned({ trustMode: trusted }), 'pushPlan', 'secret_found').send('APPROVAL_REJECTED', {
      by,
      feedback: 'Take the key out.',
    }),
  'result-needs-a-look-sent-back': () =>
    pausedAt(approved({ trustMode: trusted }).implemented().toValidated(), 'copyRecord', 'review_needed').send(
      'APPROVAL_REJECTED',
      { by, feedback: 'Leave the workflow alone.' },
    ),
  'result-needs-a-look-accepted': () =>
    pausedAt(approved({ trustMode: trusted }).implemented().toValidated(), 'copyRecord', 'review_needed').send(
      'RETRY_REQUESTED',
      { by, notes: 'I have read it.', accepts: 'hash' },
    ),
  'base refuses the push, left as a pushed branch': () =>
    way(published(validatedToMerge().done('integrate', { moved: false })), 'merge', 'push_rejected', 'leave_pushed'),
  'conflict with the base, left as a branch': () =>
    published(way(validatedToMerge(), 'integrate', 'merge_conflict', 'leave_branch')),
  'conflict with the base, resolved by the agent at the second attempt': () =>
    way(
      way(validatedToMerge(), 'integrate', 'merge_conflict', 'resolve_base')
        .done('takeInBase', { ...takenIn, conflicts: ['src/login.js'] })
        .done('implementer', outputs.implementer),
      'commitCode',
      'merge_conflict',
      'resolve_rest',
    ).implemented(),
  'taking the base in fails': () =>
    pausedAt(
      way(validatedToMerge(), 'integrate', 'merge_conflict', 'resolve_base'),
      'takeInBase',
      'remote_unavailable',
    ),
  'base taken in without a conflict after all': () =>
    way(validatedToMerge(), 'integrate', 'merge_conflict', 'resolve_base').done('takeInBase', takenIn),
  'commits of others on the branch, taken in': () =>
    way(toPush(), 'pushBranch', 'push_rejected', 'take_in').done('takeIn', takenIn),
  'commits of others on the branch, taken in with a conflict': () =>
    way(toPush(), 'pushBranch', 'push_rejected', 'take_in').done('takeIn', {
      ...takenIn,
      conflicts: ['src/login.js'],
    }),
  'commits of others on the branch that cannot be taken in': () =>
    pausedAt(way(toPush(), 'pushBranch', 'push_rejected', 'take_in'), 'takeIn', 'remote_unavailable'),
  'commit of others on the branch, taken in as it was named': () =>
    toPush()
      .fail('pushBranch', 'push_rejected', 'Stopped.', {
        ways: [{ way: 'take_in', text: 'Take in commit c-others', commit: 'c-others' }],
      })
      .done('checkpoint', outputs.nothingLeft)
      .send('CLARIFICATION_ANSWERED', { by, response: 'Take in commit c-others', choices: ['Take in commit c-others'] })
      .done('takeIn', takenIn),
  'commits of others on the branch, pushed beside': () =>
    way(toPush(), 'pushBranch', 'push_rejected', 'push_beside').done('pushBeside', {
      commit: 'c-record',
      pushed: true,
      branch: 'autonomous/r-login-flow-beside',
    }),
  'push beside fails': () =>
    pausedAt(way(toPush(), 'pushBranch', 'push_rejected', 'push_beside'), 'pushBeside', 'push_rejected'),
  'plan approved, merged': () =>
    published(reviewed(approved({ git: merging }).implemented()).done('integrate', { moved: false })).done(
      'merge',
      outputs.merge,
    ),
  'trusted all the way, pushed': () => published(reviewed(approved({ trustMode: trusted }).implemented())),
  'pull request wanted and no forge': () =>
    published(reviewed(approved({ git: { ...merging, createPR: true } }).implemented())),
  'plan rejected, then approved with an edit': () =>
    edited(
      planned()
        .send('APPROVAL_REJECTED', { by, feedback: 'Use the session.' })
        .done('planner', { ...outputs.planner, draft: { ...outputs.planner.draft, decisions: aDecisions } })
        .done('commitPlan', outputs.commitPlan),
    ).done('revisePlan', { ok: true, plan: outputs.commitPlan }),
  'edit that cannot be read, then mended': () =>
    edited(planned())
      .done('revisePlan', { ok: false, message: 'line 2' })
      .send('APPROVAL_GRANTED', { by, editedPlan: '# Mended' })
      .done('revisePlan', { ok: true, plan: outputs.commitPlan }),
  'plan that cannot be read twice, mended': () =>
    prepared({})
      .done('planner', outputs.plannerFails)
      .done('planner', { ...outputs.plannerFails, draft: { ...outputs.planner.draft, decisions: aDecisions } })
      .send('APPROVAL_GRANTED', { by, editedPlan: '# Mended' })
      .done('revisePlan', { ok: true, plan: outputs.commitPlan }),
  'plan that cannot be read twice, sent back': () =>
    prepared({})
      .done('planner', outputs.plannerFails)
      .done('planner', outputs.plannerFails)
      .send('APPROVAL_REJECTED', { by, feedback: 'Again.' })
      .done('planner', outputs.planner),
  'a person asks about the plan': () =>
    planned()
      .send('QUESTION_ASKED', { by, question: 'Why a session?' })
      .done('plan-reply', { reply: 'Because.', cost: { ...outputs.planner.cost, role: 'plan-reply' } }),
  'planner asks and is answered': () =>
    prepared({})
      .done('planner', outputs.plannerAsks)
      .send('CLARIFICATION_ANSWERED', { by, response: 'Supabase' })
      .done('planner', outputs.planner),
  'planner asks and is ignored': () =>
    prepared({}).done('planner', outputs.plannerAsks).send('CLARIFICATION_IGNORED', { by }),
  'planner asks over the limit, approved': () =>
    overTheLimit(prepared({ maxClarifications: 1 })).send('APPROVAL_GRANTED', { by, notes: 'Take Supabase.' }),
  'planner asks over the limit, rejected': () =>
    overTheLimit(prepared({ maxClarifications: 1 })).send('APPROVAL_REJECTED', { by, feedback: 'No more.' }),
  'implementer asks and is answered with a file': () =>
    asked(approved())
      .send('CLARIFICATION_ANSWERED', { by, response: 'logo.svg', uploads: [{ id: 'u1', name: 'logo.svg' }] })
      .implemented(),
  'implementer asks and is ignored': () => asked(approved()).send('CLARIFICATION_IGNORED', { by }),
  'implementer asks over the limit, approved': () =>
    asked(approved({ maxClarifications: 0 }))
      .send('APPROVAL_GRANTED', { by })
      .implemented(),
  'implementer asks over the limit, rejected': () =>
    asked(approved({ maxClarifications: 0 })).send('APPROVAL_REJECTED', { by, feedback: 'Plan it.' }),
  'set up before the work, with refused files and decisions': () =>
    approved({}, { setup: { command: 'npm ci', source: 'package-lock.json' }, notices: ['A notice.'] })
      .done('setUp', { ran: true })
      .done('implementer', { ...outputs.implementer, decisions: aDecisions, refused: ['out -> /etc/passwd'] })
      .done('commitCode', outputs.commitCode),
  'a question with files that are not taken': () =>
    approved().done('implementer', { ...outputs.implementerAsks, refused: ['a socket'] }),
  'checks fail, fixed by itself': () => {
    const fixed = checksFail(approved()).implemented();
    return published(reviewed(fixed));
  },
  'checks fail too often, then a person retries': () =>
    checksFail(checksFail(approved({ maxFixAttempts: 1 })))
      .send('FIX_DECIDED', { by, decision: 'retry', reason: 'Look at the fixture.', attempt: 2 })
      .implemented(),
  'checks fail, a person retries without a word': () =>
    checksFail(approved({ trustMode: { ...aConfig.trustMode, fixes: 'manual' } })).send('FIX_DECIDED', {
      by,
      decision: 'retry',
    }),
  'checks fail, accepted and published': () =>
    published(
      checksFail(approved({ trustMode: { ...aConfig.trustMode, fixes: 'manual' } })).send('FIX_DECIDED', {
        by,
        decision: 'accept',
        reason: 'A known flake.',
        accepted: ['the checks'],
      }),
    ),
  'checks pass only with changed tests': () =>
    approved()
      .implemented()
      .done('checkAsIs', outputs.check('as_is'))
      .done('checkBaseTests', { ...outputs.check('base_tests', false), restored: ['test/login.test.js'] })
      .done('report', outputs.report),
  'review finds a minor fault, fixed by itself': () =>
    reviewed(approved().implemented(), {
      verdict: 'fail',
      summary: 'No error page.',
      feedback: 'Add one.',
    }).implemented(),
  'review finds a major fault': () =>
    reviewed(approved().implemented(), { verdict: 'fail', severity: 'major', summary: 'Wrong place.' }),
  'no automatic retry on this server': () => checksFail(approved({}, { autoRetry: false })),
  'result approved by a person': () =>
    published(
      reviewed(approved({ trustMode: manual }).implemented()).send('APPROVAL_GRANTED', {
        by,
        artifactHash: 'report-hash',
        codeTree: 't-code',
        notes: 'Fine.',
      }),
    ),
  'result rejected by a person': () =>
    reviewed(approved({ trustMode: manual }).implemented())
      .send('APPROVAL_REJECTED', { by, feedback: 'Rename it.' })
      .implemented(),
  'files taken from another run, checked': () =>
    atResult()
      .send('APPROVAL_REJECTED', { by, feedback: 'Take it.', take: taken('check') })
      .done('takeFiles', outputs.takeFiles),
  'files taken from another run, worked on': () =>
    atResult()
      .send('APPROVAL_REJECTED', { by, feedback: 'Keep its names.', take: taken('implement') })
      .done('takeFiles', outputs.takeFiles)
      .implemented(),
  'checks fail, files taken from another run': () =>
    checksFail(approved({ trustMode: manual }))
      .send('FIX_DECIDED', { by, decision: 'retry', reason: 'Take it.', attempt: 1, take: taken('check') })
      .done('takeFiles', outputs.takeFiles),
  'project without checks, named by a person': () =>
    approved({}, { test: null }).implemented().send('CLARIFICATION_ANSWERED', { by, response: 'make check' }),
  'project without checks, and there are none': () =>
    approved({}, { test: null })
      .implemented()
      .send('CLARIFICATION_ANSWERED', { by, response: 'none' })
      .done('validator', outputs.validator)
      .done('report', outputs.report)
      .send('FIX_DECIDED', { by, decision: 'accept', reason: 'A page of prose.' }),
  'evidence for another tree publishes nothing': () => pausedWithoutEvidence(approved().implemented()),
  'base moved, checked again, then merged': () =>
    published(
      againOnTheNewBase(reviewed(approved({ git: merging }).implemented()).done('integrate', moved)).done('integrate', {
        moved: false,
      }),
    ).done('merge', outputs.merge),
  'base moved between integrating and merging': () =>
    published(reviewed(approved({ git: merging }).implemented()).done('integrate', { moved: false })).done('merge', {
      merged: false,
    }),
  'base moved under the same plan': () =>
    reviewed(approved({ git: merging }).implemented()).done('integrate', {
      ...moved,
      planPath: outputs.commitPlan.path,
    }),
  'merge conflict, retried': () =>
    retried(pausedAt(reviewed(approved({ git: merging }).implemented()), 'integrate', 'merge_conflict')).done(
      'integrate',
      { moved: false },
    ),
  'memory with a notice': () =>
    reviewed(approved().implemented()).done('copyRecord', { ...outputs.copyRecord, notices: ['memory.md was mended'] }),
  'planning takes too long, extended': () =>
    prepared({}).fire().done('checkpoint', outputs.nothingLeft).send('STAGE_EXTENDED', { by, minutes: 30 }),
  'implementation takes too long, work saved, retried': () =>
    retried(
      approved()
        .fire()
        .done('checkpoint', { commit: 'c-saved', refused: ['a socket'] }),
    ),
  'validation takes too long, extended': () =>
    approved().implemented().fire().done('checkpoint', outputs.nothingLeft).send('STAGE_EXTENDED', { by, minutes: 15 }),
  'stages extended while they run': () =>
    approvedAfter(prepared({}).send('STAGE_EXTENDED', { by, minutes: 20 }))
      .send('STAGE_EXTENDED', { by, minutes: 90 })
      .implemented()
      .send('STAGE_EXTENDED', { by, minutes: 10 }),
  'messages on the way': () =>
    prepared({})
      .send('MESSAGE_SENT', { by, text: 'Keep it small.' })
      .done('planner', outputs.planner)
      .send('MESSAGE_SENT', { by, text: 'Really.' }),
  'a limit of a provider ends, resumes by itself': () =>
    approved().rateLimited('implementer', 90_000).done('checkpoint', outputs.nothingLeft).fire().implemented(),
  'a limit of a provider, retried before': () =>
    approved()
      .rateLimited('implementer', 90_000)
      .done('checkpoint', outputs.nothingLeft)
      .send('RETRY_REQUESTED', { by, notes: 'It is paid now.' }),
  'the checkpoint fails too': () => retried(approved().fail('implementer').fail('checkpoint', 'storage_full')),
  'queued at the start, admitted': () => EngineBuildRun.queued().done('prepare', outputs.prepare(aConfig)),
  'queued after a gate, with a clock that runs': () =>
    prepared({})
      .done('planner', outputs.plannerAsks)
      .send('CLARIFICATION_ANSWERED', { by, response: 'Supabase' })
      .send('RUN_QUEUED', { position: 1 })
      .send('RUN_ADMITTED', { waitedMs: 45_000 })
      .done('planner', outputs.planner),
  'cancelled in the queue': () =>
    planned()
      .send('APPROVAL_REJECTED', { by, feedback: 'No.' })
      .send('RUN_QUEUED', { position: 1 })
      .send('RUN_CANCELLED', { by }),
  'set aside at a gate, taken up': () => {
    const run = EngineBuildRun.start().toPlanGate();
    return retried(run.quarantine('poisoned', 'event 4 is not what was stored')).send('APPROVAL_GRANTED', { by });
  },
  'set aside at work, taken up': () => {
    const run = EngineBuildRun.start().toImplementation();
    return retried(run.quarantine('definition_missing', 'version 1 is not registered')).implemented();
  },
  'set aside, cancelled': () =>
    EngineBuildRun.start()
      .toPlanGate()
      .quarantine('poisoned', 'event 4 is not what was stored')
      .send('RUN_CANCELLED', { by, reason: 'Start afresh.' }),
  'forked at a gate as it is': () => fork(planned()).send('APPROVAL_GRANTED', { by }),
  'forked at work with another configuration': () =>
    fork(approved(), {
      config: { ...aConfig, maxFixAttempts: 1, commands: { test: 'npm run check', setup: 'npm ci' } },
    }).implemented(),
  'forked in a pause with another configuration': () =>
    retried(fork(pausedAt(approved(), 'implementer'), { config: { ...aConfig, maxFixAttempts: 1 } })),
  'forked while its clock ran': () => fork(approved()).implemented(),
  ...named('fails, paused, retried', failing, (start, activity, index) =>
    retried(pausedAt(start(), activity, reasons[index % reasons.length])),
  ),
  ...named('fails, paused, retried', failingThere, (start, activity) =>
    retried(pausedAt(start(), activity, 'auth_expired')),
  ),
  ...named(
    'cancelled',
    {
      'while it prepares': () => BuildRun.start(),
      'at the plan gate': () => planned(),
      'at a question': () => asked(approved()),
      'while it implements': () => approved(),
      'while it validates': () => approved().implemented(),
      'while it publishes': () => reviewed(approved().implemented()),
      'while work is saved': () => approved().fail('implementer'),
      'in a pause': () => pausedAt(approved(), 'implementer'),
    },
    (start) => start().send('RUN_CANCELLED', { by, reason: 'No longer needed.' }),
  ),
  'the budget is used up, then raised': () =>
    pausedAt(approved({ maxCostUsd: 1, maxTokens: 1_000 }), 'implementer', 'budget')
      .send('BUDGET_CHANGED', { by, maxCostUsd: 2, maxTokens: null })
      .implemented(),
  'the budget is changed while it works': () =>
    BuildRun.start()
      .send('BUDGET_CHANGED', { by, maxToolCalls: 50 })
      .done('prepare', outputs.prepare({ ...aConfig, maxToolCalls: 50 })),
  'checks-fail-as-before-the-run': () =>
    approved()
      .implemented()
      .done('checkAsIs', {
        ...outputs.check('as_is', false),
        baseline: { ...outputs.baseline, passed: false },
        failsAsBefore: true,
      })
      .done('report', outputs.report),
  'tests-that-were-there-are-changed': () =>
    approved()
      .implemented()
      .done('checkAsIs', {
        ...outputs.check('as_is'),
        changedTests: [{ path: 'test/login.test.js', linesRemoved: 1, assertionsBefore: 1, assertions: 1 }],
      }),
};

const aDecisions = [{ topic: 'Session', choice: 'cookie', rationale: 'simple' }];

function named(
  suffix: string,
  starts: Readonly<Record<string, () => BuildRun>>,
  go: (start: () => BuildRun, name: string, index: number) => BuildRun,
): Scenarios {
  return Object.fromEntries(
    Object.entries(starts).map(([name, start], index) => [`${name} ${suffix}`, () => go(start, name, index)]),
  );
}

function fork(run: BuildRun, change: { readonly config?: RunConfig } = {}): BuildRun {
  const { branch } = run.events[0]?.payload ?? {};
  return run.send('RUN_FORKED', {
    from: 'r0',
    at: run.state.sequence,
    by,
    branch,
    waitedMs: 120_000,
    ...(change.config ? { config: change.config as unknown as JsonObject } : {}),
  });
}

function overTheLimit(run: BuildRun): BuildRun {
  return run
    .done('planner', outputs.plannerAsks)
    .send('CLARIFICATION_ANSWERED', { by, response: 'Supabase' })
    .done('planner', { ...outputs.plannerAsks, question: { ...aQuestion, question: 'Really?' } });
}

function pausedWithoutEvidence(run: BuildRun): BuildRun {
  return run
    .done('checkAsIs', { ...outputs.check('as_is'), codeTree: 'elsewhere' })
    .done('checkBaseTests', outputs.check('base_tests'))
    .done('validator', outputs.validator)
    .done('report', outputs.report)
    .done('checkpoint', outputs.nothingLeft);
}

function againOnTheNewBase(run: BuildRun): BuildRun {
  return run
    .done('checkAsIs', { ...outputs.check('as_is'), codeTree: 't-new' })
    .done('checkBaseTests', { ...outputs.check('base_tests'), codeTree: 't-new' })
    .done('validator', outputs.validator)
    .done('report', outputs.report);
}

function approvedAfter(run: BuildRun): BuildRun {
  return run
    .done('planner', outputs.planner)
    .done('commitPlan', outputs.commitPlan)
    .send('APPROVAL_GRANTED', { by })
    .done('pushPlan', outputs.pushed);
}

/** Every workflow's newest version by name, as far as its histories are driven by hand. */
export const scenarios: Scenarios = buildScenarios;
