/** Port to agents: they perform a role with a model and tools in a sandbox, and return a result of a given schema. */
import type { JsonValue, Progress, Question } from '@autonomous/shared';
import type { z } from 'zod';
import type { CallUsage } from '../models/model.ts';
import type { ToolName } from '../roles/role.ts';
import type { Sandbox, SandboxSpec } from '../sandboxes/sandbox.ts';

export interface AgentUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly calls: number;
}

/** Reserves and settles the cost of an agent's model requests in the run's log. No request is sent without a reservation. */
export interface CallMeter {
  /**
   * Reserves the maximum cost of a request. Must be called before each request to a model, including repeated ones.
   * @param model full id, `provider:model`
   * @param most maximum usage of the request
   * @returns when the reservation is on disk
   * @throws {NeedsHuman} `budget` when a budget is used up; the request must not be sent then
   */
  reserve(model: { readonly id: string; readonly scripted: boolean }, most: CallUsage): Promise<ReservedCall>;
}

export interface ReservedCall {
  /**
   * Replaces the reservation by the real usage. Must be called once. A lost call keeps its reservation.
   * @param toolCalls number of tool calls in the answer. Default 0
   * @throws {NeedsHuman} `budget` when the run may not make so many tool calls; none must be made then
   */
  settle(usage: CallUsage, toolCalls?: number): Promise<void>;
}

/** A tool outside of the sandbox that a model may call. */
export interface CallTool {
  readonly name: string;
  readonly description: string;
  /** JSON schema. */
  readonly inputSchema: object;
  /** Calls the tool. Throws when `signal` is aborted, and for what a person must do; other failures are returned for the model. */
  call(input: unknown, signal: AbortSignal): Promise<{ readonly ok: boolean; readonly text: string }>;
}

export interface AgentRequest<Result> {
  readonly runId: string;
  /** Activity key; also names the transcript. */
  readonly key: string;
  readonly role: string;
  /** `provider:model`, a bare name that resolves to one, or `acp:<name>` for an external agent. */
  readonly model: string;
  readonly instructions: string;
  readonly prompt: string;
  readonly tools: readonly ToolName[];
  /** Allowed MCP tools, `server__tool` or `server__*`. Absent: all that the role has. */
  readonly outsideTools?: readonly string[];
  /** Tools of this call beside `tools`. External agents cannot have them. Default: none. */
  readonly callTools?: readonly CallTool[];
  readonly resultSchema: z.ZodType<Result>;
  readonly sandbox: Sandbox;
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** Returns messages of people since its last call, oldest first. Absent: the call accepts no messages. */
  readonly messages?: () => Promise<readonly { readonly by: string; readonly text: string }[]>;
  /** Messages that `prompt` already contains. An agent that resumes an earlier session gets only these. */
  readonly said?: readonly string[];
  /** Absent: usage is only reported in the outcome. */
  readonly meter?: CallMeter;
  /** Answers of people in this run, as in the prompt: `Question: …\nAnswer: …`, oldest first. */
  readonly answers?: readonly string[];
  /**
   * State that an earlier attempt of this activity passed to `keep`, if its files and HOME are still in the sandbox.
   * Absent or `null`: there is none, and the files are those of the last commit.
   */
  readonly kept?: JsonValue;
  /** Stores state for a later attempt, also across server restarts. The newest replaces older ones. */
  readonly keep?: (state: JsonValue) => void;
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

/** Requirements of an agent's own program on the sandbox. */
export interface AgentNeeds extends Pick<SandboxSpec, 'readOnly'> {
  /** Hosts that it must reach, as entries of an allow-list. */
  readonly allow: readonly string[];
}

export interface Agent {
  /** `tool-loop`, `acp`, or `router`, which chooses between them by model id. */
  readonly name: string;
  /**
   * Returns the agent's requirements on the sandbox of a call. Absent or `null`: none.
   * @throws {NeedsHuman} `model_unavailable` when there is no such agent
   */
  readonly needs?: (model: string) => Promise<AgentNeeds | null>;
  /**
   * Performs one call of a role. Never returns a partial result.
   * @throws {RetryableFailure} when a later attempt may succeed (`model_unavailable`, `rate_limited`)
   * @throws {NeedsHuman} when a person must act (missing key, no valid result after its own retries)
   */
  perform<Result>(request: AgentRequest<Result>): Promise<AgentOutcome<Result>>;
}
