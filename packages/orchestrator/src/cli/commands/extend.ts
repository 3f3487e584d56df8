/** The command `extend`: gives a stage more time, or a run other budgets. */
import { BUDGET_NAMES, type BudgetChange, type BudgetName } from '@autonomous/shared';
import type { CommandLine, ServerOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT, UsageError } from '../exit.ts';
import { say } from '../io.ts';
import { statusLine } from '../run-texts.ts';

/** Budgets as options of the command line give them. */
type BudgetOptions = { readonly [Name in BudgetName]?: string };

interface ExtendOptions extends ServerOptions, BudgetOptions {
  readonly gate?: string;
}

export function addExtend(line: CommandLine): void {
  line
    .client('extend <run> [minutes]', 'gives a stage more time, or a run another budget')
    .option('--gate <id>', 'the gate that was shown; refused while another one is open')
    .option(
      '--max-cost-usd <dollars>',
      'what the run and its child runs may cost from its beginning; none: without a bound',
    )
    .option('--max-tokens <count>', 'how many tokens it may use, or none')
    .option('--max-tool-calls <count>', 'how many tool calls it may make, or none')
    .option(
      '--max-tree-cost-usd <dollars>',
      'what its whole run family may cost together: child runs, forks and exploration; or none',
    )
    .option('--max-tree-tokens <count>', 'how many tokens they may use together, or none')
    .option('--max-tree-tool-calls <count>', 'how many tool calls they may make together, or none')
    .action(
      line.ending(async (runId: string, minutes: string | undefined, { server, gate, ...budgets }: ExtendOptions) => {
        const extended = await (
          await connect(line.io, server)
        ).decideOpenGate(runId, {
          decision: 'extend',
          ...extensionOf(minutes, budgets),
          ...(gate === undefined ? {} : { gateId: gate }),
        });
        say(line.io, `extended; ${statusLine(extended, line.io.program)}`);
        return EXIT.done;
      }),
    );
}

/** Payload of `extend`: minutes for a stage, or new budgets for the run. @throws {UsageError} */
function extensionOf(
  minutes: string | undefined,
  options: BudgetOptions,
): BudgetChange & { readonly minutes?: number } {
  const budgets = BUDGET_NAMES.flatMap((name) => {
    const given = options[name];
    if (given === undefined) return [];
    const value = given === 'none' ? null : Number(given);
    if (value !== null && !(value > 0))
      throw new UsageError(`'${given}' is not a valid ${name}. Give a number above 0, or none.`);
    return [[name, value] as const];
  });
  if (budgets.length === 0) {
    if (minutes === undefined)
      throw new UsageError('The minutes are missing; give them after the run, or a budget such as --max-cost-usd 20.');
    if (!(Number(minutes) > 0)) throw new UsageError(`'${minutes}' is not a number of minutes. Give a number above 0.`);
    return { minutes: Number(minutes) };
  }
  if (minutes !== undefined) throw new UsageError('Give minutes or budgets, not both.');
  return Object.fromEntries(budgets);
}
