/** The command `research`: researches a topic and follows the run. */
import { type CommandLine, numberFrom } from '../../command-line.ts';
import { UsageError } from '../../exit.ts';
import { followStarted } from '../../follow/follow-started.ts';
import { type CliIo, say } from '../../io.ts';
import { addPlace, addTopicEnd, startTopic, type TopicOptions } from '../../launch/topic-runs.ts';

const WORKFLOW = 'research';

interface ResearchOptions extends TopicOptions {
  readonly researchers?: number;
  readonly analysts?: number;
  readonly rounds?: number;
  readonly quietRounds?: number;
  readonly newFindings?: number;
}

export function addResearch(line: CommandLine): void {
  const command = addPlace(
    line.client('research <topic> [request...]', 'researches a topic in rounds and writes a report with its sources'),
  )
    .option('--researchers <count>', 'agents that search the web in each round; else 3', numberFrom(1, 5))
    .option('--analysts <count>', 'agents that read the project in each round; else 1', numberFrom(0, 2))
    .option('--rounds <count>', 'rounds at most; else 30', numberFrom(1, 100))
    .option('--quiet-rounds <count>', 'ends after so many rounds that bring little; else 3', numberFrom(1, 10))
    .option('--new-findings <count>', 'a round with fewer new findings brings little; else 2', numberFrom(1, 20))
    .option('--review', 'asks you about the report before it is published');
  addTopicEnd(command, 'when the report is written').action(
    line.ending((topic: string, request: string[], options: ResearchOptions) =>
      research(line.io, topic, request.join(' '), options),
    ),
  );
}

async function research(io: CliIo, topic: string, request: string, options: ResearchOptions): Promise<number> {
  if (request.trim() === '')
    throw new UsageError(`Say what is to be found out: ${io.program} research "${topic}" "Your question"`);
  const { researchers, analysts, rounds: maxRounds, quietRounds, newFindings } = options;
  const input = { researchers, analysts, maxRounds, quietRounds, newFindings };
  const { client, run, project } = await startTopic(io, { workflow: WORKFLOW, topic, request, input, options });
  if (!options.json && !options.detach) say(io, `run ${run.id} on ${project}: research on ${topic}`);
  return followStarted(io, client, run, project, options);
}
