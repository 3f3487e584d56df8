/**
 * Notices when an agent goes in circles. Progress is anything new: a call that was not made before in this conversation, or the
 * same call with another result; a changed file shows as one or the other. Pure: it is told of each step and says what to do.
 */
import { createHash } from 'node:crypto';
import { withoutVolatile } from '../project-analysis/normalize-output.ts';

export interface WatchedCall {
  readonly name: string;
  readonly input: unknown;
  readonly ok: boolean;
  readonly result: string;
}

/** Reaction to a step; `why` is the rest of a sentence that begins with "you". */
export type Verdict =
  | { readonly kind: 'go_on' }
  | { readonly kind: 'nudge' | 'restart' | 'give_up'; readonly why: string };

export interface StallLimits {
  /** Steps in a row in which nothing was new. */
  readonly idleSteps: number;
  /** The same call with the same result, since something was last new; the call that was new is not counted. */
  readonly repeats: number;
  /** The same call as the only one of its step, in a row, whatever came of it. */
  readonly sameCall: number;
  /** Steps in a row in which every call failed. */
  readonly failedSteps: number;
  /** Steps with something new after which a nudge is forgotten. */
  readonly forgivenAfter: number;
  /** Steps with something new after which a new beginning is forgotten too. */
  readonly restartForgivenAfter: number;
}

/**
 * Found on traces of real work: agents read a file again after an edit, go through the same five or six files before the next
 * one, and run the same tests after each change. None of them does the same thing four times over with nothing between.
 */
export const STALL_LIMITS: StallLimits = {
  idleSteps: 8,
  repeats: 3,
  sameCall: 12,
  failedSteps: 8,
  forgivenAfter: 10,
  restartForgivenAfter: 30,
};

/** Calls that are told to the next try of a restarted conversation. */
const REMEMBERED = 12;

export class StallWatch {
  readonly #limits: StallLimits;
  #seen = new Set<string>();
  readonly #repeats = new Map<string, number>();
  #idle = 0;
  #failed = 0;
  #fresh = 0;
  #same = { call: '', times: 0 };
  #warned = false;
  #restarted = false;
  #tried: string[] = [];

  constructor(limits: StallLimits = STALL_LIMITS) {
    this.#limits = limits;
  }

  /** Latest calls of the conversation, oldest first, one line each. */
  get tried(): readonly string[] {
    return this.#tried;
  }

  /** Resets all counts. Must be called when a message was received. */
  resetCounts(): void {
    this.#idle = 0;
    this.#failed = 0;
    this.#same = { call: '', times: 0 };
    this.#repeats.clear();
  }

  /** The agent cannot see any more what it has seen. */
  forget(): void {
    this.resetCounts();
    this.#seen = new Set();
  }

  /** @param calls of one answer of the model; none where it called nothing or was cut off */
  step(calls: readonly WatchedCall[]): Verdict {
    let isNew = false;
    let repeated = 0;
    for (const call of calls) {
      this.#remember(call);
      const print = fingerprint(call);
      if (this.#seen.has(print)) {
        const times = (this.#repeats.get(print) ?? 0) + 1;
        this.#repeats.set(print, times);
        repeated = Math.max(repeated, times);
      } else {
        this.#seen.add(print);
        isNew = true;
      }
    }
    this.#failed = calls.length > 0 && calls.every(({ ok }) => !ok) ? this.#failed + 1 : 0;
    this.#countSame(calls);
    if (isNew) this.#progressed();
    else {
      this.#idle += 1;
      this.#fresh = 0;
    }
    const why = this.#complaint(isNew ? 0 : repeated);
    return why === null ? { kind: 'go_on' } : this.#escalate(why);
  }

  #progressed(): void {
    this.#idle = 0;
    this.#repeats.clear();
    this.#fresh += 1;
    if (this.#fresh >= this.#limits.forgivenAfter) this.#warned = false;
    if (this.#fresh >= this.#limits.restartForgivenAfter) this.#restarted = false;
  }

  #countSame(calls: readonly WatchedCall[]): void {
    const [only] = calls;
    const call = only !== undefined && calls.length === 1 ? callPrint(only) : '';
    this.#same = { call, times: call !== '' && call === this.#same.call ? this.#same.times + 1 : 1 };
  }

  #complaint(repeated: number): string | null {
    const { idleSteps, repeats, sameCall, failedSteps } = this.#limits;
    if (repeated >= repeats) return `made the same call with the same result ${repeated + 1} times`;
    if (this.#same.times >= sameCall) return `made the same call ${this.#same.times} times in a row`;
    if (this.#idle >= idleSteps) return `did nothing new in ${this.#idle} steps`;
    if (this.#failed >= failedSteps) return `made calls that failed in ${this.#failed} steps in a row`;
    return null;
  }

  #escalate(why: string): Verdict {
    this.resetCounts();
    this.#fresh = 0;
    if (this.#restarted) return { kind: 'give_up', why };
    if (!this.#warned) {
      this.#warned = true;
      return { kind: 'nudge', why };
    }
    this.#restarted = true;
    // A new conversation has to look at everything again.
    this.#seen = new Set();
    return { kind: 'restart', why };
  }

  #remember(call: WatchedCall): void {
    const [line = ''] = call.result.split('\n', 1);
    const input = JSON.stringify(call.input) ?? '';
    this.#tried = [...this.#tried, `${call.name} ${short(input, 160)} → ${short(line, 160)}`].slice(-REMEMBERED);
  }
}

/** Said to the agent when it seems to go in circles. */
export function nudgeText(why: string): string {
  return `You ${why}: this leads nowhere. Stop and think about what you know and what is missing. Then do something different: another file, another approach, a smaller step. If you cannot go on, call finish and say what is missing and why.`;
}

/** Text that is added to the prompt of a restarted conversation. */
export function restartText(why: string, tried: readonly string[]): string {
  return `An earlier try of this call went in circles and was ended, because it ${why}. The files are as it left them: look at them first. What it did last:
${tried.map((line) => `- ${line}`).join('\n')}
Take another way than that one.`;
}

function fingerprint(call: WatchedCall): string {
  return createHash('sha256')
    .update(`${callPrint(call)}\n${withoutVolatile(call.result)}`)
    .digest('base64');
}

function callPrint({ name, input }: WatchedCall): string {
  return `${name} ${JSON.stringify(input)}`;
}

function short(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
