/** The command `verify`: checks every stored event of a database against its hash chain, also beside a running server. */
import type { DatabaseFault } from '../../event-store/sqlite/integrity/verify-database.ts';
import type { CommandLine } from '../command-line.ts';
import { databaseOf } from '../database.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, say } from '../io.ts';

interface VerifyOptions {
  readonly data?: string;
}

export function addVerify(line: CommandLine): void {
  line
    .command('verify', 'checks every stored event; a server may be running')
    .option('--data <folder>', "the server's data folder (AUTONOMOUS_DATA)")
    .action(line.ending((options: VerifyOptions) => verify(line.io, options)));
}

/** Prints a line a fault and then the counts. @returns 1 when there is a fault */
async function verify(io: CliIo, { data }: VerifyOptions): Promise<number> {
  // Loaded when needed: a client needs no database.
  const { verifyDatabase } = await import('../../event-store/sqlite/integrity/verify-database.ts');
  const check = verifyDatabase(databaseOf(io, data));
  let faults = 0;
  for await (const fault of check) {
    faults += 1;
    say(io, lineOf(fault));
  }
  const { runs, events } = check.counts;
  say(io, `${runs} runs, ${events} events, ${faults} faults`);
  return faults === 0 ? EXIT.done : EXIT.notDone;
}

function lineOf({ runId, sequence, message }: DatabaseFault): string {
  const what = runId === null ? 'the database' : `run ${runId}`;
  return `${what}${sequence === null ? '' : `, event ${sequence}`}: ${message}`;
}
