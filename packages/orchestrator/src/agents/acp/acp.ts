/**
 * An agent that somebody else wrote: a program in the sandbox that speaks the Agent Client Protocol, with a model, prompts and
 * tools of its own. It gets a role's task as its first message and gives its result in a file, which any agent can write.
 *
 * Its process may die: the session is taken up by a new one, as often as `RESTARTS` says. When the server dies, the next attempt of the
 * same activity takes it up, from the session's id that was kept and the agent's HOME.
 */
import { type PromptResponse, RequestError } from '@agentclientprotocol/sdk';
import { InvalidRequest, type JsonObject, NeedsHuman, type Question } from '@autonomous/shared';
import { z } from 'zod';
import type { ProcessExit } from '../../sandboxes/sandbox.ts';
import { readSandboxFile } from '../../sandboxes/sandbox-files.ts';
import type { CallUsage } from '../../models/model.ts';
import { messageText } from '../../roles/prompt-parts.ts';
import type { AcpAgentSettings } from './acp-agents.ts';
import { classifyAgentError } from './acp-errors.ts';
import {
  compactedPrompt,
  type PromptParts,
  EXCHANGE_FOLDER,
  firstPrompt,
  interruptedPrompt,
  lastWordPrompt,
  resultRetryPrompt,
  QUESTION_FILE,
  RESULT_FILE,
  resumePrompt,
  STARTED_ANEW,
} from './acp-instructions.ts';
import { AcpPeer, AgentGone, INTERRUPT_TIMEOUT, PROTOCOL_ERROR, type Turn } from './acp-peer.ts';
import { decidePermission } from './acp-permissions.ts';
import { AcpProgress, type CompactionStatus } from './acp-progress.ts';
import { ACP_PREFIX } from '../agent-router.ts';
import type { Agent, AgentOutcome, AgentRequest, AgentUsage, ReservedCall } from '../agent.ts';
import {
  nudgeText,
  restartText,
  STALL_LIMITS,
  type StallLimits,
  StallWatch,
  type WatchedCall,
} from '../stall-watch.ts';
import { questionSchema } from '../tool-loop/tool-loop.ts';

/** New processes that take up a session whose process died by itself. */
const RESTARTS = 2;
/** Prompts that ask for a result once more. */
const MAX_RESULT_RETRIES = 1;
const COMMAND_TIMEOUT_MS = 30_000;
/** Interval at which the message inbox is polled. */
const POLL_MS = 1_000;
/** Tool calls of one call of a role, at most, and those of them that are not reserved yet. */
const MOST_TOOL_CALLS = 2_000;
const MOST_PENDING = 200;
/** Notes about compactions of one call that go into its transcript. */
const MOST_COMPACTION_NOTES = 200;
/** Usage that is reserved for a turn: it is not known before its end. */
const NOTHING: CallUsage = { inputTokens: 0, outputTokens: 0 };
/**
 * A session does not say which calls belong to one answer of the model, and some agents tell those of one answer one after the
 * other: what counts in steps is therefore given three times the room.
 */
const LIMITS: StallLimits = {
  ...STALL_LIMITS,
  idleSteps: 3 * STALL_LIMITS.idleSteps,
  failedSteps: 3 * STALL_LIMITS.failedSteps,
};
/** Characters of the agent's stderr that are shown to a person. */
const SHOWN_STDERR = 600;
/** Most malformed lines (not protocol messages) that are reported to a person. */
const REPORTED_MALFORMED_LINES = 3;

