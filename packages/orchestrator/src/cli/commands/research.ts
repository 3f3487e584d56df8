/** The command `research`: researches a topic and follows the run. */
import { collectModels, type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { type DocumentOptions, documentConfigOf } from '../document-config.ts';
import { UsageError } from '../exit.ts';
import { followStarted } from '../follow-started.ts';
import { type CliIo, say } from '../io.ts';
import { findProject, launchOn } from '../project.ts';
import { addEnd } from '../run-end.ts';

const WORKFLOW = 'research';

interface ResearchOptions extends JsonOptions, DocumentOptions {
  readonly project?: string;
  readonly researchers?: number;
  readonly analysts?: number;
  readonly rounds?: number;
  readonly quietRounds?: number;
  readonly newFindings?: number;
  readonly detach?: boolean;
}

export function addResearch(line: CommandLine): void {
  const command = line
    .client('research <topic> [request...]', 'researches a topic in rounds and writes a report with its sources')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--researchers <count>', 'agents that search the web in each round; else 3', numberFrom(1, 5))
    .option('--analysts <count>', 'agents that read the project in each round; else 1', numberFrom(0, 2))
    .option('--rounds <count>', 'rounds at most; else 30', numberFrom(1, 100))
    .option('--quiet-rounds <count>', 'ends after so many rounds that bring little; else 3', numberFrom(1, 10))
    .option('--new-findings <count>', 'a round with fewer new findings brings little; else 2', numberFrom(1, 20))
    .option('--review', 'asks you about the report before it is published');
  addEnd(command, 'when the report is written')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(
      line.ending((topic: string, request: string[], options: ResearchOptions) =>
        research(line.io, topic, request.join(' '), options),
      ),
    );
}

async function research(io: CliIo, topic: string, request: string, options: ResearchOptions): Promise<number> {
  if (request.trim() === '')
    throw new UsageError(`Say what is to be found out: ${io.program} research "${topic}" "Your question"`);
  const config = await documentConfigOf(io, options);
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const { researchers, analysts, rounds: maxRounds, quietRounds, newFindings } = options;
  const limits = { researchers, analysts, maxRounds, quietRounds, newFindings };
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  const launched = await launchOn(client, io, project, {
    workflow: WORKFLOW,
    request,
    config,
    input: { topic, ...given },
  });
  if (!options.json && !options.detach) say(io, `run ${launched.id} on ${project.name}: research on ${topic}`);
  return followStarted(io, client, launched, project.name, options);
}
