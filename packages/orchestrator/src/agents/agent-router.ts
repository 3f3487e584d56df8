/** Sends each call to the agent that its model id names: `acp:<name>` to an external one, everything else to the tool loop. */
import type { Agent } from './agent.ts';

/** Prefix of an external agent's name in a model id. */
export const ACP_PREFIX = 'acp:';

/** @param agents the second is asked for with the first call to an external agent: most servers have none */
export function createAgentRouter(agents: { readonly toolLoop: Agent; readonly acp: () => Promise<Agent> }): Agent {
  let acp: Promise<Agent> | undefined;
  const agentFor = async (model: string): Promise<Agent> =>
    model.startsWith(ACP_PREFIX) ? (acp ??= agents.acp()) : agents.toolLoop;
  return {
    name: 'router',
    needs: async (model) => (await (await agentFor(model)).needs?.(model)) ?? null,
    perform: async (request) => (await agentFor(request.model)).perform(request),
  };
}
