#!/usr/bin/env node
/**
 * Mutation tests: draws small changes of what the code decides, makes one at a time in a copy of the tree, and runs the tests that
 * can reach it, the quick and near ones first, until one fails. A mutant that no test notices is a gap in the tests.
 *
 * Usage: node tools/mutants.mjs [--seed SEED] [--group NAME] [--count N] [--from FILE [--unkilled]] [--tree DIR] [--out DIR]
 *                               [--workers N] [--seconds N] [--report]
 *   --from FILE  takes the mutants of these results; with --unkilled only those that no test noticed
 *   --tree DIR   makes the mutants in the last commit of another checkout, found by their text
 *   --out DIR    keeps copies, durations and results (default .mutants), so that a run that was stopped goes on
 *   --seconds N  gives each mutant this time (default 60)
 *   --report     prints what is known, and runs nothing
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { distancesTo, readImportGraph } from './import-graph.mjs';
import { drawMutants, GROUPS, placeMutant } from './mutants/places.mjs';
import { reportOf } from './mutants/report.mjs';
import { createTestRunner } from './mutants/test-runner.mjs';

/** Quick tests have this part of a mutant's time before the slow ones, which `npm test` leaves out, begin. */
const QUICK_PART = 2 / 3;
/** A test file that has run for this part of the time, and for four times as long as it needs, is taken to be endless. */
const HANGING_PART = 1 / 3;
/** Seconds that a test file is taken to need before it was seen. */
const UNKNOWN_SECONDS = 2;
/** These judge the text of sources, so that any change may make them fail. */
const JUDGES_OF_TEXT = /\/(?:planted-bugs|planted-source|layers|workflow-names|docs|slow-expressions)\.test\.m?ts$/;

const root = path.dirname(import.meta.dirname);
const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    group: { type: 'string', multiple: true, default: Object.keys(GROUPS) },
    count: { type: 'string' },
    from: { type: 'string' },
    unkilled: { type: 'boolean' },
    tree: { type: 'string', default: root },
    out: { type: 'string', default: path.join(root, '.mutants') },
    workers: { type: 'string', default: String(availableParallelism() + 1) },
    seconds: { type: 'string', default: '60' },
    report: { type: 'boolean' },
  },
});
const given = (file) => path.resolve(process.env.AUTONOMOUS_CWD ?? '.', file);
const out = given(options.out);
const limit = Number(options.seconds);
const commit = git(given(options.tree), 'rev-parse', '--short=12', 'HEAD').trim();
const resultsFile = path.join(out, `results-${commit}.jsonl`);
const costsFile = path.join(out, 'seconds.json');
const costs = existsSync(costsFile) ? JSON.parse(readFileSync(costsFile, 'utf8')) : {};

const mutants = options.from
  ? readResults(given(options.from)).filter(({ by }) => !options.unkilled || !by)
  : options.group.flatMap((group) => drawMutants(root, group, options.seed, options.count && Number(options.count)));
const ids = new Set(mutants.map(({ id }) => id));
const known = readResults(resultsFile).filter(({ id }) => ids.has(id));
if (!options.report) await runMutants(mutants.filter(({ id }) => known.every((result) => result.id !== id)));
console.log(`Results: ${resultsFile}\n${reportOf(known, mutants.length)}`);

async function runMutants(left) {
  const copy = copyOf(given(options.tree));
  const graph = readImportGraph(copy);
  const { SLOW_TESTS } = await import(path.join(copy, 'tools', 'slow-tests.mjs'));
  const slow = new Map(Object.entries(SLOW_TESTS));
  const runner = createTestRunner(copy, options.workers);
  const read = (file) => readFileSync(path.join(copy, file), 'utf8');
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(runner.close() ?? 130));
  try {
    const tests = await runner.open();
    for (const mutant of left) {
      const place = placeMutant(mutant, [...graph.keys()], read);
      const result = place === null ? { status: 'absent' } : await runMutant(place);
      const { file, line, what } = mutant;
      const { status, by = '', ms = 0 } = result;
      known.push({ ...mutant, by: undefined, ...result });
      appendFileSync(resultsFile, `${JSON.stringify(known.at(-1))}\n`);
      writeFileSync(costsFile, JSON.stringify(costs, null, 1));
      console.log(
        `${known.length} of ${mutants.length}: ${status} ${file}:${line} ${what} ${by} ${Math.round(ms / 1000)} s`,
      );
    }

    async function runMutant({ file, source, mutated }) {
      const order = inOrder(tests, file);
      if (order.length === 0) return { status: 'uncovered' };
      const { durations, by, ...outcome } = await runner.run(order, {
        file: path.join(copy, file),
        source,
        mutated,
        limitMs: limit * 1000,
        isHanging: (test, ms) => ms / 1000 > Math.max(HANGING_PART * limit, 4 * (costs[test] ?? Infinity)),
      });
      for (const [test, ms] of durations) costs[test] = Math.round(ms / 100) / 10;
      return { ...outcome, ...(by && { by, quick: !slow.has(by) }), reached: order.length, passed: durations.size };
    }
  } finally {
    runner.close();
  }

  /** Quick tests that fit in their part of the time, then slow ones, then the other quick ones; of each, near and short ones first. */
  function inOrder(tests, source) {
    const distances = distancesTo(graph, [source]);
    const killers = new Set(known.flatMap(({ file, by }) => (file === source && by ? by : [])));
    const secondsOf = (test) => costs[test] ?? slow.get(test) ?? UNKNOWN_SECONDS;
    const weightOf = (test) =>
      (Math.sqrt(secondsOf(test)) * 2 ** distances.get(test) * stepsBetween(test, source)) /
      (killers.has(test) ? 8 : 1);
    const reaching = tests.filter((test) => distances.has(test) && !JUDGES_OF_TEXT.test(`/${test}`));
    const ordered = reaching.toSorted((a, b) => weightOf(a) - weightOf(b));
    let seconds = QUICK_PART * limit * Number(options.workers);
    const first = new Set(ordered.filter((test) => !slow.has(test) && (seconds -= secondsOf(test)) > 0));
    return [...new Set([...first, ...ordered.filter((test) => slow.has(test)), ...ordered])];
  }
}

/** Steps from the folder of one file to the folder of the other, and one more. */
function stepsBetween(one, other) {
  return (
    path
      .relative(path.dirname(one), path.dirname(other))
      .split(path.sep)
      .filter((step) => step !== '').length + 1
  );
}

/** @returns the folder of a clone of the checkout's last commit, with its dependencies; what was not committed is not in it */
function copyOf(checkout) {
  const folder = path.join(out, `tree-${commit}`);
  mkdirSync(out, { recursive: true });
  if (!existsSync(folder)) git(out, 'clone', '--quiet', '--no-checkout', checkout, folder);
  git(folder, 'checkout', '--quiet', '--force', '--detach', commit);
  const install = ['tools/run.mjs', 'node', '--version'];
  const { status } = spawnSync(process.execPath, install, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`The dependencies of '${folder}' cannot be installed; the messages above say why.`);
  return folder;
}

function readResults(file) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

function git(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed in '${cwd}': ${stderr}`);
  return stdout;
}
