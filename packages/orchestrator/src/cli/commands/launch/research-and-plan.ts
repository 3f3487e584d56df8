/** The command `research-and-plan`: researches a topic, makes an implementation plan of it and follows the run. */
import { type CommandLine, numberFrom } from '../../command-line.ts';
import { UsageError } from '../../exit.ts';
import { followStarted } from '../../follow/follow-started.ts';
import { type CliIo, say } from '../../io.ts';
import { addPlace, addTopicEnd, startTopic, type TopicOptions } from '../../launch/topic-runs.ts';

const WORKFLOW = 'research-and-plan';

interface PlanOptions extends TopicOptions {
  readonly researchers?: number;
  readonly analysts?: number;
  readonly researchRounds?: number;
  readonly quietRounds?: number;
  readonly newFindings?: number;
  readonly rounds?: number;
  readonly stableRounds?: number;
}

export function addResearchAndPlan(line: CommandLine): void {
  const command = addPlace(
    line.client('research-and-plan <topic> [request...]', 'researches a topic and makes an implementation plan of it'),
  )
    .option('--researchers <count>', 'agents that search the web in each round; else 3', numberFrom(1, 5))
    .option('--analysts <count>', 'agents that read the project in each round; else 1', numberFrom(0, 2))
    .option('--research-rounds <count>', 'rounds of research at most; else 30', numberFrom(1, 100))
    .option(
      '--quiet-rounds <count>',
      'the research ends after so many rounds that bring little; else 3',
      numberFrom(1, 10),
    )
    .option('--new-findings <count>', 'a round with fewer new findings brings little; else 2', numberFrom(1, 20))
    .option('--rounds <count>', 'rounds of planning, after which you decide; else 40', numberFrom(1, 100))
    .option(
      '--stable-rounds <count>',
      'the plan is done after so many rounds without a blocker and without a change; else 2',
      numberFrom(1, 10),
    )
    .option(
      '--review',
      'asks you about the report before the planning begins, and about the plan before it is published',
    );
  addTopicEnd(command, 'when the plan is done').action(
    line.ending((topic: string, request: string[], options: PlanOptions) =>
      researchAndPlan(line.io, topic, request.join(' '), options),
    ),
  );
}

async function researchAndPlan(io: CliIo, topic: string, request: string, options: PlanOptions): Promise<number> {
  if (request.trim() === '')
    throw new UsageError(`Say what is to be planned: ${io.program} research-and-plan "${topic}" "Your request"`);
  const { researchers, analysts, researchRounds, quietRounds, newFindings, rounds: maxRounds, stableRounds } = options;
  const input = { researchers, analysts, researchRounds, quietRounds, newFindings, maxRounds, stableRounds };
  const { client, run, project } = await startTopic(io, { workflow: WORKFLOW, topic, request, input, options });
  if (!options.json && !options.detach) say(io, `run ${run.id} on ${project}: a plan for ${topic}`);
  return followStarted(io, client, run, project, options);
}