/** @param agentsNow those that there are at each call */
export function createAcpAgent(agentsNow: () => readonly AcpAgentSettings[]): Agent {
  const settingsOf = (model: string): AcpAgentSettings => {
    const agents = agentsNow();
    const name = model.slice(ACP_PREFIX.length);
    const settings = agents.find((candidate) => candidate.name === name);
    if (settings === undefined) {
      const known = agents.map((agent) => agent.name).join(', ') || 'none';
      throw new NeedsHuman(
        'model_unavailable',
        `There is no agent "${name}" on this server; there are: ${known}. Name it in the file of AUTONOMOUS_AGENTS, or fork the run with another model.`,
      );
    }
    if (settings.unusable !== null)
      throw new NeedsHuman('model_unavailable', `The agent ${name} cannot be used: ${settings.unusable}`);
    return settings;
  };
  return {
    name: 'acp',
    async needs(model) {
      const { mounts, network } = settingsOf(model);
      return { readOnly: mounts, allow: network };
    },
    async perform(request) {
      const settings = settingsOf(request.model);
      const { role, model, callTools = [] } = request;
      if (callTools.length > 0)
        throw new NeedsHuman(
          'model_unavailable',
          `The ${role} works with tools of this server (${callTools.map(({ name }) => name).join(', ')}), which the external agent ${model} cannot use. Give the role a model, then retry.`,
        );
      return await new AcpCall(settings, request).perform();
    },
  };
}

/** State of a session that is kept for the next attempt. */
const keptSchema = z.object({
  acp: z.object({ agent: z.string(), session: z.string(), costUsd: z.number().min(0).optional() }),
});

const tokens = z.number().int().min(0);
/** The protocol has it as a draft: the SDK passes it on and has no type for it. */
const usageSchema = z.object({
  usage: z.object({
    inputTokens: tokens,
    outputTokens: tokens,
    cachedReadTokens: tokens.nullish(),
    cachedWriteTokens: tokens.nullish(),
  }),
});

/** One call of a role: its session, over all processes that carry it on. */
class AcpCall<Result> {
  readonly #settings: AcpAgentSettings;
  readonly #request: AgentRequest<Result>;
  readonly #progress: AcpProgress;
  readonly #turnUsage: TurnUsage;
  /** Messages received from people, and how many of them were delivered to this process of the agent. */
  readonly #received: string[] = [];
  #delivered = 0;
  #polling: Promise<boolean> = Promise.resolve(false);
  readonly #stalls = new StallWatch(LIMITS);
  /** Said to the agent with the next prompt, because it goes in circles. */
  #nudge: string | null = null;
  /** Its context was compacted: it gets its task again with the next prompt. */
  #isToldAgain = false;
  /** It has made a call since it was last told its task: an agent that only compacts its context would be told without end. */
  #hasWorked = true;
  /** Notes about compactions so far. */
  #compactionNotes = 0;
  /** Reason why its session was restarted; passed to each new session. */
  #beganAnew: string | null = null;
  /** How the turn that is under way can be ended; `null` between turns, and once it is being ended for a stall. */
  #underWay: TurnEnds | null = null;
  /** Stores what the next attempt has to know of this session. */
  #keep: () => void = () => {};
  #usage: AgentUsage = { inputTokens: 0, outputTokens: 0, calls: 0 };
  #folder = '';
  #resultRetries = 0;
  #malformedLines = 0;

