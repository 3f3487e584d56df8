/**
 * `npm run conformance -- --xstate CHECKOUT [--scxml FOLDER]`: compares runs of the engine with plain actors on the machines of
 * XState's unit tests and of the SCXML tests that they name. The sources of neither are part of this repository.
 */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { causeOf } from './causes.ts';
import type { Verdict } from './compare.ts';
import { type HarvestMessage, SCXML, unfinished } from './messages.ts';

const USAGE = `Usage: npm run conformance -- --xstate CHECKOUT [OPTION ...]
  --xstate CHECKOUT   a checkout of XState's repository
  --scxml FOLDER      the unpacked package @scion-scxml/test-framework (default: without the SCXML tests)
  --only NAME         only this test file, such as transient; may be given several times
  --test WORDS        only tests whose names contain these words
  --verbose           prints each verdict
Exits with 1 if the engine differs from XState by a cause that is not documented, with 2 if it cannot begin.
`;

/** Test files without machines, and those that need packages that are not installed. */
const LEFT_OUT = /^(?:.*\.types|types|typeHelpers|json)\.test\.ts$/;
/** Limit of the time between two messages of a process: longer than a comparison may take. Milliseconds. */
const SILENCE_MS = 45_000;
const HARVEST = fileURLToPath(new URL('harvest.ts', import.meta.url));
const DIFFERENCES = 1;
const BAD_USAGE = 2;

interface Options {
  readonly checkout: string;
  /** Empty without the SCXML tests. */
  readonly framework: string;
  readonly only: readonly string[] | undefined;
  readonly words: string;
  readonly verbose: boolean;
}

interface Compared {
  readonly test: string;
  readonly verdict: Verdict;
}

const options = readOptions(process.argv.slice(2));
process.exitCode = typeof options === 'string' ? refuse(options) : await run(options);

/** @returns a text that states the fault of the arguments when there is one */
function readOptions(args: readonly string[]): Options | string {
  const known = {
    xstate: { type: 'string' },
    scxml: { type: 'string' },
    only: { type: 'string', multiple: true },
    test: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
  } as const;
  let values;
  try {
    ({ values } = parseArgs({ args: [...args], options: known }));
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n${USAGE}`;
  }
  const { xstate, scxml, only, test: words, verbose } = values;
  if (xstate === undefined)
    return 'The conformance tests need a checkout of XState: npm run conformance -- --xstate CHECKOUT [--scxml FOLDER]\n';
  for (const [folder, part] of [[xstate, 'packages/core/test'] as const, ...(scxml ? [[scxml, 'test'] as const] : [])])
    if (!existsSync(path.join(folder, part))) return `Folder '${folder}' has no folder ${part}.\n${USAGE}`;
  return { checkout: path.resolve(xstate), framework: scxml ? path.resolve(scxml) : '', only, words, verbose };
}

function refuse(fault: string): number {
  process.stderr.write(fault);
  return BAD_USAGE;
}

async function run({ checkout, framework, only, words, verbose }: Options): Promise<number> {
  const begunAt = performance.now();
  const files = readdirSync(path.join(checkout, 'packages/core/test'))
    .filter((name) => name.endsWith('.test.ts') && !LEFT_OUT.test(name))
    .filter((name) => framework !== '' || name !== SCXML)
    .filter((name) => only === undefined || only.includes(name.replace('.test.ts', '')));
  // A folder in memory saves the wait for the disk at each commit.
  const folder = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'conformance-'));
  const results: Compared[] = [];
  const faults: string[] = [];
  const add = (compared: Compared): void => {
    results.push(compared);
    if (verbose) say(`${compared.test}  ${JSON.stringify(compared.verdict)}`);
  };
  try {
    for (const file of files) {
      let next: Next | null = { first: 0 };
      while (next !== null && 'first' in next) {
        next = await harvest([checkout, framework, file, folder, String(next.first), words], add);
      }
      if (next !== null) faults.push(`${file} ${next.fault}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const code = report(results, faults);
  say(`${files.length} files in ${Math.round((performance.now() - begunAt) / 1_000)} s`);
  return code;
}

/** The test from which the rest of a file is harvested, or the reason why it cannot be. */
type Next = { readonly first: number } | { readonly fault: string };

/**
 * Harvests one file in a process of its own, which is killed when it sends nothing for {@link SILENCE_MS}.
 * @returns `null` when the file is finished
 */
function harvest(args: readonly string[], add: (compared: Compared) => void): Promise<Next | null> {
  const child = fork(HARVEST, args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors = `${errors}${text}`.slice(-500)));
  let current: Exclude<HarvestMessage, { kind: 'compared' }> | null = null;
  const kill = (): void => void child.kill('SIGKILL');
  let limit = setTimeout(kill, SILENCE_MS);
  child.on('message', (message: HarvestMessage) => {
    clearTimeout(limit);
    limit = setTimeout(kill, SILENCE_MS);
    if (message.kind === 'compared') add(message);
    else current = message;
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (code === 0) return resolve(null);
      if (signal !== 'SIGKILL' || current === null)
        return resolve({ fault: `ended with ${code ?? signal}: ${errors.trim()}` });
      const { kind, index, test } = current;
      const verdict =
        kind === 'comparing'
          ? unfinished(`the comparison blocked its process for ${SILENCE_MS / 1_000} s`)
          : ({ kind: 'not comparable', why: 'the test does not end without its assertions' } as const);
      add({ test, verdict });
      return resolve({ first: index + 1 });
    });
  });
}

