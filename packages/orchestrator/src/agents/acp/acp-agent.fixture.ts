/**
 * An external agent that plays a script, as a program of its own: it speaks the protocol with the SDK's agent side, acts on the
 * files of its working folder, and keeps its sessions in HOME. The n-th prompt of a session plays the n-th turn.
 *
 * AGENT_SCRIPT: turns as JSON · AGENT_KEEPS: `resume`, `load` or nothing: how a session can be taken up again; `count`: it cannot,
 * and the n-th prompt of all sessions plays the n-th turn ·
 * AGENT_WAY_IN: the way to sign in, where it wants one
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  agent,
  type AgentContext,
  type CreateElicitationRequest,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PermissionOption,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type ToolKind,
} from '@agentclientprotocol/sdk';

export type Step =
  | { readonly do: 'say'; readonly text: string }
  | { readonly do: 'write'; readonly path: string; readonly content: string }
  /** Tool calls that go on at the same time, as its session tells of them. */
  | { readonly do: 'call'; readonly calls: readonly Called[] }
  /** Until the turn is cancelled. */
  | { readonly do: 'repeat'; readonly steps: readonly Step[] }
  /** The outcome goes into the file `permission.txt`: the chosen option's id, or `cancelled`. */
  | {
      readonly do: 'permit';
      readonly title: string;
      readonly kind: ToolKind;
      readonly options?: readonly PermissionOption[];
      /** Of the tool; its title where it is absent. */
      readonly input?: string;
    }
  /** What came of it goes into the file `elicited.txt`. */
  | { readonly do: 'elicit'; readonly message: string; readonly properties: object }
  | { readonly do: 'print'; readonly text: string }
  | { readonly do: 'complain'; readonly text: string }
  /** Absent data: its words are the details of an internal error. */
  | { readonly do: 'fail'; readonly message: string; readonly data?: object }
  /** What its provider says of its limits. */
  | { readonly do: 'limit'; readonly status: string; readonly resetsAt: number }
  /** Tells twice that it begins to compact its context, and twice that it has done so. */
  | { readonly do: 'compact' }
  | { readonly do: 'exit'; readonly code: number }
  /** Until the turn is cancelled, or, where it is deaf, for ever. */
  | { readonly do: 'wait'; readonly deaf?: boolean }
  | { readonly do: 'use'; readonly usage: Readonly<Record<string, number>> }
  /** What its session has cost so far. */
  | { readonly do: 'cost'; readonly usd: number }
  | { readonly do: 'stop'; readonly reason: PromptResponse['stopReason'] };

/** In its texts `#` stands for a number that no other call has. */
export interface Called {
  readonly kind: ToolKind;
  readonly title?: string;
  /** Absent: its session tells none. */
  readonly input?: Readonly<Record<string, string>>;
  /** Absent: its session tells none. */
  readonly result?: string;
}

export const OPTIONS: readonly PermissionOption[] = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'ever', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

const SESSIONS = path.join(homedir(), 'sessions');
/** Every prompt that it was given, a JSON text a line. */
export const PROMPTS = 'prompts.jsonl';

interface Session {
  turns: number;
  readonly folder: string;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve();

function serve(): void {
  const script = JSON.parse(process.env['AGENT_SCRIPT'] ?? '[]') as readonly (readonly Step[])[]; // written by the tests themselves
  const keeps = process.env['AGENT_KEEPS'];
  const wayIn = process.env['AGENT_WAY_IN'];
  let isIn = wayIn === undefined;
  const cancelled = new Map<string, AbortController>();
  mkdirSync(SESSIONS, { recursive: true });

  agent({ name: 'scripted' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: keeps === 'load',
        sessionCapabilities: keeps === 'resume' ? { resume: {} } : {},
      },
      authMethods: wayIn === undefined ? [] : [{ id: wayIn, name: 'With a key' }],
    }))
    .onRequest(methods.agent.authenticate, ({ params }) => {
      isIn ||= params.methodId === wayIn;
      return {};
    })
    .onRequest(methods.agent.session.new, ({ params }) => {
      if (!isIn) throw RequestError.authRequired();
      const sessionId = randomUUID();
      store(sessionId, { turns: 0, folder: params.cwd });
      return { sessionId };
    })
    .onRequest(methods.agent.session.resume, ({ params }) => {
      recall(params.sessionId);
      return {};
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      recall(params.sessionId);
      await tell(client, params.sessionId, { sessionUpdate: 'agent_message_chunk', content: text('an old word') });
      return {};
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const session = recall(params.sessionId);
      const steps = script[keeps === 'count' ? promptsSoFar() : session.turns] ?? [];
      store(params.sessionId, { ...session, turns: session.turns + 1 });
      const prompt = params.prompt.map((block) => ('text' in block ? block.text : '')).join('');
      appendFileSync(path.join(homedir(), PROMPTS), `${JSON.stringify(prompt)}\n`);
      const controller = new AbortController();
      cancelled.set(params.sessionId, controller);
      return play(steps, { ...session, id: params.sessionId, client, signal: controller.signal });
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => cancelled.get(params.sessionId)?.abort())
    .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));
}

interface Playing extends Session {
  readonly id: string;
  readonly client: AgentContext;
  readonly signal: AbortSignal;
}