  constructor(settings: AcpAgentSettings, request: AgentRequest<Result>) {
    this.#settings = settings;
    this.#request = request;
    this.#turnUsage = new TurnUsage(request);
    this.#progress = new AcpProgress(request.onProgress, {
      onCall: () => {
        this.#hasWorked = true;
        this.#turnUsage.toolCall(this.#progress.costUsd);
      },
      onStep: (calls) => this.#watchProgress(calls),
      onTooMuch: (characters) => this.#tooMuchText(characters),
      onCompaction: (status) => this.#compacts(status),
    });
  }

  async perform(): Promise<AgentOutcome<Result>> {
    const kept = this.#keptSession();
    let session = kept?.session ?? null;
    this.#turnUsage.startFrom(kept?.costUsd ?? 0);
    await this.#prepare(session === null);
    for (let restarts = 0; ;) {
      const interrupted = session !== null;
      try {
        const carried = await this.#continueSession(session, (id) => (session = id));
        await this.#tidy();
        return carried;
      } catch (error) {
        this.#request.signal.throwIfAborted();
        this.#progress.endTurn();
        if (error instanceof GoesInCircles) {
          this.#beganAnew = error.message;
          session = null;
          await this.#prepare(true);
          continue;
        }
        if (!(error instanceof AgentGone)) throw this.#explained(error);
        // One that dies before it has a session would die again.
        const { endedBecause } = error.exit;
        const mayLive = endedBecause === null || endedBecause === PROTOCOL_ERROR || endedBecause === INTERRUPT_TIMEOUT;
        // An interruption for a user message does not count as a crash.
        const isLast = endedBecause !== INTERRUPT_TIMEOUT && restarts === RESTARTS;
        if (session === null || !mayLive || isLast) throw this.#died(error.exit, restarts);
        if (endedBecause !== INTERRUPT_TIMEOUT) restarts++;
        this.#request.onProgress({
          kind: 'note',
          text: `The agent ${this.#settings.name} ${howItEnded(error.exit)}; ${interrupted ? 'once more ' : ''}a new process resumes its session.`,
        });
      }
    }
  }

  /** One process: opens the session, and prompts until there is an outcome. */
  async #continueSession(kept: string | null, keep: (session: string) => void): Promise<AgentOutcome<Result>> {
    const { sandbox, signal, answers = [] } = this.#request;
    const peer = await AcpPeer.start({
      settings: this.#settings,
      sandbox,
      folder: this.#folder,
      signal,
      mayAsk: this.#mayAsk,
      onUpdate: (update) => this.#progress.take(update),
      onPermission: (asked) => {
        const decision = decidePermission(this.#settings.name, this.#settings.permissions, asked, answers);
        // Where nobody can be asked it is not allowed.
        return decision.kind === 'ask' && !this.#mayAsk ? { kind: 'refuse' } : decision;
      },
      onMalformedLine: (line) => this.#reportMalformedLine(line),
    });
    try {
      const session = await peer.openSession(kept);
      keep(session.id);
      // Agents that cannot resume a session start the next attempt from the last commit.
      this.#keep = () => {
        if (!session.resumable) return;
        const { dollars: costUsd } = this.#turnUsage;
        this.#request.keep?.({ acp: { agent: this.#settings.name, session: session.id, costUsd } });
      };
      if (!session.resumed) {
        this.#progress.forgetSession();
        this.#turnUsage.startFrom(0);
      }
      this.#keep();
      this.#delivered = 0;
      return await this.#prompt(peer, this.#opening(kept, session.resumed));
    } finally {
      await peer.end();
    }
  }

  async #prompt(peer: AcpPeer, opening: string): Promise<AgentOutcome<Result>> {
    await this.#poll();
    for (let text = [opening, ...this.#takePending()].join('\n\n'); ;) {
      const turn = await this.#turn(peer, text);
      this.#progress.endTurn();
      if (turn.kind === 'question') return this.#question(turn.question);
      if (turn.kind === 'interrupted') {
        text = interruptedPrompt(this.#takePending());
        continue;
      }
      // It ended by itself before it could be told.
      this.#nudge = null;
      this.#isToldAgain = false;
      if (turn.response.stopReason === 'refusal') {
        throw new NeedsHuman(
          'agent_failed',
          `The agent ${this.#settings.name} refused the work. Rephrase the request or fork the run with another model.`,
        );
      }
      const ending = await this.#ending(turn.response.stopReason);
      // A message that comes last must be processed too.
      if (await this.#poll()) {
        text = lastWordPrompt(this.#takePending(), { folder: this.#folder });
        continue;
      }
      if ('kind' in ending) return ending;
      if (this.#resultRetries === MAX_RESULT_RETRIES) return this.#lastResort(ending.fault);
      this.#resultRetries++;
      this.#request.onProgress({
        kind: 'note',
        text: `No usable result yet, asking for it once more. ${ending.fault}`,
      });
      text = resultRetryPrompt(ending.fault, { folder: this.#folder });
    }
  }

  /** One turn, which ends early when a person says something, and is refused when the run may spend no more. */
  async #turn(peer: AcpPeer, text: string): Promise<Turn> {
    const { promise: interrupt, resolve, reject } = Promise.withResolvers<void>();
    interrupt.catch(() => {});
    this.#usage = { ...this.#usage, calls: this.#usage.calls + 1 };
    await this.#turnUsage.open(reject);
    this.#underWay = { interrupt: resolve, refuse: reject };
    const polling = setInterval(() => {
      this.#poll().then((isNews) => isNews && resolve(), reject);
    }, POLL_MS);
    try {
      const turn = await peer.prompt(text, interrupt);
      await this.#close(turn.response);
      return turn;
    } catch (error) {
      // An agent that is gone says nothing more; what it has told of its cost counts.
      await this.#close(error instanceof AgentGone ? null : await peer.cancel()).catch(() => undefined);
      throw error;
    } finally {
      this.#underWay = null;
      clearInterval(polling);
    }
  }

  /** Warns an agent that makes no progress, then restarts its session, then pauses the run. */
  #watchProgress(calls: readonly WatchedCall[]): void {
    const turn = this.#underWay;
    // After a verdict, the rest of the turn is not judged.
    if (turn === null) return;
    const verdict = this.#stalls.step(calls);
    if (verdict.kind === 'go_on') return;
    this.#underWay = null;
    const { role, model, onProgress } = this.#request;
    const { why } = verdict;
    if (verdict.kind === 'nudge') {
      onProgress({ kind: 'note', text: `No progress: it ${why}. It was warned.` });
      this.#nudge = nudgeText(why);
      turn.interrupt();
    } else if (verdict.kind === 'restart') {
      onProgress({ kind: 'note', text: `No progress: it ${why}. It starts again with a note about what was tried.` });
      turn.refuse(new GoesInCircles(restartText(why, this.#stalls.tried)));
    } else {
      turn.refuse(
        new NeedsHuman(
          'stalled',
          `The ${role} (${model}) makes no progress: it ${why}, also after a warning and a new start. Its files are kept. Send a message with what it should do differently and retry, or fork the run with another model.`,
        ),
      );
    }
  }

  #tooMuchText(characters: number): void {
    const { role, model } = this.#request;
    const refusal = new NeedsHuman(
      'agent_failed',
      `The ${role} (${model}) wrote more than ${characters} characters of text. That leads nowhere. Its files are kept. Split the request, or fork the run with another model.`,
    );
    this.#underWay?.refuse(refusal);
  }

  /** Settles a turn. @param response `null` when there is none: usage is then only what the agent reported before */
  async #close(response: PromptResponse | null): Promise<void> {
    const usage = response === null ? NOTHING : this.#count(response);
    await this.#turnUsage.close(usage, this.#progress.costUsd);
    this.#keep();
  }

  /** Polls the message inbox. @returns whether messages are pending, that is received and not delivered */
  #poll(): Promise<boolean> {
    const look = async (): Promise<boolean> => {
      const { messages, onProgress } = this.#request;
      for (const { by, text } of (await messages?.()) ?? []) {
        onProgress({ kind: 'message', text, data: { by } });
        this.#received.push(text);
        this.#stalls.resetCounts();
      }
      return this.#delivered < this.#received.length;
    };
    // One look after the other: each message is given once.
    this.#polling = this.#polling.then(look, look);
    return this.#polling;
  }

  /** Returns the pending messages, with a nudge if there is one, and marks them as delivered. */
  #takePending(): readonly string[] {
    const pending = this.#received.slice(this.#delivered).map(messageText);
    this.#delivered = this.#received.length;
    const nudges = [
      ...(this.#isToldAgain ? [compactedPrompt(this.#parts)] : []),
      ...(this.#nudge === null ? [] : [this.#nudge]),
    ];
    this.#isToldAgain = false;
    this.#nudge = null;
    return [...pending, ...nudges];
  }

  get #parts(): PromptParts {
    const { instructions, prompt, resultSchema } = this.#request;
    return { folder: this.#folder, mayAsk: this.#mayAsk, instructions, prompt, resultSchema };
  }

  /**
   * Keeps what the next attempt has to know before the agent compacts its context, and tells it its task again afterwards: once for
   * each time that it has worked since.
   */
  #compacts(status: CompactionStatus): void {
    if (status === 'in_progress') {
      this.#keep();
      this.#noteCompaction(
        'The agent compacts its context. All that it said and did until here stays in this transcript.',
        { compaction: 'begins' },
      );
      return;
    }
    const turn = this.#underWay;
    if (turn === null || this.#isToldAgain || !this.#hasWorked) {
      this.#noteCompaction('The agent has compacted its context.');
      return;
    }
    this.#noteCompaction('The agent has compacted its context. It is told its task again.');
    this.#isToldAgain = true;
    this.#hasWorked = false;
    turn.interrupt();
  }

  /** The agent decides how often it says that it compacts. */
  #noteCompaction(text: string, data?: JsonObject): void {
    this.#compactionNotes += 1;
    if (this.#compactionNotes > MOST_COMPACTION_NOTES) return;
    this.#request.onProgress({ kind: 'note', text, ...(data === undefined ? {} : { data }) });
  }

  #opening(kept: string | null, resumed: boolean): string {
    const parts = this.#parts;
    // A resumed agent gets no prompt, which contains the messages of before this attempt.
    if (resumed) return [resumePrompt(parts), ...(this.#request.said ?? []).map(messageText)].join('\n\n');
    const first = this.#beganAnew === null ? firstPrompt(parts) : `${firstPrompt(parts)}\n\n${this.#beganAnew}`;
    return kept === null ? first : `${STARTED_ANEW}\n\n${first}`;
  }

  /** Reads the question or result file at the end of a turn. */
  async #ending(stopReason: string): Promise<AgentOutcome<Result> | { readonly fault: string }> {
    const question = this.#mayAsk ? await this.#readJson(QUESTION_FILE, questionSchema) : null;
    if (question?.ok) {
      const { options, ...rest } = question.value;
      return this.#question({ ...rest, ...(options === undefined ? {} : { options }) });
    }
    const result = await this.#readJson(RESULT_FILE, this.#request.resultSchema);
    if (result?.ok) {
      const { usage, model, scripted } = this.#signature();
      return { kind: 'finished', result: result.value, usage, model, scripted };
    }
    const faults = [question, result].flatMap((read) => (read === null ? [] : [read.fault]));
    if (faults.length > 0) return { fault: faults.join(' ') };
    const stopped = stopReason === 'end_turn' ? '' : ` (the turn was stopped: ${stopReason})`;
    return { fault: `There is no file ${this.#folder}/${RESULT_FILE}${stopped}.` };
  }

  /** @returns `null` when there is no such file */
  async #readJson<Value>(
    file: string,
    schema: z.ZodType<Value>,
  ): Promise<{ readonly ok: true; readonly value: Value } | { readonly ok: false; readonly fault: string } | null> {
    let text: string | null;
    try {
      text = await readSandboxFile(this.#request.sandbox, file);
    } catch (error) {
      // It is a folder, or longer than anybody would read.
      if (error instanceof InvalidRequest) return { ok: false, fault: `${error.message}.` };
      throw error;
    }
    if (text === null) return null;
    let json: unknown;
    try {
      json = JSON.parse(text.replace(/^\uFEFF/, ''));
    } catch (error) {
      return {
        ok: false,
        fault: `${file} is not valid JSON: ${error instanceof Error ? error.message : String(error)}.`,
      };
    }
    const parsed = schema.safeParse(json);
    if (parsed.success) return { ok: true, value: parsed.data };
    const faults = parsed.error.issues
      .slice(0, 10)
      .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`));
    return { ok: false, fault: `${file} does not fit its schema: ${faults.join('; ')}.` };
  }

  /** Where a role asks for a summary and no more, the agent's last words are one: its work lies in the files. */
  #lastResort(fault: string): AgentOutcome<Result> {
    const summary = this.#progress.lastMessage;
    const parsed = this.#request.resultSchema.safeParse({ summary });
    if (summary !== '' && parsed.success) {
      this.#request.onProgress({ kind: 'note', text: `The agent's last message is used as its result. ${fault}` });
      return { kind: 'finished', result: parsed.data, ...this.#signature() };
    }
    throw new NeedsHuman(
      'agent_failed',
      `The ${this.#request.role} (${this.#request.model}) gave no valid result, nor after being asked once more: ${fault}`,
    );
  }

  #question(question: Question): AgentOutcome<Result> {
    if (!this.#mayAsk) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${this.#request.role} (${this.#request.model}) asked a question in a call that cannot be answered: ${question.question}`,
      );
    }
    return { kind: 'question', question, ...this.#signature() };
  }

  get #mayAsk(): boolean {
    return this.#request.tools.includes('ask');
  }

  #keptSession(): { readonly session: string; readonly costUsd?: number | undefined } | null {
    const kept = keptSchema.safeParse(this.#request.kept);
    return kept.success && kept.data.acp.agent === this.#settings.name ? kept.data.acp : null;
  }

  /** Creates the exchange folder of this call. @param fresh removes files of an earlier session; a resumed one keeps them */
  async #prepare(fresh: boolean): Promise<void> {
    const { sandbox, signal } = this.#request;
    const { exitCode, stdout, stderr } = await sandbox.run({
      command: `${fresh ? `rm -rf ${EXCHANGE_FOLDER} && ` : ''}mkdir -p ${EXCHANGE_FOLDER} && pwd`,
      timeoutMs: COMMAND_TIMEOUT_MS,
      signal,
    });
    signal.throwIfAborted();
    if (exitCode !== 0) {
      throw new NeedsHuman(
        'agent_failed',
        `The folder ${EXCHANGE_FOLDER}, in which the agent leaves its result, cannot be made: ${stderr.trim()}. The project must have no file of this name.`,
      );
    }
    this.#folder = stdout.trim();
  }

  /** Removes the exchange folder, which would otherwise be reported as a file that is not imported. */
  async #tidy(): Promise<void> {
    const command = `rm -rf ${EXCHANGE_FOLDER}; rmdir .autonomous 2> /dev/null; true`;
    await this.#request.sandbox.run({ command, timeoutMs: COMMAND_TIMEOUT_MS });
  }

  /** The first lines that are no messages: somebody who writes an agent wants to know. */
  #reportMalformedLine(line: string): void {
    this.#malformedLines++;
    if (this.#malformedLines > REPORTED_MALFORMED_LINES) return;
    const shown = line.length > 200 ? `${line.slice(0, 200)}…` : line;
    this.#request.onProgress({ kind: 'note', text: `The agent wrote a line that is not a protocol message: ${shown}` });
  }

  /** Not all agents say what a turn has used. */
  #count(response: object): CallUsage {
    const reported = usageSchema.safeParse(response);
    if (!reported.success) return NOTHING;
    const { inputTokens: input, outputTokens, cachedReadTokens, cachedWriteTokens } = reported.data.usage;
    const inputTokens = input + (cachedReadTokens ?? 0) + (cachedWriteTokens ?? 0);
    this.#usage = {
      ...this.#usage,
      inputTokens: this.#usage.inputTokens + inputTokens,
      outputTokens: this.#usage.outputTokens + outputTokens,
    };
    const { costUsd } = this.#progress;
    this.#request.onProgress({
      kind: 'usage',
      text: `${inputTokens} tokens in, ${outputTokens} out${costUsd === null ? '' : `, $${costUsd} so far as the agent reckons`}`,
      data: { inputTokens, outputTokens, ...(costUsd === null ? {} : { costUsd }) },
    });
    return {
      inputTokens,
      outputTokens,
      ...(cachedReadTokens ? { cachedInputTokens: cachedReadTokens } : {}),
      ...(cachedWriteTokens ? { cacheWriteTokens: cachedWriteTokens } : {}),
    };
  }

  #signature() {
    return { usage: this.#usage, model: this.#request.model, scripted: false };
  }

  /** Classifies the error of a failed turn; most are errors of the agent's model. */
  #explained(error: unknown): unknown {
    if (!(error instanceof RequestError)) return error;
    return classifyAgentError(error, this.#settings.name, this.#progress.limitEndsAt, Date.now());
  }

  #died(exit: ProcessExit, restarts: number): NeedsHuman {
    const tries = restarts === 0 ? '' : `, ${restarts + 1} times`;
    const said = exit.stderr.trim();
    return new NeedsHuman(
      'agent_failed',
      `The agent ${this.#settings.name} ${howItEnded(exit)} before its work was done${tries}. ${said === '' ? 'It wrote nothing to stderr.' : `It wrote: ${said.slice(-SHOWN_STDERR)}`}`,
    );
  }
}

