/** The command `verify`: checks every stored event of a database against its hash chain, also beside a running server. */
import { type DatabaseFault, verifyDatabase } from '../event-store/sqlite/integrity/verify-database.ts';
import { databaseOf } from './database.ts';
import { EXIT } from './exit.ts';
import { type CliIo, say } from './io.ts';

export interface VerifyOptions {
  readonly data?: string;
}

/** Prints a line a fault and then the counts. @returns 1 when there is a fault */
export async function verify(io: CliIo, { data }: VerifyOptions): Promise<number> {
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
