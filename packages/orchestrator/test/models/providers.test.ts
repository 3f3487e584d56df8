/**
 * The demo's run with models behind the wire formats of real providers, over HTTP, with the faults that providers have: each fault in
 * each format is in `src/agents/tool-loop/tool-loop.test.ts`.
 * It has to end exactly as it does with the scripted model, and the keys must be nowhere in what the server keeps.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type EventPayloads, isEvent, type RunView } from '@autonomous/shared';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parseScript } from '../../src/models/script.ts';
import { DEMO_SCRIPT, type DemoServer, startDemoServer } from '../fixtures/demo-server.fixture.ts';
import { outcomeOf, readKept, remoteFile, type RunOutcome } from '../fixtures/run-outcome.fixture.ts';
import {
  type Asked,
  type Fault,
  RETRY_AFTER_SECONDS,
  startScriptedProvider,
  TURN_TOKENS,
  type WireFormat,
} from '../fixtures/scripted-provider.fixture.ts';

// Sandboxed checks take most of a run; more at a time are no faster on two cores.
vi.setConfig({ maxConcurrency: 2 });

const FORMATS = {
  anthropic: 'messages',
  openai: 'responses',
  deepseek: 'chat/completions',
  'openai-compatible': 'chat/completions',
} as const satisfies Readonly<Record<string, WireFormat>>;
type ProviderName = keyof typeof FORMATS;
const PROVIDERS = Object.keys(FORMATS) as readonly ProviderName[]; // the object's own keys and no others

const script = parseScript(readFileSync(DEMO_SCRIPT, 'utf8'), DEMO_SCRIPT);
/** Every turn that the run needs, as `role call turn`. Nobody asks about the plan, so that nobody replies. */
const TURNS = (['planner', 'implementer', 'validator'] as const).flatMap((role) =>
  (script.roles[role] ?? []).flatMap(({ turns }, call) => turns.map((_, turn) => `${role} ${call + 1} ${turn + 1}`)),
);

type Model = readonly [provider: ProviderName, model: string];
type Routing = Readonly<Record<'planner' | 'implementer' | 'validator', Model>>;

/** Default models of a server with a key of each provider. */
const DEFAULT_ROUTING: Routing = {
  planner: ['deepseek', 'deepseek-v4-pro'],
  implementer: ['anthropic', 'claude-sonnet-5-5'],
  validator: ['openai', 'gpt-6-sol'],
};
const CHOSEN_ROUTING: Routing = {
  planner: ['openai-compatible', 'qwen2.5-coder:7b'],
  implementer: ['openai', 'gpt-5.6'],
  validator: ['anthropic', 'claude-opus-5-5'],
};
const namesOf = (routing: Routing) => mapRouting(routing, (model) => model.join(':'));