interface TurnEnds {
  /** Ends the turn, so that the agent gets the pending messages with its next prompt. */
  readonly interrupt: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** The session makes no progress also after a warning: a new one is begun. The message is passed to the new session. */
class GoesInCircles extends Error {
  override readonly name = 'GoesInCircles';
}

/**
 * Reserves and settles the cost of an agent's turns. The agent sends its requests to a model itself, and reports their usage
 * after the turn, if at all. A call is therefore reserved with the turn and with each tool call, after which the agent asks its
 * model again.
 */
class TurnUsage {
  readonly #request: Pick<AgentRequest<unknown>, 'meter' | 'model'>;
  #reserved: ReservedCall | undefined;
  /** Writes one after the other, in the order of what happened. */
  #written: Promise<void> = Promise.resolve();
  #refuse: (reason: unknown) => void = () => {};
  /** The part of the session's cost, as the agent reports it, that is in the log. US dollars. */
  #costUsd = 0;
  /** The same, since the turn began. */
  #turnUsd = 0;
  #toolCalls = 0;
  #pending = 0;

  constructor(request: Pick<AgentRequest<unknown>, 'meter' | 'model'>) {
    this.#request = request;
  }

  /**
   * @param refuse told why the turn that is under way must end
   * @throws {NeedsHuman} `budget` when the run may spend no more
   */
  async open(refuse: (reason: unknown) => void): Promise<void> {
    this.#refuse = refuse;
    this.#turnUsd = 0;
    await this.#reserve();
  }

