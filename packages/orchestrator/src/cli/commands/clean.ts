/** The command `clean`: removes branches of runs that ended long ago. */
import type { CleanedBranches } from '@autonomous/shared';
import { type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { CommandFailure, EXIT } from '../exit.ts';
import { type CliIo, say, sayJson } from '../io.ts';
import { findProject } from '../project.ts';

interface CleanOptions extends JsonOptions {
  readonly dryRun?: boolean;
  readonly days?: number;
}

export function addClean(line: CommandLine): void {
  line
    .client('clean [project]', 'removes branches of runs that ended long ago, where nothing is lost by it')
    .option('--dry-run', 'only says what would be removed')
    .option(
      '--days <number>',
      'since the end of the run; else BRANCHES_AFTER_DAYS of the server',
      numberFrom(1, 36_500),
    )
    .option('--json', 'one JSON object')
    .action(line.ending((project: string | undefined, options: CleanOptions) => clean(line.io, project, options)));
}

async function clean(io: CliIo, given: string | undefined, options: CleanOptions): Promise<number> {
  const client = await connect(io, options.server);
  const project = await findProject(client, io, given);
  if (!('id' in project)) throw new CommandFailure(`The server has no project of ${project.repository}.`);
  const dryRun = options.dryRun === true;
  const cleaned = await client.cleanBranches(project.id, {
    dryRun,
    ...(options.days === undefined ? {} : { afterDays: options.days }),
  });
  if (options.json) sayJson(io, cleaned);
  else for (const text of linesOf(cleaned, dryRun)) say(io, text);
  return EXIT.done;
}

function linesOf({ removed, kept }: CleanedBranches, dryRun: boolean): readonly string[] {
  const verb = dryRun ? 'would be removed' : 'removed';
  const gone = removed.map(({ branch }) => `${verb}: ${branch}`);
  const rest = kept.map(({ branch, reason }) => `stays: ${branch}, because ${reason}`);
  return gone.length + rest.length === 0 ? ['There are no branches of runs.'] : [...gone, ...rest];
}