function report(results: readonly Compared[], faults: readonly string[]): number {
  const isScxml = ({ test }: Compared): boolean => test.startsWith(SCXML);
  for (const [title, part] of [
    ['SCXML', results.filter(isScxml)],
    ['unit tests', results.filter((each) => !isScxml(each))],
  ] as const) {
    if (part.length === 0) continue;
    const steps = part.reduce((sum, { verdict }) => sum + (verdict.kind === 'identical' ? verdict.steps : 0), 0);
    say(`${title}: ${part.length} machines, ${steps} identical steps`);
    for (const [kind, count] of counted(part, ({ verdict }) => verdict.kind)) say(`  ${kind}: ${count}`);
    for (const [why, count] of counted(part, ({ verdict }) => refusalOf(verdict))) say(`    refused, ${count}: ${why}`);
  }
  const different = results.flatMap(({ test, verdict }) => (verdict.kind === 'different' ? [{ test, verdict }] : []));
  const named = ({ verdict }: (typeof different)[number]): string | null => {
    const cause = causeOf(verdict);
    return cause && `${cause.name} (${cause.document}, ${cause.heading.replace(/^#+ /, '')})`;
  };
  for (const [cause, count] of counted(different, named)) say(`different by a documented cause, ${count}: ${cause}`);
  const defects = different.filter((each) => named(each) === null);
  for (const { test, verdict } of defects)
    say(`DIFFERENT ${test}, at ${verdict.at}: ${verdict.fields.join(', ')}: ${verdict.why}`);
  for (const fault of faults) say(`UNFINISHED ${fault}`);
  if (results.length === 0) say('No machine was compared.');
  return defects.length > 0 || faults.length > 0 || results.length === 0 ? DIFFERENCES : 0;
}

/** First reason of a refusal, without the names in it; `null` for other verdicts. */
function refusalOf(verdict: Verdict): string | null {
  if (verdict.kind !== 'refused') return null;
  const [first = ''] = verdict.why.replace(/^.*cannot be made durable: /s, '').split('; ');
  return first
    .replace(/'[^']*'/g, '…')
    .replace(/\b(context|output)[.[]\S*/, '$1.…')
    .slice(0, 120);
}

/** Items by their key, the most frequent key first; items without a key are left out. */
function counted<Item>(items: readonly Item[], keyOf: (item: Item) => string | null): readonly [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
