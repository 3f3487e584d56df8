/**
 * Tests spending and budgets of runs with models over real HTTP: the cost of every request is in the run's log,
 * whatever its outcome, and a used-up budget stops the run after at most one more call.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type GateDecision, type RunConfigRequest, type RunView, shownAt } from '@autonomous/shared';
import { createClient } from '@autonomous/shared/client';
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from '@copilotkit/aimock';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { parseCallLine } from '../../src/roles/role.ts';
import {
  aPlan,
  aScript,
  aServer,
  FILES,
  finish,
  type Fixture,
  makeRemote,
  projectConfig,
  runs,
  tool,
} from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

const MODEL = 'openai-chat:gpt-4o';
/** What the provider says of each answer, and what that is in dollars by the list price of the model. */
const TOKENS = { input: 1_000, output: 100 };
const CALL_USD = 0.0035;

const [plan] = aPlan().turns;
const PLAN = plan?.tools?.[0]?.input ?? {};
const REVIEW = { verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' };

interface Play {
  /** The role that goes on and on. Default: implementer. */
  role?: string;
  /** Tool calls after which the implementer finishes. */
  finishesAfter: number;
  /** Tool calls in each of its answers. */
  atOnce?: number;
  /** Text of each of its answers. */
  says?: string;
  /** Held before the implementer's request with so many tool results is answered. */
  hold?: { readonly at: number; readonly until: Promise<void> };
}

/** A provider whose implementer goes on and on; planner and validator do what they should. */
async function aProvider(play: Play) {
  const asked: string[] = [];
  const provider = new LLMock({ port: 0, host: '127.0.0.1', strict: true, chunkSize: 50_000 });
  provider.on({ predicate: () => true }, async (request) => {
    asked.push(roleOf(request));
    const made = request.messages.filter((message) => message.role === 'tool').length;
    if (roleOf(request) !== (play.role ?? 'implementer'))
      return calls(['finish', roleOf(request) === 'planner' ? PLAN : REVIEW]);
    if (play.hold?.at === made) await play.hold.until;
    if (made >= play.finishesAfter) return calls(['finish', { summary: 'Done.' }]);
    const step = ['run', { command: `echo ${made} >> steps.txt` }] as const;
    return { ...calls(...Array.from({ length: play.atOnce ?? 1 }, () => step)), content: play.says ?? 'Next.' };
  });
  await provider.start();
  onTestFinished(() => provider.stop());
  return {
    env: { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${provider.url}/v1` },
    /** Those that wait for their answer included. */
    requestsOf: (role: string) => asked.filter((other) => other === role).length,
  };
}

function calls(...toolCalls: readonly (readonly [name: string, input: object])[]): FixtureResponse {
  return {
    content: '',
    toolCalls: toolCalls.map(([name, input]) => ({ name, arguments: JSON.stringify(input) })),
    usage: {
      prompt_tokens: TOKENS.input,
      completion_tokens: TOKENS.output,
      total_tokens: TOKENS.input + TOKENS.output,
    },
  };
}

function roleOf({ messages }: ChatCompletionRequest): string {
  const content = messages.find((message) => message.role === 'user')?.content ?? '';
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return parseCallLine(text)?.role ?? '';
}

const WITH_MODEL = { modelRouting: { planner: MODEL, implementer: MODEL, validator: MODEL } };
const trusted = { trustMode: { planning: 'auto' } } as const;
const spentOf = ({ cost }: RunView): number => cost.costUsd ?? 0;

describe('F08: an agent that never ends', () => {
  it('is stopped by each budget, one call over it at most and none beyond the number of tool calls, and goes on from its work with more', async () => {
    const play: Play = { finishesAfter: Infinity, says: 'x'.repeat(1_000_000) };
    const provider = await aProvider(play);
    const server = await aServer({ env: provider.env });
    const run = await server.launch('Add the feature', { ...trusted, ...WITH_MODEL, maxTokens: 3_000 });
    // It answers with a megabyte each time.
    const talked = await server.until(run, { gate: 'pause' });
    expect(talked.gate).toMatchObject({ reason: 'budget', summary: expect.stringContaining('of 3000 tokens') });
    expect(talked.cost.inputTokens + talked.cost.outputTokens).toBe(3 * (TOKENS.input + TOKENS.output));
    const earlier = talked.cost.toolCalls ?? 0;

    // It wants three at once.
    Object.assign(play, { says: 'Next.', atOnce: 3 });
    await server.decide(run, { decision: 'extend', maxTokens: null, maxToolCalls: earlier + 7 });
    const { cost, gate } = await server.until(run, { gate: 'pause' });
    const calls = `${earlier + 6} of ${earlier + 7} tool calls`;
    expect(gate).toMatchObject({ reason: 'budget', summary: expect.stringContaining(calls) });
    expect(cost.toolCalls).toBe(earlier + 6);
    // The work done before the limit is kept.
    const steps = (await server.mirror('show', `${run.branch}:steps.txt`)).trim().split('\n');
    expect(steps.slice(earlier)).toEqual(['0', '0', '0', '3', '3', '3']);

    play.atOnce = 1;
    await server.decide(run, { decision: 'extend', maxToolCalls: null, maxCostUsd: 0.04 });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({
      reason: 'budget',
      budget: 'maxCostUsd',
      stage: 'implementation',
      decisions: ['retry', 'extend'],
    });
    expect(paused.gate?.summary).toBe(
      "The run's budget is used up: it has spent $0.042 of $0.04 (maxCostUsd). Set a higher budget to resume.",
    );
    expect(spentOf(paused)).toBeGreaterThanOrEqual(0.04);
    expect(spentOf(paused)).toBeLessThan(0.04 + CALL_USD);
    const asked = provider.requestsOf('planner') + provider.requestsOf('implementer');
    expect(paused.cost).toMatchObject({
      calls: asked,
      inputTokens: asked * TOKENS.input,
      outputTokens: asked * TOKENS.output,
    });
    expect(paused.cost.booked).toBeUndefined();

    await expect(server.decide(run, { decision: 'extend', maxCostUsd: 0.001 })).rejects.toMatchObject({ status: 400 });
    await expect(server.decide(run, { decision: 'extend', minutes: 5 })).rejects.toMatchObject({ status: 400 });
    play.finishesAfter = 2;
    await server.decide(run, { decision: 'extend', maxCostUsd: 1 });
    const done = await server.until(run, { status: 'completed' });
    expect(done.config.maxCostUsd).toBe(1);
    const extended = { kind: 'pause', decision: 'extend' };
    expect(done.gates).toMatchObject([extended, extended, { ...extended, notes: 'maxCostUsd 1' }]);
    const kept = (await server.file(run.branch, 'steps.txt'))?.trim().split('\n') ?? [];
    expect(kept.slice(0, steps.length)).toEqual(steps);
    expect(kept.slice(-2)).toEqual(['0', '1']);

    const implementer = provider.requestsOf('implementer');
    expect(done.cost.parts).toEqual([
      { stage: 'planning', role: 'planner', model: MODEL, ...sums(1, 0) },
      { stage: 'implementation', role: 'implementer', model: MODEL, ...sums(implementer, kept.length) },
      { stage: 'validation', role: 'validator', model: MODEL, ...sums(1, 0) },
    ]);
    expect(spentOf(done)).toBeCloseTo((implementer + 2) * CALL_USD, 9);
  });
});

describe('F08: runs of one tree', () => {
  it('stop when all runs of an exploration together have spent its budget, one call over it at most', async () => {
    const provider = await aProvider({ finishesAfter: Infinity });
    const server = await aServer({ env: provider.env });
    const config = { ...trusted, ...WITH_MODEL, maxTreeCostUsd: 0.02 };
    const { id, runs: launched } = await server.client.explore({
      projectId: server.project.id,
      variants: ['One', 'Two', 'Three'].map((request) => ({ request, config })),
    });
    for (const { id: runId } of launched) {
      const { gate } = await server.until(runId, { gate: 'pause' });
      expect(gate).toMatchObject({ reason: 'budget', summary: expect.stringContaining('$0.02 (maxTreeCostUsd)') });
    }
    const tree = await server.client.getRunTree(launched[0]?.id ?? '');
    expect(tree).toMatchObject({ id, runs: 3, budgets: { maxTreeCostUsd: 0.02 } });
    // A request that is under way can come to $0.33: the others wait for what it does come to, and do not stop for it.
    expect(tree.costUsd).toBeGreaterThanOrEqual(0.02);
    expect(tree.costUsd).toBeLessThan(0.02 + CALL_USD);
    for (const { id: runId } of launched) expect((await server.client.getRun(runId)).cost.calls).toBeGreaterThan(0);
    const calls = provider.requestsOf('planner') + provider.requestsOf('implementer');
    expect(tree.costUsd).toBeCloseTo(calls * CALL_USD, 9);
  });

  it('have one budget, for those that wait for their place too, and go on together when one of them is given more', async () => {
    const commands = runs('echo 1 >> a', 'echo 2 >> a', 'echo 3 >> a');
    const server = await aServer({
      script: aScript({ implementer: [commands] }),
      env: { MAX_CONCURRENT_RUNS_PER_USER: '2' },
    });
    const explore = (...budgets: readonly number[]) =>
      server.client.explore({
        projectId: server.project.id,
        variants: budgets.map((maxTreeToolCalls) => ({ request: 'One', config: { ...trusted, maxTreeToolCalls } })),
      });
    await expect(explore(1, 2)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('share maxTreeToolCalls'),
    });
    const { runs: launched } = await explore(2, 2, 2);
    const [one = '', two = '', three = ''] = launched.map((run) => run.id);
    for (const runId of [one, two]) {
      const { gate } = await server.until(runId, { gate: 'pause' });
      expect(gate).toMatchObject({ reason: 'budget', budget: 'maxTreeToolCalls' });
    }
    const { toolCalls } = await server.client.getRunTree(two);
    expect(toolCalls).toBe(2);

    await expect(server.decide(one, { decision: 'extend', maxTreeToolCalls: 2 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('2 of 2 tool calls (maxTreeToolCalls)'),
    });
    await server.decide(one, { decision: 'extend', maxTreeToolCalls: 100 });
    // All that the three do from the beginning, beside the two calls before.
    const made = async () => (await server.client.getRunTree(three)).toolCalls;
    await expect.poll(made, { timeout: 120_000 }).toBe(2 + 3 * 3);
    expect((await server.client.getRunTree(two)).budgets).toEqual({ maxTreeToolCalls: 100 });
    expect((await server.client.getRun(two)).gates).toMatchObject([{ kind: 'pause', decision: 'extend', by: 'local' }]);
  });

  it('do not pay for a request that ended with its run', async () => {
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    const provider = await aProvider({ finishesAfter: 2, hold: { at: 1, until: held.promise } });
    const server = await aServer({ env: provider.env });
    const config = { ...trusted, ...WITH_MODEL, maxTreeCostUsd: 0.3 };
    const { runs: launched } = await server.client.explore({
      projectId: server.project.id,
      variants: ['One', 'Two'].map((request) => ({ request, config })),
    });
    const [one = '', two = ''] = launched.map((run) => run.id);
    await expect.poll(() => provider.requestsOf('implementer')).toBeGreaterThanOrEqual(2);
    await server.client.cancelRun(one, 'the other is better');
    held.resolve();
    await server.until(two, { status: 'completed' });
    expect((await server.client.getRunTree(one)).costUsd).toBeLessThan(0.3);
  });

  it('count what a fork has of the run before it once', async () => {
    const provider = await aProvider({ finishesAfter: 2 });
    const server = await aServer({ env: provider.env });
    const run = await server.launch('Add the feature', {
      ...WITH_MODEL,
      trustMode: { planning: 'manual' },
      maxTreeCostUsd: 5.5 * CALL_USD,
    });
    const { lastSequence: at, gate } = await server.until(run, { gate: 'plan' });
    await server.decide(run, { decision: 'approve' });
    const done = await server.until(run, { status: 'completed' });
    // One of the planner, three of the implementer, one of the validator.
    expect(spentOf(done)).toBeCloseTo(5 * CALL_USD, 9);

    await expect(server.client.forkRun(run.id, { at, config: { maxTreeCostUsd: 1 } })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('shares the maxTreeCostUsd of its tree'),
    });
    const fork = await server.client.forkRun(run.id, {
      at,
      answer: { decision: 'approve', ...(gate && shownAt(gate)) },
    });
    expect(fork).toMatchObject({ treeId: run.id, forkedFrom: { spent: { costUsd: expect.closeTo(CALL_USD, 9) } } });
    const paused = await server.until(fork, { gate: 'pause' });
    expect(paused.gate?.summary).toBe(
      "The budget of the run's tree is used up: its 2 runs have spent $0.021 of $0.019 (maxTreeCostUsd). Set a higher budget to resume.",
    );
    expect(spentOf(paused)).toBeCloseTo(2 * CALL_USD, 9);
    expect(await server.client.getRunTree(run.id)).toEqual({
      id: run.id,
      runs: 2,
      inputTokens: 6 * TOKENS.input,
      outputTokens: 6 * TOKENS.output,
      budgets: { maxTreeCostUsd: 5.5 * CALL_USD },
      toolCalls: 3,
      costUsd: expect.closeTo(6 * CALL_USD, 9),
    });

    // A fork of the fork belongs to the same tree, and has the budget that the tree has now.
    await server.decide(fork, { decision: 'extend', maxTreeCostUsd: 2 });
    const third = await server.client.forkRun(fork.id, { at });
    expect(third).toMatchObject({ treeId: run.id, config: { maxTreeCostUsd: 2 } });
    expect((await server.client.getRunTree(third.id)).runs).toBe(3);
    expect((await server.client.listRuns({ treeId: run.id })).items.map((item) => item.id)).toEqual([
      third.id,
      fork.id,
      run.id,
    ]);
  });
});

describe('the budget of a run with child runs', () => {
  const ABREAST = '## Phase 1: One\nAdd it.\n\n## Phase 2: Two\nDepends on: none. Add it.\n';
  const FIRST_ONE = `${ABREAST.replace('none', '1')}\n## Phase 3: Three\nDepends on: 1. Add it.\n`;
  const commands = { test: 'sh test/app.test.sh', lint: null };
  const launchPlan = (server: Fixture, plan: string, config: RunConfigRequest): Promise<RunView> =>
    server.client.launchRun({
      projectId: server.project.id,
      workflow: 'phased-plan',
      request: 'Carry out plan.md',
      input: { planPath: 'plan.md', plan },
      config: { commands, ...config },
    });
  const childrenOf = async (server: Fixture, { id }: RunView): Promise<readonly RunView[]> =>
    (await server.client.listRuns({ parentId: id })).items.toSorted((a, b) =>
      a.originalRequest.localeCompare(b.originalRequest),
    );
  const toolCallsOf = (runs: readonly RunView[]): number =>
    runs.reduce((sum, { cost }) => sum + (cost.toolCalls ?? 0), 0);
  /**
   * The child runs that wait for a budget, once there are so many and all others have ended.
   * @param calls that all of them have made by then. A run that others left nothing of an extension stays at its gate
   */
  const stopped = async (server: Fixture, run: RunView, count: number, calls?: number): Promise<readonly RunView[]> => {
    const waits = ({ gate }: RunView): boolean => gate?.reason === 'budget';
    const rests = async (): Promise<boolean> => {
      const children = await childrenOf(server, run);
      const isAtRest = (child: RunView): boolean => waits(child) || child.completedAt !== undefined;
      const isSpent = calls === undefined || toolCallsOf(children) === calls;
      return isSpent && children.filter(waits).length === count && children.every(isAtRest);
    };
    await expect.poll(rests).toBe(true);
    return (await childrenOf(server, run)).filter(waits);
  };
  const phase = (number: number, files: number): ScriptCall => ({
    when: { contains: `Phase: ${number} of ` },
    turns: [
      ...Array.from({ length: files }, (_, index) => ({
        tools: [tool('write', { path: `p${number}-${index}.sh`, content: 'true\n' })],
      })),
      ...finish({ outcome: 'SUCCESS', summary: 'Done.' }).turns,
    ],
  });
  const approving = [1, 2, 3].map((number) => ({
    when: { contains: `Phase: ${number} of ` },
    ...finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] }),
  }));
  const planScript = JSON.stringify({
    name: 'test',
    // From the beginning, each time that a budget cut it off: how often that is, is a matter of their pace.
    roles: {
      'phase-implementer': Array.from({ length: 8 }, () => [1, 2, 3].map((number) => phase(number, 2))).flat(),
      'phase-reviewer': [...approving, ...approving, ...approving],
    },
  });

  it('holds for all of them together, one after the other and at the same time, and more of it resumes them', async () => {
    const server = await aServer({ script: planScript });
    const run = await launchPlan(server, FIRST_ONE, { maxToolCalls: 5 });
    const first = await stopped(server, run, 2, 5);
    expect(first.map(({ originalRequest }) => originalRequest)).toEqual(['Phase 2: Two', 'Phase 3: Three'].toSorted());
    // The first phase has made two.
    expect(toolCallsOf(first)).toBe(3);
    for (const { gate, config } of first) {
      expect(gate).toMatchObject({ reason: 'budget', budget: 'maxToolCalls', budgetOf: run.id });
      // Which of the two is refused before its request, and which for the call that the answer wants, is a matter of their pace.
      expect(gate?.summary.replace(' and 1 more is wanted', '')).toBe(
        `The budget of run ${run.id}, for which this run works, is used up: it and its 3 child runs have made 5 of 5 tool calls (maxToolCalls). Raise it with the command "extend ${run.id} --max-tool-calls COUNT" to resume.`,
      );
      expect(config.maxToolCalls).toBeUndefined();
    }

    // At the parent itself, which waits for its child runs.
    await server.client.decideOpenGate(run.id, { decision: 'extend', maxToolCalls: 6 });
    const second = await stopped(server, run, 2, 6);
    expect(toolCallsOf(second)).toBe(4);

    // At the gate of a child run, which asks for more of the parent's.
    const [child = run] = second;
    const extend = (budgets: GateDecision) => server.decide(child, budgets);
    await expect(extend({ decision: 'extend', maxToolCalls: 6 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(
        `of run ${run.id}, for which it works: it and its 3 child runs have made 6 of 6`,
      ),
    });
    await expect(extend({ decision: 'extend', maxTokens: 9_000 })).rejects.toMatchObject({ status: 400 });
    await extend({ decision: 'extend', maxToolCalls: 100 });
    const { config } = await server.until(run, { status: 'completed' });
    expect(config.maxToolCalls).toBe(100);
    expect((await childrenOf(server, run)).map(({ status }) => status)).toEqual(Array(3).fill('completed'));
  });

  it('is overspent by one request at most by child runs that work at the same time', async () => {
    const IMPLEMENTER = 'phase-implementer';
    const provider = await aProvider({ finishesAfter: Infinity, role: IMPLEMENTER });
    const server = await aServer({ env: provider.env });
    const maxTokens = 4 * (TOKENS.input + TOKENS.output) - 1;
    const modelRouting = { [IMPLEMENTER]: MODEL, 'phase-reviewer': MODEL };
    const run = await launchPlan(server, ABREAST, { modelRouting, maxTokens });
    const waiting = await stopped(server, run, 2);
    for (const { gate } of waiting) expect(gate).toMatchObject({ budget: 'maxTokens', budgetOf: run.id });
    expect(provider.requestsOf(IMPLEMENTER)).toBe(4);
  });
});

