/** Carries out `workflow check`. */
import { type CheckedWorkflow, checkWorkflows } from '../../../composition/workflow-check.ts';
import { localConfig } from '../../connection.ts';
import { EXIT } from '../../exit.ts';
import { type CliIo, note, say, sayJson } from '../../io.ts';

export interface CheckOptions {
  readonly mermaid?: boolean;
  readonly json?: boolean;
}

/** @returns 1 when a server would not start with these files */
export async function checkFiles(
  io: CliIo,
  names: readonly string[],
  { mermaid, json }: CheckOptions,
): Promise<number> {
  const { dataFolder } = localConfig(io);
  const check = await checkWorkflows({ names, folder: io.cwd, dataFolder });
  if (json) sayJson(io, check, 2);
  else {
    for (const fault of check.faults) note(io, fault);
    for (const workflow of check.workflows)
      if (!mermaid) say(io, lineOf(workflow));
      else io.stdout.write(`%% ${workflow.name}\n${workflow.mermaid}\n`);
  }
  return check.faults.length === 0 ? EXIT.done : EXIT.notDone;
}

function lineOf({ name, versions, states, gates, signals, activities, childRuns }: CheckedWorkflow): string {
  const listed = (what: string, names: readonly string[]) => `${what} ${names.join(', ') || 'none'}`;
  return [
    `${name} ${listed(versions.length === 1 ? 'version' : 'versions', versions.map(String))}`,
    `${states.length} states`,
    listed('gates', gates),
    listed('signals', signals),
    listed('activities', activities),
    ...(childRuns.length === 0 ? [] : [listed('child runs of', childRuns)]),
  ].join('; ');
}
