import type { EventPayloads, Progress, RunView, WorkflowEvent, WorkflowEventType } from '@autonomous/shared';
import { aWorkflow } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { describeEvent, describeProgress, formatTimeline, printable } from './timeline.ts';

function event<Type extends WorkflowEventType>(type: Type, payload: EventPayloads[Type]): WorkflowEvent {
  // The widest type of an event has no payload of its own vocabulary.
  return {
    id: 'e1',
    position: 1,
    workflowRunId: 'r-1',
    sequence: 1,
    type,
    origin: 'emitted',
    timestamp: '2030-01-01T00:00:00.000Z',
    payload,
  } as unknown as WorkflowEvent;
}

const evidence = (fields: Partial<EventPayloads['EVIDENCE_RECORDED']>): WorkflowEvent =>
  event('EVIDENCE_RECORDED', {
    mode: 'as_is',
    codeTree: 'c0de',
    commit: 'c0ffee',
    passed: true,
    commands: [{ command: 'npm test', exitCode: 0, durationMs: 840, output: '' }],
    sandbox: 'bubblewrap',
    ...fields,
  });

/** A workflow with a role for each stage but the last. */
const WORKFLOW = aWorkflow({
  roles: ['planner', 'implementer', 'validator'].map((name) => ({ name, title: name })),
  stages: [
    { name: 'planning', title: 'Planning', role: 'planner' },
    { name: 'implementation', title: 'Implementation', role: 'implementer' },
    { name: 'validation', title: 'Validation', role: 'validator' },
    { name: 'ci', title: 'CI checks' },
  ],
});

const runWith = (currentStage: string, planner: string, validator = 'openai:gpt-4o-mini', passed = true): RunView =>
  ({
    currentStage,
    config: { modelRouting: { planner, implementer: 'anthropic:x', validator } },
    evidence: [{ passed }],
  }) as unknown as RunView;

const progress = (fields: Partial<Progress>): Progress => ({
  runId: 'r-1',
  activity: 'implementer',
  kind: 'tool_call',
  text: 'read src/app.js',
  role: 'implementer',
  model: 'anthropic:x',
  at: '2030-01-01T00:00:00.000Z',
  ...fields,
});

it('says once that a run completed with failures, also where its workflow says so itself', () => {
  const completed = (summary: string) =>
    describeEvent(event('RUN_COMPLETED', { summary, failures: ['F2 is skipped.'] }))?.text;
  expect(completed('1 of 2 features pass, completed with failures. The branch is pushed')).toBe(
    'completed with failures: 1 of 2 features pass. The branch is pushed\nF2 is skipped.',
  );
  expect(completed('One is left.')).toBe('completed with failures: One is left.\nF2 is skipped.');
});

