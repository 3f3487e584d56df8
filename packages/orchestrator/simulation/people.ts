/** Simulates decisions of people, at the right moment and at every wrong one, and records the server's answers. */
import {
  type Decision,
  type Gate,
  type JsonObject,
  type RunView,
  shownAt,
  type ShownGate,
  type WorkflowEvent,
} from '@autonomous/shared';
import type { Engine } from '../src/engine/engine.ts';
import type { FaultCounts } from './faults.ts';
import { Violation } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Life } from './scheduler.ts';

export interface Server {
  readonly life: Life;
  readonly engine: Engine;
  /** It takes no more commands. */
  isStopping: boolean;
}

/** For so long a server knows the answers to requests with a key, as its store has it. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

export interface PeopleOptions {
  readonly server: () => Server | null;
  readonly ledger: Ledger;
  readonly random: Random;
  /** The clock of the servers, in milliseconds. */
  readonly now: () => number;
  readonly counts: FaultCounts;
  readonly trace: (line: () => string) => void;
  readonly report: (error: unknown) => void;
  /** How many writes the disk has refused so far: a command meanwhile may fail through no fault of its own. */
  readonly refusedWrites: () => number;
}

/** A command with a key, which its sender repeats until it is answered. */
interface KeyedCommand {
  readonly by: string;
  readonly runId: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly shown: ShownGate | undefined;
  /** The server that it was sent to last. */
  server: Server;
}

export class People {
  readonly #options: PeopleOptions;
  /** Commands with a key that nobody has answered yet. */
  readonly #unanswered = new Set<KeyedCommand>();
  /** The gate that each decision was meant for, by who made it. */
  readonly #meant = new Map<string, string>();
  /** Gates that somebody saw. */
  readonly #seen: { readonly runId: string; readonly gate: Gate }[] = [];
  /** Accepted decisions by gate. */
  readonly #winners = new Map<string, string>();
  #count = 0;

  constructor(options: PeopleOptions) {
    this.#options = options;
  }

  meantFor(by: string): string | undefined {
    return this.#meant.get(by);
  }

  /** Something that a person might do now to one of the runs. */
  act(views: readonly RunView[]): void {
    const { random, counts } = this.#options;
    if (views.length === 0) return;
    const view = random.pick(views);
    const gate = view.gate;
    if (gate !== null) this.#see(view.id, gate);
    const roll = random.next();
    if (roll < 0.06) return this.cancel(view.id);
    if (roll < 0.14) {
      if (view.status === 'running') counts['message while it runs'] += 1;
      return this.#signal(view.id, 'MESSAGE_SENT', { text: 'Mind the gap' }, undefined);
    }
    if (roll < 0.18) return this.#undeclared(view.id);
    if (roll < 0.26) return this.#decideAgain();
    if (roll < 0.3) return this.#signal(view.id, 'STAGE_EXTENDED', { minutes: 20 }, undefined);
    if (gate === null) return;
    if (roll < 0.42) return this.#compete(view.id, gate);
    this.decide(view.id, gate, random.pick(gate.decisions));
  }

  /** The decision that leads on, and not in circles. */
  lead(runId: string, gate: Gate): void {
    const wanted: readonly Decision[] = ['approve', 'answer', 'accept', 'retry', 'extend'];
    const decision = wanted.find((candidate) => gate.decisions.includes(candidate)) ?? gate.decisions[0];
    if (decision !== undefined) this.decide(runId, gate, decision);
  }

  decide(runId: string, gate: Gate, decision: Decision): void {
    const { type, payload } = signalOf(gate, decision);
    this.#see(runId, gate);
    this.#signal(runId, type, payload, shownAt(gate));
  }

