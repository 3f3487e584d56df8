/** Sends each call to the agent that its model id names: `acp:<name>` to an external one, everything else to the tool loop. */
import { ACP_PREFIX } from './acp.ts';
import type { Agent } from './agent.ts';

export function createAgentRouter(agents: { readonly toolLoop: Agent; readonly acp: Agent }): Agent {
  const agentFor = (model: string): Agent => (model.startsWith(ACP_PREFIX) ? agents.acp : agents.toolLoop);
  return {
    name: 'router',
    needs: async (model) => (await agentFor(model).needs?.(model)) ?? null,
    perform: (request) => agentFor(request.model).perform(request),
  };
}
