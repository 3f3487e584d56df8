/** Ways through the workflow of a phase, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../../driven-run.ts';
import { newestOf } from '../../../workflow.ts';
import { planPhase } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: {},
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { 'phase-implementer': 'scripted:demo', 'phase-reviewer': 'scripted:demo' },
  timeoutMinutes: { implementation: 60, validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'autonomous/r-parts', mergeStrategy: 'merge' },
  commands: {},
};
const test = { command: 'npm test', source: 'package.json' };
const lint = { command: 'npm run lint', source: 'package.json' };
const cost = (role: string) => ({
  role,
  model: 'scripted:demo',
  scripted: true,
  inputTokens: 10,
  outputTokens: 5,
  calls: 1,
});

const started = (input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(planPhase)).begin({
    request: 'Phase 2: Part 2',
    config,
    branch: 'autonomous/child-2',
    input: {
      planPath: 'plans/parts.md',
      planFile: 'plans/parts.md',
      number: 2,
      total: 3,
      title: 'Part 2',
      text: 'Write part 2.',
      criteria: ['It is there.'],
      maxRetries: 1,
      ...input,
    },
  });
const prepared = (input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  started(input).ended('prepare', {
    baseCommit: 'base',
    config,
    notices: [],
    excludePaths: [],
    setup: null,
    test,
    autoRetry: true,
    ...more,
  });
const ready = (input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  prepared(input, more).ended('findCommands', { test: null, lint });
/** A project with an install step. */
const settingUp = (): DrivenRun => ready({}, { setup: { command: 'npm ci', source: 'package-lock.json' } });

const attempted = (isDone: boolean, summary: string, refused: readonly string[] = []): JsonObject => ({
  isDone,
  summary,
  tree: 't',
  refused: [...refused],
  cost: cost('phase-implementer'),
});
const code: JsonObject = { commit: 'c-1', codeTree: 't-1', filesChanged: ['part2.js'] };
const checked = (passed = true): JsonValue => ({
  mode: 'as_is',
  codeTree: 't-1',
  commit: 'c-1',
  passed,
  restored: [],
  sandbox: 'bubblewrap',
  commands: [
    {
      command: 'npm test',
      exitCode: passed ? 0 : 1,
      durationMs: 10,
      output: passed ? 'ok' : 'not ok',
      isTruncated: false,
    },
    { command: 'npm run lint', exitCode: 0, durationMs: 10, output: '', isTruncated: false },
  ],
});
const reviewed = (isApproved: boolean): JsonObject => ({
  isApproved,
  summary: isApproved ? 'Fine.' : 'Not fine.',
  blockers: isApproved ? '' : '1. (logic, part2.js:1) It adds.',
  cost: cost('phase-reviewer'),
});

/** An attempt whose files are committed. */
const written = (run: DrivenRun): DrivenRun =>
  run.ended('attempt', attempted(true, 'Wrote it.')).ended('commitCode', code);
const verified = (run: DrivenRun): DrivenRun => run.ended('verify', checked());
const approved = (run: DrivenRun): DrivenRun => run.ended('review', reviewed(true));
const committed = (run: DrivenRun): DrivenRun =>
  run.ended('commitPhase', { commit: 'c-phase', codeTree: 't-1', filesChanged: ['part2.js'] });
const done = (run: DrivenRun): DrivenRun => committed(approved(verified(written(run))));
/** Red checks twice: beyond the one retry. */
const spent = (input: JsonObject = {}): DrivenRun =>
  written(written(ready(input)).ended('verify', checked(false))).ended('verify', checked(false));
const blocked = (input: JsonObject = {}): DrivenRun =>
  spent(input).ended('shareBranch', { commit: 'c-1', pushed: true });
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
const checkpoint = (run: DrivenRun, commit: string | null = null, refused: readonly string[] = []): DrivenRun =>
  run.ended('checkpoint', { commit, refused: [...refused] });

