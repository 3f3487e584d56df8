/** A call of a role that reads the project in a read-only checkout and asks nobody. */
import { NeedsHuman, type RunConfig } from '@autonomous/shared';
import type { CallTool } from '../../agents/agent.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { CommonInput } from '../../roles/prompt-parts.ts';
import type { Role } from '../../roles/role.ts';
import { callAgent, projectFacts, promptNotes } from './agent-call.ts';
import { withReadOnlyCheckout } from './read-only-checkout.ts';
import type { ActivityTools } from '../tools.ts';
import type { Cost, Note } from '../types.ts';

export interface ReadingCallInput {
  readonly runId: string;
  readonly projectId: string;
  readonly request: string;
  readonly config: RunConfig;
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
  readonly notes: readonly Note[];
  readonly call: number;
}

export interface ReadingCall<Input extends CommonInput, Result> {
  readonly role: Role<Input, Result>;
  /** Fields of the role's own input. */
  readonly own: Omit<Input, keyof CommonInput>;
  readonly callTools: readonly CallTool[];
  /** Name of the checkout. Default: `reading`. */
  readonly folder?: string;
}

/** @throws {NeedsHuman} `agent_failed` when the agent asks a question */
export async function callReadingAgent<Input extends CommonInput, Result>(
  tools: ActivityTools,
  context: ActivityContext,
  input: ReadingCallInput,
  { role, own, callTools, folder = 'reading' }: ReadingCall<Input, Result>,
): Promise<{ readonly result: Result; readonly cost: Cost }> {
  const { outcome, cost } = await withReadOnlyCheckout(
    tools,
    context,
    { ...input, name: folder },
    async (project, work) =>
      callAgent<Input, Result>(tools, context, {
        role,
        // Together they are what the role takes; the compiler cannot follow that through a type parameter.
        input: { call: input.call, request: input.request, notes: promptNotes(input.notes), ...own } as never,
        facts: await projectFacts(tools, context, project, input, work),
        model: input.config.modelRouting[role.name] ?? '',
        config: input.config,
        work,
        notes: input.notes,
        callTools,
      }),
  );
  if (outcome.kind === 'question')
    throw new NeedsHuman('agent_failed', `The ${role.name} asked a question, which its role does not allow.`);
  return { result: outcome.result, cost };
}