describe('describeEvent', () => {
  it('says at the start where engine-owned files are committed, and each commit of them', () => {
    const start = {
      workflow: { name: 'backlog', version: 1, fingerprint: '' },
      request: 'Do it',
      branch: 'autonomous/r-1-do-it',
      config: { git: { baseBranch: 'main' } },
      ownedFiles: { paths: ['ai/backlog.md'], to: 'base' },
    } as unknown as EventPayloads['RUN_STARTED'];
    expect(describeEvent(event('RUN_STARTED', start))?.text).toBe(
      'run r-1: Do it\nworkflow backlog, branch autonomous/r-1-do-it\nEngine-owned files (ai/backlog.md) are committed to the base branch main. Changes of agents to them are left out.',
    );
    const paths = ['ai/backlog.md'];
    const committed = {
      to: 'branch',
      branch: 'autonomous/r-1-do-it',
      commit: 'c0ffee1234',
      paths,
      why: 'main refused',
    };
    expect(describeEvent(event('OWNED_FILES_COMMITTED', committed as never))?.text).toBe(
      'ai/backlog.md committed to autonomous/r-1-do-it: commit c0ffee1234\nmain refused',
    );
  });

  it('says nothing of what only the engine needs', () => {
    expect(describeEvent(event('ACTIVITY_COMPLETED', { key: 'k', activity: 'plan', output: null }))).toBeNull();
    expect(describeEvent(event('TIMER_FIRED', { key: 'k', event: 'e' }))).toBeNull();
    expect(
      describeEvent(event('STATE_CHANGED', { status: 'running', stage: null, state: 'a', gate: null })),
    ).toBeNull();
  });

  it('makes a stage a heading', () => {
    expect(describeEvent(event('STAGE_STARTED', { stage: 'code_review' }))).toEqual({
      text: 'code review',
      tone: 'stage',
    });
    expect(describeEvent(event('STAGE_STARTED', { stage: 'ci' }), null, WORKFLOW)?.text).toBe('CI checks');
  });

  it('gives evidence with command, exit code, time and sandbox', () => {
    expect(describeEvent(evidence({}))).toEqual({
      text: 'checks passed on the result as it is\n$ npm test → exit code 0, 0.8 s, in bubblewrap',
      tone: 'good',
    });
  });

  it('says loudly that evidence comes from no sandbox, and that a command was killed', () => {
    const entry = describeEvent(
      evidence({
        passed: false,
        sandbox: 'none',
        commands: [{ command: 'npm test', exitCode: null, durationMs: 60_000, output: '' }],
      }),
    );
    expect(entry).toMatchObject({ tone: 'bad', text: expect.stringContaining('→ killed, 60.0 s, WITHOUT a sandbox') });
  });

  it('names the first failed tests', () => {
    const names = ['a.js: pays 2 of 3', "b.js: adds\nall', 'c.js: ok'", 'c.js: "c"', 'd.js: d'];
    const tests = { runner: 'r', executed: 5, failed: 4, skipped: 0, finished: true, failedNames: names };
    expect(describeEvent(evidence({ passed: false, tests }))?.text).toContain(
      '\nfailed:\n  "a.js: pays 2 of 3"\n  "b.js: adds all\', \'c.js: ok\'"\n  "c.js: \\"c\\""\n  and 1 more',
    );
  });

  it('names the tests that were put back for the second check', () => {
    const entry = describeEvent(evidence({ mode: 'base_tests', restored: ['test/a.js'] }));
    expect(entry?.text).toContain("the result with the base commit's tests put back (test/a.js)");
  });

  it('shows a question with its numbered options and what may be decided', () => {
    const entry = describeEvent(
      event('CLARIFICATION_REQUESTED', {
        gate: 'clarification',
        stage: 'implementation',
        decisions: ['answer', 'ignore'],
        summary: 'Which?',
        details: {},
        attemptNumber: 1,
        question: { question: 'Which?', context: 'There are two.', options: ['A', 'B'], responseType: 'single_choice' },
      }),
    );
    expect(entry).toEqual({ text: 'question: Which?\nThere are two.\n1. A\n2. B\n→ answer · ignore', tone: 'wait' });
  });

  it('labels the words of roles that play a script, and no others', () => {
    const reply = event('QUESTION_REPLIED', { question: 'Why?', reply: 'Because.' });
    const said = (stage: string, planner: string, validator?: string): string | undefined =>
      describeEvent(reply, runWith(stage, planner, validator), WORKFLOW)?.text;
    expect(said('planning', 'scripted:demo')).toBe('reply (scripted): Because.');
    expect(said('planning', 'anthropic:x', 'scripted')).toBe('reply: Because.');
    const passed = event('VALIDATION_PASSED', { codeTree: 'c', summary: 'Fine.' });
    expect(describeEvent(passed, runWith('validation', 'anthropic:x', 'scripted'), WORKFLOW)?.text).toBe(
      'validated (scripted): Fine.',
    );
  });

  it('labels words as scripted in a stage without a known role if any model of the run plays a script', () => {
    const reply = event('QUESTION_REPLIED', { question: 'Why?', reply: 'Because.' });
    const said = (workflow: typeof WORKFLOW | undefined, validator: string): string | undefined =>
      describeEvent(reply, runWith('ci', 'anthropic:x', validator), workflow)?.text;
    expect(said(WORKFLOW, 'scripted')).toBe('reply (scripted): Because.');
    expect(said(undefined, 'scripted')).toBe('reply (scripted): Because.');
    expect(said(undefined, 'openai:x')).toBe('reply: Because.');
  });

  it('labels a failed validation only where the reviewer, not a check, found the fault', () => {
    const failed = event('VALIDATION_FAILED', { codeTree: 'c', severity: 'minor', summary: 'Not so.', feedback: '' });
    const said = (isPassed: boolean): string | undefined =>
      describeEvent(failed, runWith('validation', 'x', 'scripted', isPassed), WORKFLOW)?.text;
    expect(said(true)).toBe('validation failed (minor) (scripted): Not so.');
    expect(said(false)).toBe('validation failed (minor): Not so.');
  });

  it('labels scripted models by name and the plans they wrote', () => {
    const cost = { role: 'planner', calls: 1, inputTokens: 1_200, outputTokens: 30 };
    expect(describeEvent(event('COST_RECORDED', { ...cost, model: 'scripted:demo', scripted: true }))?.text).toBe(
      'planner: scripted:demo (scripted), 1 call, 1,200 tokens in, 30 out',
    );
    const artifact = { stage: 'planning', type: 'mermaid_diagram', gitPath: 'p.md', hash: 'h', version: 2 } as const;
    expect(
      describeEvent(event('ARTIFACT_CREATED', { artifact: { ...artifact, scripted: true } }), null, WORKFLOW)?.text,
    ).toBe('plan 2: p.md (scripted)');
  });

  it('gives the merge commit and says where a branch was not pushed', () => {
    const merged = { baseBranch: 'main', commit: '5db6479c46bfb541a7bc', strategy: 'squash' };
    expect(describeEvent(event('RUN_MERGED', merged))?.text).toBe('merged into main (squash): commit 5db6479c46');
    const published = { branch: 'autonomous/x', commit: '5db6479c46bfb541a7bc', pushed: false, note: 'No forge.' };
    expect(describeEvent(event('CHANGES_PUBLISHED', published))?.text).toBe(
      'ready, not pushed: autonomous/x at 5db6479c46\nNo forge.',
    );
  });

  it("shows the events of somebody's own workflow by the text that it declares, else by name and fields", () => {
    const own = { ...event('NOTICE', { message: '' }), type: 'ROUND_DONE', payload: { round: 2 } };
    expect(describeEvent(own)).toEqual({ text: 'Round done: round 2', tone: 'plain' });
    const declaring = (text: string) => aWorkflow({ events: { ROUND_DONE: { text, tone: 'good' } } });
    expect(describeEvent(own, null, declaring('The round {round} is done'))).toEqual({
      text: 'The round 2 is done',
      tone: 'good',
    });
    expect(describeEvent(own, null, declaring(''))).toBeNull();
  });
});