/** Every activity that a person can be asked to retry, on the way to where it runs. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  findCommands: () => prepared(),
  setUp: () => settingUp(),
  attempt: () => ready(),
  commitCode: () => ready().ended('attempt', attempted(true, 'Wrote it.')),
  verify: () => written(ready()),
  review: () => verified(written(ready())),
  takeHandFix: () => retried(blocked()),
  commitPhase: () => approved(verified(written(ready()))),
};

export const scenarios: Scenarios = {
  'implemented-verified-reviewed-committed': () => done(ready()),
  'install-step-and-given-commands': () =>
    done(
      prepared({ test, lint }, { setup: { command: 'npm ci', source: 'package-lock.json' } })
        .ended('findCommands', { test: null, lint: null })
        .ended('setUp', { ran: true }),
    ),
  'commands-answered-by-a-person': () =>
    done(
      prepared({}, { test: null })
        .ended('findCommands', { test: null, lint: null })
        .send('CLARIFICATION_ANSWERED', { by, response: 'make test' }),
    ),
  'no-commands-reviewed-at-once': () =>
    committed(
      approved(
        written(
          prepared({}, { test: null })
            .ended('findCommands', { test: null, lint: null })
            .send('CLARIFICATION_ANSWERED', { by, response: 'none' }),
        ),
      ),
    ),
  'red-checks-then-fixed': () =>
    committed(approved(verified(written(written(ready()).ended('verify', checked(false)))))),
  'blockers-then-fixed': () =>
    committed(approved(verified(written(verified(written(ready())).ended('review', reviewed(false)))))),
  'implementer-says-failure-then-success': () =>
    done(
      ready()
        .ended('attempt', attempted(false, 'I could not.', ['.git/config: not a path of the project']))
        .ended('commitCode', code),
    ),
  'fixer-says-unable-twice-blocked': () =>
    written(ready({ maxRetries: 2 }))
      .ended('verify', checked(false))
      .ended('attempt', attempted(false, 'Too hard.'))
      .ended('commitCode', code)
      .ended('attempt', attempted(false, 'Still too hard.'))
      .ended('commitCode', code)
      .ended('shareBranch', { commit: 'c-1', pushed: true }),
  'agent-gives-no-result-then-does': () =>
    done(ready().fail('attempt', 'agent_failed').ended('saveFailed', { commit: 'c-0', refused: [] })),
  'agent-stalls-and-nothing-can-be-saved': () =>
    done(ready().fail('attempt', 'stalled').fail('saveFailed', 'storage_full')),
  'review-gives-no-result-reviewed-again': () =>
    committed(approved(verified(written(ready())).fail('review', 'agent_failed'))),
  'blocked-then-guided': () =>
    committed(approved(verified(written(blocked().send('APPROVAL_REJECTED', { by, feedback: 'Multiply.' }))))),
  'review-without-result-blocked-then-guided': () =>
    committed(
      approved(
        verified(
          written(
            verified(written(ready()))
              .fail('review', 'agent_failed')
              .fail('review', 'agent_failed')
              .ended('shareBranch', { commit: 'c-1', pushed: true })
              .send('APPROVAL_REJECTED', { by, feedback: 'Split it.' }),
          ),
        ),
      ),
    ),
  'blocked-then-fixed-by-hand': () =>
    committed(
      approved(
        retried(blocked())
          .ended('takeHandFix', { commit: 'c-hand', codeTree: 't-hand', filesChanged: ['part2.js'] })
          .ended('verify', checked()),
      ),
    ),
  'blocked-then-verified-again-as-it-is': () =>
    retried(blocked()).ended('takeHandFix', { commit: null }).ended('verify', checked(false)),
  'blocked-and-its-branch-cannot-be-pushed': () => spent().fail('shareBranch', 'remote_unavailable'),
  'blocked-and-the-push-of-its-branch-is-refused': () =>
    spent()
      .ended('shareBranch', { commit: 'c-1', pushed: false, refusal: 'The remote is away.' })
      .send('APPROVAL_REJECTED', { by, feedback: 'Multiply.' }),
  'iterations-are-used-up': () =>
    written(ready({ maxIterations: 1, maxRetries: 3 }))
      .ended('verify', checked(false))
      .ended('shareBranch', { commit: 'c-1', pushed: false }),
  'attempt-takes-too-long-then-extended': () =>
    done(checkpoint(ready().fire(), 'c-half', ['a link: out.txt']).send('STAGE_EXTENDED', { by, minutes: 90 })),
  'budget-used-up-then-raised': () =>
    checkpoint(ready().fail('attempt', 'budget')).send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
  'a-limit-ends-resumes-by-itself': () => done(checkpoint(ready().rateLimited('attempt', 60_000)).fire()),
  'message-and-budget-while-it-runs': () =>
    ready().send('MESSAGE_SENT', { by, text: 'Keep it short.' }).send('BUDGET_CHANGED', { by, maxTokens: 1_000 }),
  'cancelled-while-it-runs': () => ready().send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, way]) => [
      `${activity.toLowerCase()}-fails-paused-retried`,
      () => retried(checkpoint(way().fail(activity, 'storage_full')), 'There is room now.'),
    ]),
  ),
  'nothing-can-be-saved-on-the-way-to-a-pause': () =>
    ready().fail('attempt', 'storage_full').fail('checkpoint', 'storage_full'),
  'new-blockers-after-each-fix-blocked': () => {
    const run = written(ready());
    for (const next of [written, (each: DrivenRun) => each]) next(verified(run).ended('review', reviewed(false)));
    return run.ended('shareBranch', { commit: 'c-1', pushed: true });
  },
};
