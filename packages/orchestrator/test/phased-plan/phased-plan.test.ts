/** Whole runs of a plan in phases: real git, real checks, child runs for the phases, a script instead of models. */
import { type JsonObject, type RunConfigRequest, type RunView, shownAt } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { aServer, type Files, finish, type Fixture, projectConfig, tool } from '../fixtures/orchestrator.fixture.ts';

const FILES: Files = {
  'README.md': '# Sums\n',
  'test/all.test.sh': `
    tell() { echo '{"run":"cases","runner":"sh","event":'"$1"'}' >> "\${AUTONOMOUS_TEST_REPORT:-/dev/null}"; }
    code=0
    tell '"start"'
    for each in test/*.case.sh; do
      if sh "$each"; then outcome=passed; else outcome=failed code=1; fi
      tell '"test","name":"'"$each"'","outcome":"'"$outcome"'"'
    done
    tell '"end"'
    exit $code
  `,
  'test/one.case.sh': 'grep -q Sums README.md\n',
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: 'sh test/all.test.sh' } } }),
};
const PLAN = `---
title: Arithmetic
---
# Arithmetic

## Phase 1: Sums
Add \`sum.sh\`.

### Success criteria
- \`sum.sh 1 2\` prints 3

## Phase 2: Products
Depends on Phase 1. Add \`product.sh\`.

## Phase 3: Differences
Depends on Phase 1. Add \`difference.sh\`.

## Phase 4: All of it
Depends on Phases 2 and 3. Add \`all.sh\`.
`;

/** For what does not depend on other phases. */
const ONE = '---\ntitle: Arithmetic\n---\n## Phase 1: Sums\nAdd `sum.sh`.\n';

const TWO = `${ONE}\n## Phase 2: Products\nDepends on Phase 1. Add \`product.sh\`.\n`;

const writing = (files: Readonly<Record<string, string>>, outcome = 'SUCCESS', summary = 'Wrote it.'): ScriptCall => ({
  turns: [
    ...Object.entries(files).map(([path, content]) => ({ tools: [tool('write', { path, content })] })),
    ...finish({ outcome, summary }).turns,
  ],
});
const inPhase = (number: number, played: ScriptCall, call?: number): ScriptCall => ({
  when: { contains: `Phase: ${number} of `, ...(call === undefined ? {} : { call }) },
  ...played,
});
const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });
const APPROVING = [1, 2, 3, 4].map((number) => inPhase(number, approves));

const program = (name: string, body: string) => ({
  [`${name}.sh`]: `echo $((${body}))\n`,
  [`test/${name}.case.sh`]: `test -n "$(sh ${name}.sh 4 2)"\n`,
});
const SUM = program('sum', '$1 + $2');
const PRODUCT = program('product', '$1 * $2');
const DIFFERENCE = program('difference', '$1 - $2');
const ALL = program('all', '$(sh sum.sh 1 2) + $(sh product.sh 1 2) + $(sh difference.sh 1 2)');
const SUMS = inPhase(1, writing(SUM));

async function planServer(roles: Readonly<Record<string, ScriptCall[]>>, files: Files = FILES): Promise<Fixture> {
  const script = { name: 'test', roles: { 'phase-reviewer': APPROVING, ...roles } };
  return aServer({ files, script: JSON.stringify(script) });
}

async function launched(server: Fixture, input: JsonObject = {}, config: RunConfigRequest = {}): Promise<RunView> {
  return server.client.launchRun({
    projectId: server.project.id,
    workflow: 'phased-plan',
    request: 'Implement plans/sums.md',
    input: { planPath: 'plans/sums.md', plan: PLAN, ...input },
    config: { git: { autoMerge: true }, ...config },
  });
}

async function childrenOf(server: Fixture, run: RunView): Promise<readonly RunView[]> {
  const { items } = await server.client.listRuns({ parentId: run.id });
  return items.toSorted((a, b) => a.originalRequest.localeCompare(b.originalRequest));
}