describe('describeProgress', () => {
  it('tells who does what, and labels a script', () => {
    expect(describeProgress(progress({}))).toBe('implementer: read src/app.js');
    expect(describeProgress(progress({ model: 'scripted:demo' }))).toBe('implementer (scripted): read src/app.js');
  });

  it('leaves out output, token counts, results that went well and the end of a call', () => {
    for (const fields of [
      { kind: 'output' },
      { kind: 'usage' },
      { kind: 'tool_result', data: { tool: 'read', ok: true } },
      { text: 'finish', data: { tool: 'finish' } },
    ] as const) {
      expect(describeProgress(progress(fields))).toBeNull();
    }
    const failed = progress({ kind: 'tool_result', text: 'no such file', data: { tool: 'read', ok: false } });
    expect(describeProgress(failed)).toBe('implementer: that failed: no such file');
  });
});

describe('formatTimeline', () => {
  it('aligns the seconds to the right and the lines of an entry below each other', () => {
    const plain = { color: false };
    const lines = [
      formatTimeline({ atMs: 3_640, text: 'one\ntwo', tone: 'good' }, plain),
      formatTimeline({ atMs: 1_209_600_000, text: 'three', tone: 'wait' }, plain),
    ];
    expect(lines).toEqual(['    3.6  ✓ one\n           two', '1209600.0  ● three']);
  });

  it('colours only when it is asked to', () => {
    const entry = { atMs: 0, text: 'one', tone: 'bad' } as const;
    expect(formatTimeline(entry, { color: true })).toContain('\u001b[31m✗ one');
    expect(formatTimeline(entry, { color: false })).not.toContain('\u001b');
  });

  it('takes out what could steer a terminal or reorder its text', () => {
    const text = 'a\u001b[2Jb\u001b]0;title\u0007c\u202ed\re\u009bf';
    expect(formatTimeline({ atMs: 0, text, tone: 'plain' }, { color: false })).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/,
    );
    expect(printable('a\tb\nc')).toBe('a\tb\nc');
  });

  it('drops nothing without a word but colours and links', () => {
    expect(printable('\u001b[31ma\u001b[0m\u202eb\u200bc\u{E0041}\u001b]0;d\u0007')).toBe(
      'a⟨U+202E⟩b⟨U+200B⟩c⟨U+E0041⟩⟨U+001B⟩]0;d⟨U+0007⟩',
    );
  });

  it.each(['\u001b];', '\u001b[', '\u001b]8;', '\u009d8;', '\u200d', '\r'])(
    'shows 50,000 times %j at once',
    (piece) => {
      const start = process.cpuUsage();
      printable(piece.repeat(50_000));
      // A machine that is busy needs some tens of milliseconds.
      expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
    },
  );
});