  cancel(runId: string): void {
    const by = this.#somebody();
    this.#send(`${by} cancels ${runId}`, async ({ engine }) => {
      const view = await engine.cancel(runId, by);
      this.#checkStored(by, view);
      return view;
    });
  }

  launch(runId: string, launch: (engine: Engine) => Promise<RunView>): void {
    this.#send(`${runId} is launched`, async (server) => {
      const view = await launch(server.engine).catch((error: unknown) => {
        if (nameOf(error) === 'Conflict' && !server.isStopping)
          throw new Violation('launch', `the launch of ${runId} was refused: ${String(error)}`);
        throw error;
      });
      if (!this.#options.ledger.runs.has(runId))
        throw new Violation('acknowledged', `the launch of ${runId} was answered and is not in the log`);
      if (view.id !== runId) throw new Violation('launch', `the launch of ${runId} gave ${view.id}`);
      return view;
    });
  }

  #compete(runId: string, gate: Gate): void {
    const { random, counts } = this.#options;
    const decision = random.pick(gate.decisions);
    const others = 1 + random.below(4);
    switch (random.below(3)) {
      case 0:
        counts[decision === 'answer' ? 'answer twice at once' : 'approval twice at once'] += 1;
        for (let count = 0; count <= others; count += 1) this.decide(runId, gate, decision);
        return;
      case 1:
        counts['decisions that conflict'] += 1;
        for (const other of gate.decisions.toReversed()) this.decide(runId, gate, other);
        return;
      default:
        counts['cancel against a decision'] += 1;
        if (random.chance(0.5)) this.decide(runId, gate, decision);
        this.cancel(runId);
        this.decide(runId, gate, decision);
        if (random.chance(0.3)) {
          counts['cancel twice'] += 1;
          this.cancel(runId);
        }
    }
  }

  /** On a gate that somebody saw, whatever became of it since. */
  #decideAgain(): void {
    const { random, counts, ledger } = this.#options;
    if (this.#seen.length === 0) return;
    const { runId, gate } = random.pick(this.#seen);
    if (ledger.runs.get(runId)?.decided.has(gate.id)) counts['decision on a gate that is gone'] += 1;
    this.decide(runId, gate, random.pick(gate.decisions));
  }

  #undeclared(runId: string): void {
    const { counts, random } = this.#options;
    counts['signal that is not declared'] += 1;
    const type = random.pick(['xstate.done.actor.prepare', 'NO_SUCH_SIGNAL', 'xstate.after.60000.race.running']);
    this.#send(`somebody sends ${type} to ${runId}`, async ({ engine }) => {
      const answer = await engine.signal(runId, type, { by: this.#somebody() }).then(
        () => 'taken',
        (error: unknown) => nameOf(error),
      );
      if (!['InvalidRequest', 'Conflict', 'NotFound', 'Unavailable'].includes(answer))
        throw new Violation('refusals', `${type}, which is not declared, was answered with '${answer}'`);
      return null;
    });
  }

  #signal(runId: string, type: string, payload: JsonObject, shown: ShownGate | undefined): void {
    const gateId = shown?.gateId;
    const by = this.#somebody();
    if (gateId !== undefined) this.#meant.set(by, gateId);
    const full = { by, ...payload, ...(gateId === undefined || type === 'STAGE_EXTENDED' ? {} : { gateId }) };
    const server = this.#options.server();
    if (server !== null && this.#options.random.chance(0.4)) {
      const command = { by, runId, type, payload: full, shown, server };
      this.#unanswered.add(command);
      return this.#sendKeyed(command);
    }
    this.#send(`${by} sends ${type} to ${gateId ?? runId}`, async ({ engine }) => {
      const view = await engine.signal(runId, type, full, shown);
      this.#checkStored(by, view);
      if (gateId !== undefined) this.#checkWinner(gateId, by);
      return view;
    });
  }

  /** There is something that {@link sendAgain} would send once another server is up. */
  get waitsForAnswers(): boolean {
    return this.#unanswered.size > 0;
  }

  /** Sends what has a key and was not answered by a server that is gone. */
  sendAgain(): void {
    const server = this.#options.server();
    if (server === null) return;
    for (const command of this.#unanswered) {
      if (!command.server.life.dead) continue;
      command.server = server;
      if (this.#options.ledger.actors.has(command.by)) this.#options.counts['request sent again after a crash'] += 1;
      this.#sendKeyed(command);
    }
  }

  #sendKeyed(command: KeyedCommand): void {
    const { by, runId, type, payload, shown, server } = command;
    const gateId = shown?.gateId;
    const wasStored = this.#options.ledger.actors.has(by);
    this.#send(`${by} sends ${type} with a key to ${gateId ?? runId}`, async ({ engine }) => {
      try {
        const view = await engine.signal(runId, type, payload, shown, { key: `${runId}/${by}`, hash: type });
        this.#checkStored(by, view);
        if (gateId !== undefined && !wasStored) this.#checkWinner(gateId, by);
        if (!server.life.dead) this.#checkAnswer(by, view);
        return view;
      } catch (error) {
        if (wasStored && this.#isKept(command) && nameOf(error) === 'Conflict' && !server.life.dead)
          throw new Violation(
            'refusals',
            `what ${by} did is in the log, and was refused when it was sent again: ${String(error)}`,
          );
        throw error;
      } finally {
        if (!server.life.dead) this.#unanswered.delete(command);
      }
    });
  }

  /** Whether the answer to a stored request is still known: the clock may have jumped further than it is kept. */
  #isKept({ by, runId }: KeyedCommand): boolean {
    const { ledger, now } = this.#options;
    const event = ledger.runs.get(runId)?.events.find(({ payload }) => payload['by'] === by);
    return event !== undefined && now() - Date.parse(event.timestamp) < KEPT_MS;
  }

  /** Asserts that a request is answered with the run as it was after its step, however often the request is sent. */
  #checkAnswer(by: string, view: RunView): void {
    const events = this.#options.ledger.runs.get(view.id)?.events ?? [];
    const at = events.findIndex(({ payload }) => payload['by'] === by);
    if (at < 0 || view.gate?.reason === 'poisoned') return;
    const isNext = ({ origin, type }: WorkflowEvent, index: number) =>
      index > at && origin === 'input' && type !== 'RUN_QUEUED';
    const end = events.findIndex(isNext);
    const last = events[(end < 0 ? events.length : end) - 1]?.sequence;
    if (view.lastSequence === last) return;
    throw new Violation('acknowledged', `what ${by} did ended at ${last}, and was answered as of ${view.lastSequence}`);
  }

  #checkStored(by: string, view: RunView): void {
    // If the machine fails at the step, the run is quarantined instead, and its gate names the reason.
    if (view.gate?.reason === 'poisoned' || this.#options.ledger.actors.has(by)) return;
    throw new Violation(
      'acknowledged',
      `what ${by} did to ${view.id} was answered with '${view.status}' and is not in the log`,
    );
  }

  #checkWinner(gateId: string, by: string): void {
    const winner = this.#winners.get(gateId);
    if (winner !== undefined) throw new Violation('gate', `gate ${gateId} was won by ${winner} and by ${by}`);
    this.#winners.set(gateId, by);
  }

  /** Sends to the server that is up now; what is not answered before it dies stays unknown. */
  #send(what: string, command: (server: Server) => Promise<RunView | null>): void {
    const { trace, report, ledger, refusedWrites } = this.#options;
    const server = this.#options.server();
    if (server === null) return;
    const refusedBefore = refusedWrites();
    trace(() => what);
    command(server).then(
      (view) => {
        if (server.life.dead || view === null) return;
        trace(() => `${what}: ${view.status} at ${view.lastSequence}`);
        const stored = ledger.runs.get(view.id)?.events.length ?? 0;
        if (view.lastSequence > stored)
          report(
            new Violation('acknowledged', `${what} was answered with event ${view.lastSequence}, stored are ${stored}`),
          );
      },
      (error: unknown) => {
        if (server.life.dead) return;
        trace(() => `${what}: ${String(error)}`);
        const isRefusedForNow = nameOf(error) === 'Unavailable' && server.isStopping;
        const expected = ['Conflict', 'Stale', 'NotFound'].includes(nameOf(error)) || isRefusedForNow;
        const diskFailed = ['StorageFull', 'Unavailable'].includes(nameOf(error)) && refusedWrites() > refusedBefore;
        if (error instanceof Violation) report(error);
        else if (!expected && !diskFailed)
          report(new Violation('refusals', `${what} was answered with ${String(error)}`));
      },
    );
  }

  #see(runId: string, gate: Gate): void {
    if (!this.#seen.some((seen) => seen.gate.id === gate.id)) this.#seen.push({ runId, gate });
  }

  /** Each act has an author of its own, by whom it is found in the log. */
  #somebody(): string {
    this.#count += 1;
    return `person-${this.#count}`;
  }
}