describe('a build run', () => {
  let scripted: RunOutcome;

  beforeAll(async () => {
    const server = await startDemoServer({ AUTONOMOUS_SCRIPT: DEMO_SCRIPT });
    try {
      const run = await server.finish((await server.launch()).id);
      expect(run.scriptedModels).toEqual(['scripted:demo']);
      scripted = await outcomeOf(server, run);
    } finally {
      await server.stop();
    }
    // What the runs below are compared with is what the demo promises.
    expect(scripted).toMatchObject({ status: 'completed', fixAttempts: 1, merged: 'main' });
    expect(scripted.gates).toMatchObject([{ kind: 'plan' }, { kind: 'clarification' }]);
    expect(scripted.evidence).toMatchObject([{ passed: false }, { passed: true }, { passed: true }]);
    expect(scripted.files.join('\n')).toMatch(/src\/app\.js\n.*src\/login\.js\n/);
  });

  it.concurrent('ends like the scripted one with a provider for each role, by default', async ({ onTestFinished }) => {
    const providers = await startProviders(eachFaultOnce);
    onTestFinished(providers.stop);
    const server = await startDemoServer(providers.env);
    onTestFinished(server.stop);
    const { planner, implementer, validator } = namesOf(DEFAULT_ROUTING);

    const run = await server.finish((await server.launch()).id);
    await server.settled();
    expect(await outcomeOf(server, run)).toEqual(scripted);

    // Each turn was answered once, each fault was met once, by the provider that the role has.
    const served = providers.served();
    const isWhole = ({ status, cut }: { readonly status: number; readonly cut: boolean }) => status === 200 && !cut;
    expect(served.filter(isWhole).map(({ role, call, turn }) => `${role} ${call} ${turn}`)).toEqual(TURNS);
    expect(served.filter((request) => !isWhole(request))).toMatchObject([
      { role: 'planner', status: 429 },
      { role: 'implementer', status: 200, cut: true },
      { role: 'validator', status: 500 },
    ]);
    for (const request of served) {
      const [provider, model] = DEFAULT_ROUTING[request.role as keyof Routing];
      expect(request).toMatchObject({ provider, model, path: `/v1/${FORMATS[provider]}`, streamed: true });
    }
    const limitedAt = served.findIndex(({ status }) => status === 429);
    const waitedMs = (served[limitedAt + 1]?.at ?? 0) - (served[limitedAt]?.at ?? 0);
    expect(waitedMs).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1_000);

    // What it cost, and that nothing takes it for scripted.
    const settled = settledCalls(server, run);
    expect(settled).toHaveLength(TURNS.length + 3);
    const isAnswer = (tokens: Tokens) =>
      tokens.inputTokens === TURN_TOKENS.input && tokens.outputTokens === TURN_TOKENS.output;
    expect(settled.filter(isAnswer)).toHaveLength(TURNS.length);
    // Nobody charges for what is refused; what the cut answer cost is an estimate.
    expect(settled.filter((tokens) => !isAnswer(tokens))).toMatchObject([
      { role: 'planner', inputTokens: 0, outputTokens: 0 },
      { role: 'implementer', inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
      { role: 'validator', inputTokens: 0, outputTokens: 0 },
    ]);
    const sum = (name: keyof Tokens) => settled.reduce((total, tokens) => total + tokens[name], 0);
    expect(run.cost).toMatchObject({
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      calls: TURNS.length + 3,
    });
    expect(sum('outputTokens')).toBeGreaterThan(TURNS.length * TURN_TOKENS.output);
    expect(run.cost.booked).toBeUndefined();
    expect(run.cost.parts?.map(({ role, model }) => [role, model])).toEqual([
      ['planner', planner],
      ['implementer', implementer],
      ['validator', validator],
    ]);
    expect(costsOf(server, run)).toEqual([planner, implementer, implementer, implementer, validator]);
    expect(run.scriptedModels).toEqual([]);
    expect(run.artifacts.map((artifact) => artifact.scripted)).not.toContain(true);
    expect(remoteFile(server, 'main', '.autonomous/specs/001-login-flow-with-oauth.md')).toContain(planner);
    const kept = readKept(server);
    expect(kept.placesWith('scripted:demo')).toEqual([]);

    // The errors' own words held the keys. They were kept, without them.
    const notes = (await server.client.getTranscript(run.id)).filter(({ kind }) => kind === 'note');
    expect(notes.map(({ text }) => text)).toEqual([
      expect.stringContaining(`The provider of ${planner} limits the rate (HTTP 429): Too many requests with [secret]`),
      expect.stringContaining(`The model ${implementer} gave no usable answer: the connection was lost in the middle`),
      expect.stringContaining(`The model ${validator} gave no usable answer: HTTP 500, No upstream for [secret]`),
    ]);
    for (const key of providers.keys) expect(kept.placesWith(key)).toEqual([]);
    expect(kept.placesWith('[secret]')).toEqual([
      expect.stringMatching(/^data\/mirrors\/.*: object$/),
      `data/transcripts/${run.id}.jsonl`,
      'remote.git: object',
    ]);
  });

  it.concurrent('waits for as long as a provider says that takes no more requests, pauses while it fails, and goes on from there when it is back', async ({
    onTestFinished,
  }) => {
    let isBack = false;
    const providers = await startProviders((asked) => {
      const { role, turn, attempt } = asked;
      if (role !== 'validator') return eachFaultOnce(asked);
      if (turn > 1 || isBack) return null;
      return attempt > 3 ? 'server_error' : 'rate_limit';
    });
    onTestFinished(providers.stop);
    // It outwaits two limits of two seconds, and not a third one.
    const server = await startDemoServer({ ...providers.env, MODEL_PATIENCE_SECONDS: '5' });
    onTestFinished(server.stop);
    const statuses = () => providers.served().flatMap(({ role, status }) => (role === 'validator' ? [status] : []));

    const config = { trustMode: { planning: 'auto' }, modelRouting: namesOf(CHOSEN_ROUTING) } as const;
    const limited = await server.finish((await server.launch(config)).id);
    expect(limited).toMatchObject({
      status: 'paused',
      currentStage: 'validation',
      gate: { kind: 'pause', reason: 'rate_limited', details: { resumesInMs: RETRY_AFTER_SECONDS * 1_000 } },
    });
    const isDown = async () => expect((await server.client.getRun(limited.id)).gate?.reason).toBe('model_unavailable');
    await vi.waitFor(isDown, { timeout: 120_000, interval: 200 });
    const paused = await server.client.getRun(limited.id);
    expect(paused).toMatchObject({ status: 'paused', currentStage: 'validation' });
    expect(paused.gate).toMatchObject({
      kind: 'pause',
      decisions: expect.arrayContaining(['retry']),
      summary: 'The model anthropic:claude-opus-5-5 gave no usable answer: HTTP 500, No upstream for [secret]',
    });
    const refused = statuses();
    expect([refused.slice(0, 3), [...new Set(refused.slice(3))]]).toEqual([[429, 429, 429], [500]]);

    isBack = true;
    await server.client.decideOpenGate(paused.id, { decision: 'retry' });
    const run = await server.finish(paused.id);
    await server.settled();
    expect([...new Set(statuses().slice(refused.length))]).toEqual([200]);
    const asked = providers.served().filter(({ role }) => role === 'validator');
    const [last = 0, next = 0] = asked.slice(2, 4).map(({ at }) => at);
    expect(next - last).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1_000);
    expect(providers.served().filter(({ cut }) => cut)).toMatchObject([{ role: 'implementer', provider: 'openai' }]);

    const { events, gates, notices, ...rest } = await outcomeOf(server, run);
    const { events: _events, gates: _gates, notices: _notices, ...wanted } = scripted;
    // Neither the checks nor the implementer's work were done again.
    expect(rest).toEqual(wanted);
    // Nobody approved this plan.
    expect(notices).toEqual([expect.stringMatching(/^5 entries for .*memory\.md of this run were left out/)]);
    expect(gates).toMatchObject([{ kind: 'clarification' }, { kind: 'pause', decision: 'retry' }]);
    expect(events.filter((type) => type === 'RUN_PAUSED')).toHaveLength(2);
    const kept = readKept(server);
    for (const key of providers.keys) expect(kept.placesWith(key)).toEqual([]);
    expect(kept.placesWith('No upstream for [secret]')).toEqual(
      expect.arrayContaining(['data/orchestrator.db', 'events', 'remote.git: object']),
    );
  });

  it.concurrent('pauses with the name of the variable whose key is refused', async ({ onTestFinished }) => {
    const providers = await startProviders(() => null);
    onTestFinished(providers.stop);
    const wrongKey = `canary-wrong-${randomUUID()}`;
    const server = await startDemoServer({ ...providers.env, DEEPSEEK_API_KEY: wrongKey });
    onTestFinished(server.stop);

    const paused = await server.finish((await server.launch()).id);
    await server.settled();
    expect(paused).toMatchObject({ status: 'paused', currentStage: 'planning', gate: { reason: 'model_unavailable' } });
    expect(paused.gate?.summary).toBe(
      'The provider of deepseek:deepseek-v4-pro refused the key in DEEPSEEK_API_KEY (HTTP 401). Set a valid key that may use this model, restart the server, then retry.',
    );
    const kept = readKept(server);
    expect(kept.placesWith('refused the key in DEEPSEEK_API_KEY')).toContain('data/orchestrator.db');
    expect(kept.placesWith(wrongKey)).toEqual([]);
  });
});