async function play(
  steps: readonly Step[],
  playing: Playing,
  response: PromptResponse = { stopReason: 'end_turn' },
): Promise<PromptResponse> {
  for (const step of steps) {
    switch (step.do) {
      case 'say':
        await tell(playing.client, playing.id, { sessionUpdate: 'agent_message_chunk', content: text(step.text) });
        break;
      case 'write':
        await write(step, playing);
        break;
      case 'call':
        await call(step.calls, playing);
        break;
      case 'repeat':
        while (!playing.signal.aborted) {
          await play(step.steps, playing, response);
          await sleep(1);
        }
        break;
      case 'permit': {
        const { outcome } = await playing.client.request(methods.client.session.requestPermission, {
          sessionId: playing.id,
          toolCall: {
            toolCallId: randomUUID(),
            title: step.title,
            kind: step.kind,
            rawInput: { what: step.input ?? step.title },
          },
          options: [...(step.options ?? OPTIONS)],
        });
        put(playing.folder, 'permission.txt', outcome.outcome === 'selected' ? outcome.optionId : 'cancelled');
        break;
      }
      case 'elicit': {
        const answer = await playing.client.request(methods.client.elicitation.create, {
          mode: 'form',
          sessionId: playing.id,
          message: step.message,
          requestedSchema: { type: 'object', properties: step.properties },
        } as CreateElicitationRequest);
        put(playing.folder, 'elicited.txt', answer.action);
        break;
      }
      case 'print':
        process.stdout.write(step.text);
        break;
      case 'complain':
        process.stderr.write(step.text);
        break;
      case 'fail':
        throw step.data === undefined
          ? RequestError.internalError({ details: step.message })
          : RequestError.internalError(step.data, step.message);
      case 'limit':
        await tell(playing.client, playing.id, {
          sessionUpdate: 'usage_update',
          used: 1,
          size: 1_000,
          _meta: { '_claude/rateLimit': { status: step.status, resetsAt: step.resetsAt } },
        });
        break;
      case 'compact': {
        const compactionId = randomUUID();
        for (const status of ['in_progress', 'in_progress', 'completed', 'completed'])
          await tell(playing.client, playing.id, { sessionUpdate: 'compaction_update', compactionId, status });
        break;
      }
      case 'exit':
        // What was said before has to be out first.
        await sleep(50);
        process.exit(step.code);
        break;
      case 'wait':
        await waitForCancel(step.deaf ? new AbortController().signal : playing.signal);
        break;
      case 'use':
        // A draft of the protocol, for which the SDK has no type.
        Object.assign(response, { usage: step.usage });
        break;
      case 'cost':
        await tell(playing.client, playing.id, {
          sessionUpdate: 'usage_update',
          used: 1,
          size: 1_000,
          cost: { amount: step.usd, currency: 'USD' },
        });
        break;
      case 'stop':
        response.stopReason = step.reason;
        break;
      default:
        step satisfies never;
    }
    if (playing.signal.aborted) return { ...response, stopReason: 'cancelled' };
  }
  return response;
}

async function write(step: Extract<Step, { do: 'write' }>, { client, id, folder }: Playing): Promise<void> {
  const toolCallId = randomUUID();
  await tell(client, id, {
    sessionUpdate: 'tool_call',
    toolCallId,
    title: `Write ${step.path}`,
    kind: 'edit',
    status: 'pending',
    rawInput: { path: step.path, content: step.content },
  });
  put(folder, step.path, step.content);
  await tell(client, id, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: 'completed',
    content: [{ type: 'content', content: text(`wrote ${step.path}`) }],
  });
}

let calledSoFar = 0;

async function call(calls: readonly Called[], { client, id }: Playing): Promise<void> {
  const numbered = calls.map((called) => {
    calledSoFar += 1;
    return JSON.parse(JSON.stringify(called).replaceAll('#', String(calledSoFar))) as Called;
  });
  const known = numbered.map((called) => ({ ...called, toolCallId: randomUUID() }));
  for (const { toolCallId, title = 'A tool', kind, input } of known) {
    await tell(client, id, {
      sessionUpdate: 'tool_call',
      toolCallId,
      title,
      kind,
      status: 'in_progress',
      ...(input === undefined ? {} : { rawInput: input }),
    });
  }
  for (const { toolCallId, result } of known) {
    await tell(client, id, {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      content: result === undefined ? [] : [{ type: 'content', content: text(result) }],
    });
  }
}

async function waitForCancel(signal: AbortSignal): Promise<void> {
  // The timer keeps the process alive.
  await sleep(3_600_000, undefined, { signal }).catch(() => {});
}

function put(folder: string, file: string, content: string): void {
  const target = path.join(folder, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content);
}

async function tell(client: AgentContext, sessionId: string, update: SessionUpdate): Promise<void> {
  await client.notify(methods.client.session.update, { sessionId, update });
}

function text(content: string) {
  return { type: 'text' as const, text: content };
}

function promptsSoFar(): number {
  const file = path.join(homedir(), PROMPTS);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0;
}

function store(id: string, session: Session): void {
  writeFileSync(path.join(SESSIONS, id), JSON.stringify(session));
}

function recall(id: string): Session {
  const file = path.join(SESSIONS, id);
  if (!existsSync(file)) throw RequestError.invalidParams({ details: `there is no session ${id}` });
  return JSON.parse(readFileSync(file, 'utf8')) as Session;
}