function signalOf(gate: Gate, decision: Decision): { readonly type: string; readonly payload: JsonObject } {
  switch (decision) {
    case 'approve':
      return { type: 'APPROVAL_GRANTED', payload: gate.kind === 'invalid_plan' ? { editedPlan: '# Plan' } : {} };
    case 'reject':
      return { type: 'APPROVAL_REJECTED', payload: { feedback: 'Try again' } };
    case 'answer':
      return { type: 'CLARIFICATION_ANSWERED', payload: { response: 'npm test' } };
    case 'ignore':
      return { type: 'CLARIFICATION_IGNORED', payload: {} };
    case 'ask':
      return { type: 'QUESTION_ASKED', payload: { question: 'Why?' } };
    case 'retry':
      return gate.kind === 'fix'
        ? { type: 'FIX_DECIDED', payload: { decision: 'retry' } }
        : { type: 'RETRY_REQUESTED', payload: {} };
    case 'accept':
      return { type: 'FIX_DECIDED', payload: { decision: 'accept', reason: 'It will do' } };
    case 'close':
      return { type: 'FIX_DECIDED', payload: { decision: 'close', reason: 'Not now' } };
    case 'extend':
      return { type: 'STAGE_EXTENDED', payload: { minutes: 30 } };
    default:
      return decision satisfies never;
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}
