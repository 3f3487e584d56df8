/**
 * Tries the server on real repositories: `npm run real-repositories -- --from FOLDER [--only NAME,NAME] [--json FILE]`.
 * One run at a time; everything that it makes is removed, also after Ctrl+C.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { explainError } from '../src/cli/exit.ts';
import { readOptions } from './options.ts';
import { REPOSITORIES } from './repositories.ts';
import { countOf, tableOf } from './table.ts';
import { type Try, tryRepository } from './try-repository.ts';

const LIMIT_MS = 25 * 60_000;
const INTERRUPTED = 130;

const workingFolder = process.env['AUTONOMOUS_CWD'] ?? process.cwd();
const options = readOptions(process.argv.slice(2), workingFolder);
process.exitCode = 'exitCode' in options ? options.exitCode : await main(options);

async function main({
  from,
  names,
  json,
  agent,
  variables,
}: Exclude<ReturnType<typeof readOptions>, { exitCode: number }>): Promise<number> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!interrupt.signal.aborted) say('The try under way is ended; what it made is removed.');
      interrupt.abort();
    });
  }
  const tries: Try[] = [];
  let isRefused = false;
  for (const repository of names.flatMap((name) => REPOSITORIES.find((one) => one.name === name) ?? [])) {
    if (interrupt.signal.aborted) break;
    say(`\n${repository.name} (${repository.language}, ${repository.kind})`);
    try {
      const one = await tryRepository(repository, {
        from,
        variables,
        agent,
        limitMs: LIMIT_MS,
        signal: interrupt.signal,
        tell: (text) => say(`  ${text.replaceAll('\n', '\n  ')}`),
      });
      tries.push(one);
      say(`  → ${one.outcome}${one.reason === '' ? '' : `: ${one.reason}`} (${one.totalS} s)`);
      if (json !== null) await writeFile(path.resolve(workingFolder, json), `${JSON.stringify(tries, null, 2)}\n`);
    } catch (error) {
      isRefused = true;
      say(`  not tried: ${explainError(error).message}`);
    }
  }
  process.stdout.write(`\n${tableOf(tries)}\n\n${countOf(tries)}\n`);
  if (interrupt.signal.aborted) return INTERRUPTED;
  return isRefused || tries.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