describe('the books of a run', () => {
  it('keep what an agent spent that was ended by its time limit', async () => {
    const held = Promise.withResolvers<void>();
    const provider = await aProvider({ finishesAfter: Infinity, hold: { at: 2, until: held.promise } });
    onTestFinished(() => held.resolve());
    const server = await aServer({ env: provider.env });
    const run = await server.launch('Add the feature', {
      ...trusted,
      ...WITH_MODEL,
      timeoutMinutes: { implementation: 0.1 },
    });
    const { cost, gate } = await server.until(run, { gate: 'pause' });
    expect(gate).toMatchObject({ reason: 'timeout' });
    const part = cost.parts?.find(({ role }) => role === 'implementer');
    // The third request was sent and never answered: its prompt counts, by an estimate.
    expect(part).toMatchObject({ calls: 3, toolCalls: 2, outputTokens: 2 * TOKENS.output });
    expect(part?.inputTokens).toBeGreaterThan(2 * TOKENS.input);
    expect(cost.booked).toBeUndefined();
  });

  it('count a request that was lost with the process once, at what it can have cost at most', async () => {
    const held = Promise.withResolvers<void>();
    const play: Play = { finishesAfter: 2, hold: { at: 1, until: held.promise } };
    const provider = await aProvider(play);
    onTestFinished(() => held.resolve());
    const folder = await mkdtemp(path.join(tmpdir(), 'budgets-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const remote = path.join(folder, 'remote.git');
    await makeRemote(remote, FILES);
    const env = { ...provider.env, PATH: process.env['PATH'] ?? '', HOME: folder };
    const start = { dataFolder: path.join(folder, 'data'), port: '0', env };

    const first = await startServerProcess(start);
    const client = createClient({ baseUrl: first.url, token: first.token });
    const project = await client.createProject({ name: 'notes', repository: remote });
    const { id } = await client.launchRun({
      projectId: project.id,
      request: 'Add the feature',
      config: { ...trusted, ...WITH_MODEL },
    });
    await expect.poll(() => provider.requestsOf('implementer')).toBe(2);
    const before = await client.getRun(id);
    expect(before.cost).toMatchObject({ calls: 3, booked: { calls: 1 } });
    expect(before.cost.booked?.costUsd).toBeGreaterThan(0.3);
    await first.end('SIGKILL');

    delete play.hold;
    const second = await startServerProcess(start);
    onTestFinished(async () => void (await second.end('SIGKILL')));
    const again = createClient({ baseUrl: second.url, token: second.token });
    await expect.poll(async () => (await again.getRun(id)).status).toBe('completed');
    const { cost } = await again.getRun(id);
    // The agent began anew with three requests; of the two before, the second stays as it was booked.
    expect(provider.requestsOf('implementer')).toBe(5);
    expect(cost).toMatchObject({ calls: 7, booked: before.cost.booked });
    expect(cost.costUsd).toBeCloseTo(6 * CALL_USD + (before.cost.booked?.costUsd ?? 0), 9);
    expect(cost.outputTokens - 6 * TOKENS.output).toBe(before.cost.outputTokens - 2 * TOKENS.output);
  });
});

describe('a budget in dollars', () => {
  it('is refused with a model whose price is not known, unless the server names it', async () => {
    const [unpriced, priced] = ['openai-compatible:of-my-own', 'openai-compatible:of-others'];
    const server = await aServer({
      env: { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1', MODEL_PRICES: `${priced}=0.5/1.5` },
    });
    const launchWith = async (model: string, budget: RunConfigRequest) => {
      const modelRouting = { planner: model, implementer: model, validator: model };
      const { id } = await server.launch('Add the feature', { modelRouting, ...budget });
      await server.client.cancelRun(id);
    };
    await expect(launchWith(unpriced, { maxCostUsd: 1 })).rejects.toMatchObject({
      status: 422,
      message: expect.stringMatching(/The price of openai-compatible:of-my-own is not known\..*MODEL_PRICES/),
    });
    await launchWith(unpriced, { maxTokens: 1_000 });
    await launchWith(priced, { maxCostUsd: 1 });
  });

  it('is at most what the server and the project allow, when it is set and when it is raised', async () => {
    const server = await aServer({
      files: {
        ...FILES,
        '.autonomous/config.json': projectConfig({
          defaultRunConfig: { maxCostUsd: 3, maxToolCalls: 1, commands: { test: 'sh test/app.test.sh' } },
        }),
      },
      script: aScript({ implementer: [runs('echo 1 >> a', 'echo 2 >> a')] }),
      env: { DEFAULT_MAX_TOKENS: '900000', LIMIT_MAX_COST_USD: '10', LIMIT_MAX_TOOL_CALLS: '5' },
    });
    await expect(server.launch('Add the feature', { maxCostUsd: 10.5 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('LIMIT_MAX_COST_USD'),
    });
    const run = await server.launch('Add the feature', { ...trusted, maxCostUsd: 7 });
    const { config, cost, gate, notices } = await server.until(run, { gate: 'pause' });
    // A script costs nothing, and its tool calls count.
    expect(gate).toMatchObject({ reason: 'budget', summary: expect.stringContaining('1 of 1 tool calls') });
    expect([cost.toolCalls, cost.costUsd ?? 0]).toEqual([1, 0]);
    expect(config).toMatchObject({ maxCostUsd: 3, maxTokens: 900_000, maxToolCalls: 1 });
    expect(notices).toContain('The maxCostUsd of 7 that was asked for is more than the project allows: it is 3.');
    for (const maxToolCalls of [6, null])
      await expect(server.decide(run, { decision: 'extend', maxToolCalls })).rejects.toMatchObject({ status: 400 });
    await server.decide(run, { decision: 'extend', maxToolCalls: 5 });
    // From the beginning, with what is left.
    await expect.poll(async () => (await server.client.getRun(run.id)).cost.toolCalls).toBe(3);
  });
});

function sums(requests: number, toolCalls: number) {
  return {
    calls: requests,
    inputTokens: requests * TOKENS.input,
    outputTokens: requests * TOKENS.output,
    costUsd: expect.closeTo(requests * CALL_USD, 9),
    ...(toolCalls === 0 ? {} : { toolCalls }),
  };
}
