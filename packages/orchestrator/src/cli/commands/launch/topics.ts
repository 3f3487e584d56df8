/** The commands of workflows with a topic: `research`, `research-and-plan` and `full-auto`. */
import { fullAutoCommand } from '../../../workflows/full-auto/command.ts';
import { planCommand } from '../../../workflows/research-and-plan/command.ts';
import { researchCommand } from '../../../workflows/research/command.ts';
import type { CommandLine } from '../../command-line.ts';
import { EXIT } from '../../exit.ts';
import type { Watch } from '../../follow/follow-started.ts';
import { addCommandOf, sourceOf } from '../../launch/workflow-command.ts';

export const addResearch = (line: CommandLine): void => void addCommandOf(line, sourceOf(researchCommand));
export const addResearchAndPlan = (line: CommandLine): void => void addCommandOf(line, sourceOf(planCommand));
export const addFullAuto = (line: CommandLine): void =>
  void addCommandOf(line, sourceOf(fullAutoCommand), { watch: async () => watchForLimit() });

/** Notices that the iterations are used up. */
function watchForLimit(): Watch {
  let isCutOff = false;
  return {
    onEvent: ({ type, payload }) => {
      if (type === 'FEATURES_ENDED') isCutOff = (payload as { readonly kind?: unknown }).kind === 'iterations';
    },
    end: (code, { run }) => (code === EXIT.notDone && isCutOff && run.status !== 'cancelled' ? EXIT.limit : code),
  };
}
