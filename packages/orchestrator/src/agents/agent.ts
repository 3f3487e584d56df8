/** The port to agents: who carries out a role with a model, tools in a sandbox and a result of a given shape. */
import type { Progress, Question } from '@autonomous/shared';
import type { z } from 'zod';
import type { CallUsage } from '../models/model.ts';
import type { ToolName } from '../roles/role.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';

export interface AgentUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly calls: number;
}

/** Keeps the run's books of what an agent's requests to models cost: nothing is sent that is not booked. */
export interface CallMeter {
  /**
   * To be called before each request to a model, repeated ones included.
   * @param model full id, `provider:model`
   * @param most what the request can come to
   * @returns once it is on disk
   * @throws {NeedsHuman} `budget` when the run may spend no more; nothing may be sent then
   */
  book(model: { readonly id: string; readonly scripted: boolean }, most: CallUsage): Promise<BookedCall>;
}

export interface BookedCall {
  /**
   * Says what it came to, in place of what it can come to. To be called once; a call that is lost stays as it was booked.
   * @param toolCalls that its answer asks for
   * @throws {NeedsHuman} `budget` when the run may not make so many tool calls; none may be made then
   */
  settle(usage: CallUsage, toolCalls?: number): Promise<void>;
}

export interface AgentRequest<Result> {
  readonly runId: string;
  /** Activation key; also the transcript's name. */
  readonly key: string;
  readonly role: string;
  /** `provider:model` or a bare name that resolves to one. */
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  readonly tools: readonly ToolName[];
  /** Names of tools from outside (MCP), `server__tool` or `server__*`, that are left; absent leaves all that the role has. */
  readonly outsideTools?: readonly string[];
  readonly resultSchema: z.ZodType<Result>;
  readonly sandbox: Sandbox;
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** What people said since the last call of this function, oldest first. Absent: nobody can say anything. */
  readonly messages?: () => Promise<readonly { readonly by: string; readonly text: string }[]>;
  /** Absent: what it costs is only in the outcome. */
  readonly meter?: CallMeter;
  readonly onProgress: (progress: Pick<Progress, 'kind' | 'text' | 'data'>) => void;
}

export type AgentOutcome<Result> =
  | {
      readonly kind: 'finished';
      readonly result: Result;
      readonly usage: AgentUsage;
      readonly model: string;
      readonly scripted: boolean;
    }
  | {
      readonly kind: 'question';
      readonly question: Question;
      readonly usage: AgentUsage;
      readonly model: string;
      readonly scripted: boolean;
    };

export interface Agent {
  /** `tool-loop`, later `acp`. */
  readonly name: string;
  /**
   * Carries out one fresh call of a role. No partial result is ever returned.
   * @throws {RetryableFailure} when the model failed in a way that time may mend (`model_unavailable`, `rate_limited`)
   * @throws {NeedsHuman} when it cannot go on without a person (missing key, no usable result after its own retries)
   */
  perform<Result>(request: AgentRequest<Result>): Promise<AgentOutcome<Result>>;
}
