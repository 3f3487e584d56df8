/** The command `research-and-plan`: researches a topic, makes an implementation plan of it and follows the run. */
import { collectModels, type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { type DocumentOptions, documentConfigOf } from '../document-config.ts';
import { UsageError } from '../exit.ts';
import { followStarted } from '../follow-started.ts';
import { type CliIo, say } from '../io.ts';
import { findProject, launchOn } from '../project.ts';
import { addEnd } from '../run-end.ts';

const WORKFLOW = 'research-and-plan';

interface PlanOptions extends JsonOptions, DocumentOptions {
  readonly project?: string;
  readonly researchers?: number;
  readonly analysts?: number;
  readonly researchRounds?: number;
  readonly quietRounds?: number;
  readonly newFindings?: number;
  readonly rounds?: number;
  readonly stableRounds?: number;
  readonly detach?: boolean;
}

export function addResearchAndPlan(line: CommandLine): void {
  const command = line
    .client('research-and-plan <topic> [request...]', 'researches a topic and makes an implementation plan of it')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
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
  addEnd(command, 'when the plan is done')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(
      line.ending((topic: string, request: string[], options: PlanOptions) =>
        researchAndPlan(line.io, topic, request.join(' '), options),
      ),
    );
}

async function researchAndPlan(io: CliIo, topic: string, request: string, options: PlanOptions): Promise<number> {
  if (request.trim() === '')
    throw new UsageError(`Say what is to be planned: ${io.program} research-and-plan "${topic}" "Your request"`);
  const config = await documentConfigOf(io, options);
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const { researchers, analysts, researchRounds, quietRounds, newFindings, rounds: maxRounds, stableRounds } = options;
  const limits = { researchers, analysts, researchRounds, quietRounds, newFindings, maxRounds, stableRounds };
  const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
  const launched = await launchOn(client, io, project, {
    workflow: WORKFLOW,
    request,
    config,
    input: { topic, ...given },
  });
  if (!options.json && !options.detach) say(io, `run ${launched.id} on ${project.name}: a plan for ${topic}`);
  return followStarted(io, client, launched, project.name, options);
}