/** Each fault once in a run, and where it would do most harm: the answer that is cut writes files. */
function eachFaultOnce({ role, call, turn, attempt }: Asked): Fault | null {
  if (attempt > 1) return null;
  if (role === 'planner' && turn === 1) return 'rate_limit';
  if (role === 'implementer' && call === 2 && turn === 1) return 'cut';
  return role === 'validator' && turn === 2 ? 'server_error' : null;
}

/** All providers, each at an address and with a key of its own, and the environment that leads a server to them. */
async function startProviders(faultFor: (asked: Asked) => Fault | null) {
  const providers = await Promise.all(
    PROVIDERS.map(async (name) => {
      const apiKey = `canary-${name}-${randomUUID()}`;
      const provider = await startScriptedProvider({ script, format: FORMATS[name], apiKey, faultFor });
      return { ...provider, name, apiKey, variable: name.toUpperCase().replaceAll('-', '_') };
    }),
  );
  return {
    env: Object.fromEntries(
      providers.flatMap(({ variable, baseUrl, apiKey }) => [
        [`${variable}_BASE_URL`, baseUrl],
        [`${variable}_API_KEY`, apiKey],
      ]),
    ),
    keys: providers.map(({ apiKey }) => apiKey),
    /** Requests to all providers in the order in which they came. */
    served: () =>
      providers
        .flatMap((provider) => provider.served().map((request) => ({ ...request, provider: provider.name })))
        .toSorted((a, b) => a.at - b.at),
    stop: async () => {
      await Promise.all(providers.map((provider) => provider.stop()));
    },
  };
}

function mapRouting<Value>(routing: Routing, map: (model: Model) => Value): Record<keyof Routing, Value> {
  return { planner: map(routing.planner), implementer: map(routing.implementer), validator: map(routing.validator) };
}

type Tokens = Pick<EventPayloads['CALL_SETTLED'], 'inputTokens' | 'outputTokens'>;

/** What each request to a model came to, in order. */
function settledCalls(server: DemoServer, run: RunView): readonly EventPayloads['CALL_SETTLED'][] {
  return server.events.flatMap((event) =>
    event.workflowRunId === run.id && isEvent(event, 'CALL_SETTLED') ? [event.payload] : [],
  );
}

/** Models of all calls that cost something; none of them says that it is scripted. */
function costsOf(server: DemoServer, run: RunView): readonly string[] {
  return server.events.flatMap((event) =>
    event.workflowRunId === run.id && isEvent(event, 'COST_RECORDED') && !event.payload.scripted
      ? [event.payload.model]
      : [],
  );
}
