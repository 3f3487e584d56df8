/** The port to agents: who carries out a role with a model, tools in a sandbox and a result of a given shape. */
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
  /** `provider:model`, a bare name that resolves to one, or `acp:<name>` for an external agent. */
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
  /** What of it is in `prompt` already: an agent that goes on with an earlier attempt's session is given that alone. */
  readonly said?: readonly string[];
  /** Absent: what it costs is only in the outcome. */
  readonly meter?: CallMeter;
  /** What people answered in this run, as the prompt has it: `Question: …\nAnswer: …`, oldest first. */
  readonly answers?: readonly string[];
  /**
   * What the agent gave to `keep` in an earlier attempt of this activity whose files and HOME are still in the sandbox;
   * absent or `null`: there was none, and the files are those of the last commit.
   */
  readonly kept?: JsonValue;
  /** Stores what a later attempt needs to go on; the newest wins. It survives the server. */
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

/** What an agent's own program needs of the sandbox. */
export interface AgentNeeds extends Pick<SandboxSpec, 'readOnly'> {
  /** Hosts that it has to reach, as entries of an allow-list. */
  readonly allow: readonly string[];
}

export interface Agent {
  /** `tool-loop`, `acp`, or `router`, which has both. */
  readonly name: string;
  /**
   * What the sandbox of a call has to have for the agent itself; absent or `null`: nothing.
   * @throws {NeedsHuman} `model_unavailable` when there is no such agent
   */
  readonly needs?: (model: string) => Promise<AgentNeeds | null>;
  /**
   * Carries out one fresh call of a role. No partial result is ever returned.
   * @throws {RetryableFailure} when the model failed in a way that time may mend (`model_unavailable`, `rate_limited`)
   * @throws {NeedsHuman} when it cannot go on without a person (missing key, no usable result after its own retries)
   */
  perform<Result>(request: AgentRequest<Result>): Promise<AgentOutcome<Result>>;
}
