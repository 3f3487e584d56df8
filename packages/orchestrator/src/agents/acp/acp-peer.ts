/**
 * One process of an external agent in a sandbox, spoken to over the Agent Client Protocol: started, asked for a session,
 * prompted, cancelled, killed. It has no tools of ours: its own act in the sandbox, where it lives itself.
 */
import {
  type ClientConnection,
  client,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type InitializeResponse,
  methods,
  type NewSessionResponse,
  type PromptResponse,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { NeedsHuman, type PauseReason, type Question } from '@autonomous/shared';
import type { ProcessExit, Sandbox, SandboxProcess } from '../../sandboxes/sandbox.ts';
import type { AcpAgentSettings } from './acp-agents.ts';
import { AUTH_REQUIRED } from './acp-errors.ts';
import type { PermissionDecision } from './acp-permissions.ts';
import { agentStream, type SessionUpdate } from './acp-wire.ts';

/** How long a cancelled turn has to end by itself before its process is killed. */
const CANCEL_GRACE_MS = 500;
/** How long one has to end that is to be told something. */
const INTERRUPT_GRACE_MS = 5_000;
/** Time until a process is ended that has closed its output or wrote an unreadable line. */
const EXIT_GRACE_MS = 2_000;
/** Why such a process was ended. */
export const PROTOCOL_ERROR = 'it stopped speaking the protocol';
/** Why one was ended that did not stop for a message. */
export const INTERRUPT_TIMEOUT = 'it did not stop in time for a message';
/** How long an agent may take to start and to open a session: some compile first. */
const START_TIMEOUT_MS = 120_000;

export interface PeerOptions {
  readonly settings: AcpAgentSettings;
  readonly sandbox: Sandbox;
  /** Absolute path inside of the folder that the agent works in. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Whether a person can be asked; a form of the agent's own tools is declined otherwise. */
  readonly mayAsk: boolean;
  readonly onUpdate: (update: SessionUpdate) => void;
  readonly onPermission: (request: RequestPermissionRequest) => PermissionDecision;
  /** Told of each line on its output that is no message. */
  readonly onMalformedLine: (line: string) => void;
}

export interface AgentSession {
  readonly id: string;
  /** It is the session that was asked for, with its history. */
  readonly resumed: boolean;
  /** It could be asked for again by another process. */
  readonly resumable: boolean;
}

export type Turn =
  | { readonly kind: 'ended'; readonly response: PromptResponse }
  /** The agent wants to know something, and its turn was cancelled for it. */
  | { readonly kind: 'question'; readonly question: Question; readonly response: PromptResponse | null }
  /** It was cancelled because somebody has to say something else first. */
  | { readonly kind: 'interrupted'; readonly response: PromptResponse | null };

/** The process ended, or stopped speaking, in the middle of something. */
export class AgentGone extends Error {
  override readonly name = 'AgentGone';
  readonly exit: ProcessExit;

  constructor(exit: ProcessExit) {
    super('the agent ended');
    this.exit = exit;
  }
}

export class AcpPeer {
  readonly #options: PeerOptions;
  readonly #process: SandboxProcess;
  readonly #connection: ClientConnection;
  readonly #aborted: Promise<never>;
  readonly #asked = Promise.withResolvers<Question>();
  #hasAsked = false;
  #capabilities: InitializeResponse['agentCapabilities'];
  #authMethods: InitializeResponse['authMethods'];
  #sessionId = '';
  /** An agent that loads a session tells its whole history once more. */
  #replaying = false;
  /** The prompt that has not been answered yet. */
  #turn: Promise<PromptResponse> | null = null;

  /**
   * @throws {AgentGone} when it ends before it can be spoken to
   * @throws {NeedsHuman} when no sandbox can be started or it speaks another protocol
   */
  static async start(options: PeerOptions): Promise<AcpPeer> {
    const { settings, sandbox, signal } = options;
    signal.throwIfAborted();
    const started = await sandbox.start({
      command: `exec ${[settings.command, ...settings.args].map(quoted).join(' ')}`,
      env: settings.env,
    });
    const peer = new AcpPeer(options, started);
    try {
      await peer.#initialize();
      return peer;
    } catch (error) {
      await peer.end();
      throw error;
    }
  }

  private constructor(options: PeerOptions, started: SandboxProcess) {
    this.#options = options;
    this.#process = started;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    this.#aborted = promise;
    const abort = (): void => reject(options.signal.reason);
    options.signal.addEventListener('abort', abort, { once: true });
    // It may have been aborted while the process was started.
    if (options.signal.aborted) abort();
    this.#connection = client({ name: 'autonomous' })
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#permit(params))
      .onRequest(methods.client.elicitation.create, ({ params }) => this.#elicit(params))
      .connect(
        agentStream(started, {
          onUpdate: (sessionId, update) => {
            if (sessionId === this.#sessionId && !this.#replaying) options.onUpdate(update);
          },
          onMalformedLine: options.onMalformedLine,
        }),
      );
  }

  /**
   * The session of an earlier process, with its history, where the agent still has it; otherwise a new one.
   * @param kept id of that session; `null` asks for a new one
   */
  async openSession(kept: string | null): Promise<AgentSession> {
    const { folder } = this.#options;
    const resumes = (this.#capabilities?.sessionCapabilities?.resume ?? null) !== null;
    const resumable = resumes || this.#capabilities?.loadSession === true;
    const params = { cwd: folder, mcpServers: [] };
    if (kept !== null && resumable) {
      this.#sessionId = kept;
      this.#replaying = true;
      const again = resumes
        ? this.#agent.request(methods.agent.session.resume, { ...params, sessionId: kept })
        : this.#agent.request(methods.agent.session.load, { ...params, sessionId: kept });
      try {
        await this.#answer(again, START_TIMEOUT_MS);
        return { id: kept, resumed: true, resumable };
      } catch (error) {
        // It may have been killed before it wrote the session down.
        if (!(error instanceof RequestError)) throw error;
      } finally {
        this.#replaying = false;
      }
    }
    try {
      const opened = await this.#answer(
        this.#agent.request<NewSessionResponse>(methods.agent.session.new, params),
        START_TIMEOUT_MS,
      );
      this.#sessionId = opened.sessionId;
      return { id: opened.sessionId, resumed: false, resumable };
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  /**
   * One turn of the agent. Ended by the request's signal, it cancels the turn, gives it half a second, and rejects.
   * @param interrupt cancels the turn when it resolves, and rejects the prompt when it rejects
   * @throws {RequestError} with what the agent says when its model fails
   */
  async prompt(text: string, interrupt: Promise<void>): Promise<Turn> {
    const prompt = [{ type: 'text' as const, text }];
    const params = { sessionId: this.#sessionId, prompt };
    const request = this.#agent.request<PromptResponse>(methods.agent.session.prompt, params);
    this.#turn = request;
    const turn = this.#answer(request);
    turn.catch(() => {});
    const question = this.#asked.promise;
    const response = await Promise.race([turn, question.then(() => null), interrupt.then(() => null)]);
    if (response !== null) this.#turn = null;
    // A turn that ends because it was refused an answer must not win over the question.
    if (response !== null && !this.#hasAsked) return { kind: 'ended', response };
    if (this.#hasAsked) {
      const { response: last } = await this.#cancel(CANCEL_GRACE_MS);
      return { kind: 'question', question: await question, response: last };
    }
    const ended = await this.#cancel(INTERRUPT_GRACE_MS);
    if (ended.isOver) return { kind: 'interrupted', response: ended.response };
    // It would take what it is told next for something else: a new process takes its session up.
    this.#process.end(INTERRUPT_TIMEOUT);
    throw new AgentGone(await this.#exit());
  }

  /** Cancels the turn that is under way, if there is one. @returns its end, where the agent still tells it */
  async cancel(): Promise<PromptResponse | null> {
    return (await this.#cancel(CANCEL_GRACE_MS)).response;
  }

  /** Kills the process with all that it started. A turn that is under way is cancelled before. */
  async end(): Promise<void> {
    await this.#cancel(CANCEL_GRACE_MS);
    this.#process.end('its work is over');
    this.#connection.close();
    await this.#process.done.catch(() => {});
  }

  get #agent() {
    return this.#connection.agent;
  }

  async #initialize(): Promise<void> {
    const answered = await this.#answer(
      this.#agent.request<InitializeResponse>(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: 'autonomous', version: '1' },
        // Without files and terminals of ours it uses its own, which live in the sandbox like itself.
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          elicitation: { form: {} },
          session: { compaction: {} },
        },
      }),
      START_TIMEOUT_MS,
    ).catch((error: unknown) => {
      throw this.#refusal(error);
    });
    if (answered.protocolVersion !== PROTOCOL_VERSION) {
      throw this.#unusable(
        `it speaks version ${answered.protocolVersion} of the Agent Client Protocol and this server version ${PROTOCOL_VERSION}; install another version of it`,
      );
    }
    this.#capabilities = answered.agentCapabilities;
    this.#authMethods = answered.authMethods;
    const { authMethod } = this.#options.settings;
    if (authMethod === null) return;
    const signingIn = this.#agent.request(methods.agent.authenticate, { methodId: authMethod });
    await this.#answer(signingIn, START_TIMEOUT_MS).catch((error: unknown) => {
      throw this.#refusal(error);
    });
  }

  /** Waits for an answer of the agent, for its end, and for the end of the request, whichever comes first. */
  async #answer<Answer>(answer: Promise<Answer>, timeoutMs?: number): Promise<Answer> {
    answer.catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      if (timeoutMs !== undefined) {
        const fault = this.#unusable(`it did not answer within ${timeoutMs / 1_000} s`);
        timer = setTimeout(() => reject(fault), timeoutMs);
      }
    });
    try {
      return await Promise.race([answer, this.#aborted, late]);
    } catch (error) {
      if (this.#options.signal.aborted || error instanceof NeedsHuman) throw error;
      // While the connection stands it is the agent's own answer.
      if (error instanceof RequestError && !this.#connection.signal.aborted) throw error;
      this.#turn = null;
      throw new AgentGone(await this.#exit());
    } finally {
      clearTimeout(timer);
    }
  }

  /** How the process ended, whose connection is closed. Its output ends a moment before it does. */
  async #exit(): Promise<ProcessExit> {
    const timer = setTimeout(() => this.#process.end(PROTOCOL_ERROR), EXIT_GRACE_MS);
    try {
      return await this.#process.done;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Ends the turn that is under way, if there is one: an agent stops its commands and writes its session down.
   * @returns whether none is under way any more, and its end where the agent told it
   */
  async #cancel(graceMs: number): Promise<{ readonly isOver: boolean; readonly response: PromptResponse | null }> {
    const turn = this.#turn;
    if (turn === null) return { isOver: true, response: null };
    this.#turn = null;
    const grace = AbortSignal.timeout(graceMs);
    const late = new Promise<{ readonly isOver: false; readonly response: null }>((resolve) => {
      grace.addEventListener('abort', () => resolve({ isOver: false, response: null }), { once: true });
    });
    const cancelled = this.#agent
      .notify(methods.agent.session.cancel, { sessionId: this.#sessionId })
      .then(() => turn)
      .catch(() => null)
      .then((response) => ({ isOver: true, response }));
    return Promise.race([cancelled, late]);
  }

  #permit(request: RequestPermissionRequest): RequestPermissionResponse {
    const decision = this.#options.onPermission(request);
    if (decision.kind === 'select') return { outcome: { outcome: 'selected', optionId: decision.option.optionId } };
    if (decision.kind === 'ask') this.#ask(decision.question);
    return { outcome: { outcome: 'cancelled' } };
  }

  /** A question that the agent's own tools ask, in a form. */
  #elicit(request: CreateElicitationRequest): CreateElicitationResponse {
    const question = questionOf(request);
    // An address to open is nothing that can be answered in words.
    if (question === null || !this.#options.mayAsk) return { action: 'decline' };
    this.#ask(question);
    return { action: 'cancel' };
  }

  #ask(question: Question): void {
    this.#hasAsked = true;
    this.#asked.resolve(question);
  }

  #refusal(error: unknown): unknown {
    if (!(error instanceof RequestError)) return error;
    if (error.code !== AUTH_REQUIRED) return this.#unusable(`it refused to begin: ${error.message}`);
    const ways = (this.#authMethods ?? []).map(({ id }) => id).join(', ') || 'it names none';
    return this.#unusable(
      `it has to be signed in: give it its key by "env" in the file of AUTONOMOUS_AGENTS, and as "authMethod" one of its ways to sign in (${ways})`,
      'model_unavailable',
    );
  }

  #unusable(why: string, reason: PauseReason = 'agent_failed'): NeedsHuman {
    return new NeedsHuman(reason, `The agent ${this.#options.settings.name} cannot be used: ${why}.`);
  }
}

const LONGEST_QUESTION = 2_000;
const LONGEST_OPTION = 500;
const LONGEST_CONTEXT = 4_000;
const MOST_OPTIONS = 10;

/** A form with one choice is a choice; any other is asked in words, with all its fields. */
function questionOf(request: CreateElicitationRequest): Question | null {
  if (request.mode !== 'form' || !('requestedSchema' in request)) return null;
  // The SDK has checked it, and its type is lost among the kinds that it does not know.
  const { properties = {} } = request.requestedSchema as { readonly properties?: Readonly<Record<string, FormField>> };
  const question = request.message.trim().slice(0, LONGEST_QUESTION);
  const fields = Object.values(properties);
  const choices = fields.filter((field) => optionsOf(field).length > 1);
  const [choice] = choices;
  if (choice !== undefined && choices.length === 1) {
    const options = optionsOf(choice);
    return {
      question,
      context: cut(
        options.flatMap(({ name, description }) => (description ? [`${name}: ${description}`] : [])).join('\n'),
      ),
      options: options.map(({ name }) => name),
      responseType: choice.type === 'array' ? 'multiple_choice' : 'single_choice',
    };
  }
  const lines = fields.flatMap((field) => {
    const title = [field.title, field.description].filter(Boolean).join(': ');
    const names = optionsOf(field).map(({ name }) => name);
    return title === '' && names.length === 0 ? [] : [`${title}${names.length > 0 ? ` (${names.join(' / ')})` : ''}`];
  });
  return { question, context: cut(lines.join('\n')), responseType: 'text' };
}

function cut(context: string): string {
  return context.length <= LONGEST_CONTEXT ? context : `${context.slice(0, LONGEST_CONTEXT)}…`;
}

interface FormField {
  readonly type?: string;
  readonly title?: string | null;
  readonly description?: string | null;
  readonly enum?: readonly string[] | null;
  readonly oneOf?: readonly FormOption[] | null;
  readonly items?: { readonly enum?: readonly string[]; readonly anyOf?: readonly FormOption[] };
}

interface FormOption {
  readonly const: string;
  readonly title?: string;
  readonly description?: string | null;
}

function optionsOf({
  oneOf,
  items,
  enum: values,
}: FormField): { readonly name: string; readonly description?: string }[] {
  const titled = oneOf ?? items?.anyOf ?? (values ?? items?.enum ?? []).map((value): FormOption => ({ const: value }));
  const options = titled.slice(0, MOST_OPTIONS).map(({ const: value, title, description }) => ({
    name: (title ?? value).slice(0, LONGEST_OPTION),
    ...(description ? { description } : {}),
  }));
  return options.filter(({ name }, index) => options.findIndex((other) => other.name === name) === index);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