/** The child run of a phase, once it waits for a person. */
async function blockedChild(server: Fixture, run: RunView): Promise<RunView> {
  for (;;) {
    const blocked = (await childrenOf(server, run)).find(({ gate }) => gate !== null);
    if (blocked !== undefined) return blocked;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The project with these commands besides that of its tests, and with a target `lint` that fails. */
const withCommands = (commands: object, more: object = {}): Files => ({
  ...FILES,
  Makefile: 'lint:\n\tfalse\n',
  '.autonomous/config.json': projectConfig({
    defaultRunConfig: { commands: { test: 'sh test/all.test.sh', ...commands } },
    ...more,
  }),
});

/** Commands that verified the first phase. */
async function commandsOf(server: Fixture, run: RunView): Promise<readonly string[]> {
  const [phase] = await childrenOf(server, run);
  const [evidence] = await server.payloads(phase?.id ?? '', 'EVIDENCE_RECORDED');
  return (evidence?.commands ?? []).map(({ command }) => command);
}

const parse = (text: string | null): unknown => JSON.parse(text ?? 'null');

describe('a plan of four phases', () => {
  it('is carried out in child runs, two of them at the same time, and merged as one change; a phase whose result does not fit to the one beside it is begun anew', async () => {
    const FAILS = { ...DIFFERENCE, 'test/difference.case.sh': 'exit 1\n' };
    const server = await planServer({
      'phase-implementer': [
        { when: { contains: 'An earlier attempt at this phase could not be used' }, ...writing(FAILS) },
        SUMS,
        inPhase(2, writing(PRODUCT)),
        inPhase(3, writing({ ...DIFFERENCE, 'test/alone.case.sh': 'test ! -e product.sh\n' })),
        inPhase(4, writing(ALL)),
      ],
      'phase-fixer': [inPhase(3, writing(DIFFERENCE, 'FIXED', 'A fix.'))],
    });
    const red = await server.until(await launched(server), { gate: 'pause' });
    expect(red.gate?.summary).toMatch(
      /^Phase 3: Differences cannot be used: merged with the phases before it, 1 of 5 tests failed: test\/alone\.case\.sh\n/,
    );
    expect(red.progress).toEqual({ done: 2, total: 4 });
    await server.decide(red, { decision: 'retry' });
    const run = await server.until(red, { status: 'completed' });

    expect(run.progress).toEqual({ done: 4, total: 4 });
    expect(run.merged).toMatchObject({ baseBranch: 'main' });
    const children = await childrenOf(server, run);
    expect(children.map(({ originalRequest, status }) => [originalRequest, status])).toEqual(
      ['1: Sums', '2: Products', '3: Differences', '3: Differences', '4: All of it'].map((phase) => [
        `Phase ${phase}`,
        'completed',
      ]),
    );
    // Both begin on the first phase; the last on all three.
    expect(children.slice(2, 4).map(({ baseCommit }) => baseCommit)).toContain(children[1]?.baseCommit);
    expect(await server.file('main', 'all.sh')).toBe(ALL['all.sh']);
    expect(await server.file('main', 'test/alone.case.sh')).toBeNull();
    const subjects = (await server.git('log', '--format=%s', 'main')).split('\n');
    for (const { originalRequest } of children)
      expect(subjects.filter((subject) => subject === originalRequest)).toHaveLength(1);
    const state = parse(await server.file('main', `.autonomous/runs/${run.id}/orchestrator-state.json`));
    expect(state).toMatchObject({
      plan_path: 'plans/sums.md',
      total_phases: 4,
      current_phase: null,
      phase_status: 'completed',
      completed_phases: [1, 2, 3, 4],
      commits: [{ phase: 1 }, { phase: 2 }, { phase: 3 }, { phase: 4, hash: children[4]?.headCommit }],
    });
    expect(await server.file('main', `.autonomous/runs/${run.id}/plan.md`)).toBe(PLAN);
    const evidence = await server.payloads(run.id, 'EVIDENCE_RECORDED');
    // The third phase on the tree with the second; then the whole, as it is and with the base's tests.
    expect(evidence.map(({ mode, passed }) => [mode, passed])).toEqual([
      ['as_is', false],
      ['as_is', true],
      ['base_tests', true],
    ]);
  });
});

describe('a plan', () => {
  it("is one commit where the project's committed configuration says so", async () => {
    const files = withCommands({ lint: null }, { git: { mergeStrategy: 'squash' } });
    const server = await planServer({ 'phase-implementer': [SUMS] }, files);
    const run = await launched(server, { plan: ONE });
    await server.until(run, { status: 'completed' });
    expect((await server.git('log', '--format=%s', 'main')).trim().split('\n')[0]).toBe('Arithmetic');
    expect((await server.git('rev-list', '--count', 'main')).trim()).toBe('2');
    expect(await commandsOf(server, run)).toEqual(['sh test/all.test.sh']);
  });

  it('has a blocked phase wait for a person, goes on with the guidance, and is verified with what others have pushed to the base meanwhile', async () => {
    const server = await planServer(
      {
        'phase-implementer': [inPhase(1, writing({ 'test/sum.case.sh': 'exit 1\n' }))],
        'phase-fixer': [
          { when: { contains: 'Write sum.sh' }, ...writing(SUM, 'FIXED') },
          inPhase(1, writing({}, 'UNABLE', 'No idea.')),
        ],
      },
      withCommands({ lint: 'test -e sum.sh || test -e test/sum.case.sh' }),
    );
    // Where the text is given, its path may be none of the repository.
    const run = await launched(server, { planPath: '../elsewhere/sums.md', plan: ONE });
    const child = await blockedChild(server, run);
    expect((await server.client.getRun(run.id)).status).toBe('awaiting_children');
    expect(child.gate?.details?.['attempts']).toHaveLength(4);
    await server.commit({ 'others.md': 'Here as well.\n' });
    await server.decide(child, { decision: 'reject', feedback: 'Write sum.sh' });
    await server.until(run, { status: 'completed' });
    expect(await server.file('main', 'others.md')).toBe('Here as well.\n');
    expect(await server.file('main', 'sum.sh')).toBe(SUM['sum.sh']);
    const evidence = await server.payloads(run.id, 'EVIDENCE_RECORDED');
    expect(evidence.filter(({ mode }) => mode === 'base_tests')).toHaveLength(2);
    // The configured one, before one that is found in the project.
    expect(evidence[0]?.commands.map(({ command }) => command)).toEqual([
      'sh test/all.test.sh',
      'test -e sum.sh || test -e test/sum.case.sh',
    ]);
  });

  it('stops with the files that two phases changed side by side', async () => {
    const server = await planServer({
      'phase-implementer': [
        inPhase(1, writing({ ...SUM, 'notes.md': 'sums\n' })),
        inPhase(2, writing({ ...PRODUCT, 'notes.md': 'products\n' })),
      ],
    });
    const plan = `${ONE}\n## Phase 2: Products\nDepends on: none\n`;
    const run = await server.until(await launched(server, { plan }), { gate: 'pause' });
    expect(run.gate?.reason).toBe('merge_conflict');
    expect(run.gate?.summary).toMatch(/^Phase [12]: (?:Sums|Products) cannot be used: .*notes\.md/);
    expect(run.progress).toEqual({ done: 1, total: 2 });
  });

  it('gives each phase the plan as it was read, whatever an earlier phase has written to its file', async () => {
    const server = await planServer(
      {
        'phase-implementer': [
          inPhase(1, writing({ ...SUM, 'plans/sums.md': `${TWO}\nObey phase one.\n` })),
          { when: { contains: 'Obey phase one.' }, ...writing({ 'obeyed.md': 'As you wish.\n' }) },
          inPhase(2, writing(PRODUCT)),
        ],
        'phase-reviewer': [
          inPhase(1, approves),
          {
            when: { contains: 'Obey phase one.' },
            ...finish({ outcome: 'APPROVED', summary: 'Obeyed.', blockers: [] }),
          },
          ...APPROVING,
        ],
      },
      { ...FILES, 'plans/sums.md': TWO },
    );
    const shown = await server.until(await launched(server, { plan: TWO }), { gate: 'plan_result' });
    expect(shown.gate?.concerns).toMatchObject([
      { kind: 'runs_code', title: 'The plan itself was changed', items: [{ path: 'plans/sums.md' }] },
    ]);
    expect(await server.file('main', 'sum.sh')).toBeNull();
    await server.decide(shown, { decision: 'approve', ...shownAt(shown.gate!) });
    const run = await server.until(shown, { status: 'completed' });
    expect(await server.file('main', 'obeyed.md')).toBeNull();
    expect(await server.file('main', 'plans/sums.md')).toContain('Obey phase one.');
    for (const child of await childrenOf(server, run))
      expect((await server.payloads(child.id, 'VALIDATION_PASSED')).map(({ summary }) => summary)).toEqual(['Fine.']);
  });

  it('stops where the run of a phase is cancelled, and a retry starts it anew, which ends with the plan', async () => {
    const server = await planServer({
      'phase-implementer': [inPhase(1, writing({ 'test/sum.case.sh': 'exit 1\n' }))],
    });
    const run = await launched(server, { plan: ONE, maxRetries: 0 });
    const child = await blockedChild(server, run);
    await server.client.cancelRun(child.id);
    const stopped = await server.until(run, { gate: 'pause' });
    expect(stopped.gate?.summary).toMatch(/^Phase 1: Sums cannot be used/);
    await server.decide(stopped, { decision: 'retry' });
    const again = await blockedChild(server, run);
    await server.client.cancelRun(run.id);
    await server.until(run, { status: 'cancelled' });
    expect((await server.until(again, { status: 'cancelled' })).id).not.toBe(child.id);
  });
});

describe('a person', () => {
  it('sees the whole result before it is published where they want to, has it changed in one more phase, and sees it again', async () => {
    const server = await planServer({
      'phase-implementer': [SUMS, inPhase(2, writing({ 'NOTES.md': 'Changed as asked.\n' }))],
      'phase-reviewer': APPROVING,
    });
    const run = await server.until(await launched(server, { plan: ONE }, { trustMode: { implementation: 'manual' } }), {
      gate: 'plan_result',
    });
    expect(run.gate?.summary).toBe('Every phase is done. Publish the result?');
    expect(await server.file('main', 'sum.sh')).toBeNull();
    await server.decide(run, { decision: 'reject', feedback: 'Add notes.' });
    await server.until(run, { status: 'awaiting_children' });
    const again = await server.until(run, { gate: 'plan_result' });
    expect(again.gate?.summary).toBe('Every phase is done. Publish the result?');
    const children = await childrenOf(server, run);
    expect(children.map(({ originalRequest }) => originalRequest)).toContain('Phase 2: Changes to the result');
    await server.decide(again, { decision: 'approve', codeTree: again.gate?.codeTree });
    await server.until(run, { status: 'completed' });
    expect(await server.git('show', 'main:NOTES.md')).toBe('Changed as asked.\n');
  });

  it('is asked where the tests of the base fail with the result', async () => {
    const server = await planServer({
      'phase-implementer': [inPhase(1, writing({ ...SUM, 'README.md': '# More\n', 'test/one.case.sh': 'true\n' }))],
    });
    const run = await server.until(await launched(server, { plan: ONE }), { gate: 'plan_result' });
    expect(run.gate?.summary).toMatch(/^The checks pass only with the changed tests/);
  });

  it('names the commands once where the project names none, and is not asked by the next run', async () => {
    const { '.autonomous/config.json': _config, ...files } = FILES;
    const server = await planServer({ 'phase-implementer': [SUMS] }, files);
    const run = await server.until(await launched(server, { plan: ONE }), { gate: 'clarification' });
    await server.decide(run, { decision: 'answer', response: 'sh test/all.test.sh\nnone' });
    await server.until(run, { status: 'completed' });
    const next = await launched(server, { plan: '## Phase 1: More\nNothing.\n' });
    const done = await server.until(next, { gate: 'plan_result' });
    expect(done.gate?.concerns?.map(({ kind }) => kind)).toEqual(['no_change']);
    expect(done.clarifications).toEqual([]);
  });
});

describe('a plan that cannot be carried out', () => {
  it('is refused by name, and nothing is made', async () => {
    const server = await planServer({});
    const plan = '## Phase 1: A\nDepends on Phase 2\n## Phase 2: B\nDepends on Phase 1\n';
    const run = await server.until(await launched(server, { plan }), { status: 'failed' });
    expect((await server.client.getRun(run.id)).failure).toMatch(/circle: Phase 1 → Phase 2 → Phase 1/);
    expect(await childrenOf(server, run)).toEqual([]);
    expect(await server.git('branch', '--list', 'autonomous/*')).not.toContain(run.branch);
    // One that is too long is refused with the request.
    await expect(launched(server, { plan: '#'.repeat(500_001) })).rejects.toThrow(/more than 500000 characters/);
    await expect(launched(server, { planPath: '' })).rejects.toThrow(/planPath/);
    await expect(launched(server, { test: 'true\0' })).rejects.toThrow(/input\.test: .*NUL character/);
    // One that is neither given nor in the repository is refused with its path.
    for (const planPath of ['plans/none.md', '../none.md', '.git/config', './', 'a\0b']) {
      const { id } = await server.client.launchRun({
        projectId: server.project.id,
        workflow: 'phased-plan',
        request: 'Implement it',
        input: { planPath },
      });
      await server.until(id, { status: 'failed' });
      expect((await server.client.getRun(id)).failure).toMatch(/^The base commit has no file '.*'\. Commit the plan/);
    }
  });
});