  /** Cost of the session that is in the log, in US dollars. */
  get dollars(): number {
    return this.#costUsd;
  }

  /** Sets the cost of the session that the log contains already, in US dollars. */
  startFrom(costUsd: number): void {
    this.#costUsd = costUsd;
  }

  toolCall(costUsd: number | null): void {
    this.#toolCalls += 1;
    if (this.#toolCalls > MOST_TOOL_CALLS || this.#pending > MOST_PENDING) {
      const many = `${this.#request.model} made ${this.#toolCalls} tool calls in one call of its role`;
      const way = 'That leads nowhere. Its files are kept. Split the request, or fork the run with another model.';
      this.#refuse(new NeedsHuman('agent_failed', `The agent ${many}. ${way}`));
      return;
    }
    this.#pending += 1;
    this.#written = this.#written
      .then(async () => {
        this.#pending -= 1;
        const reserved = this.#reserved;
        // One that is told of after its turn is over belongs to none.
        if (reserved === undefined) return;
        // Where nothing more may be reserved, the turn's own reservation takes the rest.
        await this.#reserve();
        await reserved.settle({ ...NOTHING, ...this.#since(costUsd) }, 1);
      })
      .catch((error: unknown) => this.#refuse(error));
  }

  async close(usage: CallUsage, costUsd: number | null): Promise<void> {
    await this.#written;
    const reserved = this.#reserved;
    this.#reserved = undefined;
    const countedUsd = this.#turnUsd;
    await reserved?.settle({ ...usage, ...this.#since(costUsd), ...(countedUsd > 0 ? { countedUsd } : {}) });
  }

  async #reserve(): Promise<void> {
    const { meter, model } = this.#request;
    this.#reserved = await meter?.reserve({ id: model, scripted: false }, NOTHING);
  }

  #since(costUsd: number | null): { readonly costUsd?: number } {
    if (costUsd === null) return {};
    // One that falls has begun anew: some agents count from nothing in each process that takes a session up.
    const more = costUsd < this.#costUsd ? costUsd : costUsd - this.#costUsd;
    this.#costUsd = costUsd;
    this.#turnUsd += more;
    return { costUsd: more };
  }
}

function howItEnded({ exitCode, endedBecause }: ProcessExit): string {
  if (endedBecause !== null) return `was ended: ${endedBecause}`;
  if (exitCode === null) return 'was killed';
  return exitCode > 128 ? `was killed by signal ${exitCode - 128}` : `ended with exit code ${exitCode}`;
}
