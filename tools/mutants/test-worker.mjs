/**
 * Process that keeps one vitest open over a tree and runs the test files that it is sent: vitest starts, and sources that did not
 * change are transformed, only once.
 *
 * Usage: fork(test-worker.mjs, [TREE, WORKERS]). Sends { ready: [test file] }. Takes { run: [test file], changed: source file } and
 * sends { started }, { ended } for each test file that passes, { failed, error } for each failure, and { done } at the end.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** A test that compares the text of sources with a pin fails for every change. */
const NO_PINS = /^(?!.*is made of the sources that are pinned)/;

const [tree, workers] = process.argv.slice(2);
const api = createRequire(path.join(tree, 'package.json')).resolve('vitest/node');
const { createVitest } = await import(pathToFileURL(api).href);
const inTree = (file) => path.relative(tree, file);
const fail = (file, [error] = []) =>
  process.send({ failed: inTree(file), error: error?.message?.slice(0, 300) ?? 'without a message' });
let order = [];
/** Test files of this run that have begun. */
const begun = new Set();

class AsSent {
  sort(specifications) {
    const placeOf = ({ moduleId }) => order.indexOf(inTree(moduleId));
    return specifications.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
  shard(specifications) {
    return specifications;
  }
}

const reporter = {
  onTestModuleQueued({ moduleId }) {
    begun.add(moduleId);
    process.send({ started: inTree(moduleId) });
  },
  onTestCaseResult(test) {
    if (test.result().state === 'failed') fail(test.module.moduleId, test.result().errors);
  },
  onTestModuleEnd(module) {
    if (module.state() === 'passed') process.send({ ended: inTree(module.moduleId) });
    if (module.state() !== 'failed') return;
    fail(
      module.moduleId,
      [module, ...module.children.allSuites()].flatMap((suite) => suite.errors()),
    );
  },
  onTestRunEnd(_, unhandled) {
    for (const error of unhandled) if (error.VITEST_TEST_PATH) fail(error.VITEST_TEST_PATH, [error]);
  },
};

process.chdir(tree);
const options = { root: tree, watch: false, bail: 1, maxWorkers: Number(workers), reporters: [reporter] };
const vitest = await createVitest('test', { ...options, sequence: { sequencer: AsSent } });
vitest.setGlobalTestNamePattern(NO_PINS);
const found = await vitest.globTestSpecifications();
const specifications = new Map(found.map((specification) => [inTree(specification.moduleId), specification]));
process.on('disconnect', () => process.exit());
process.on('message', async ({ run, changed }) => {
  order = run;
  begun.clear();
  vitest.invalidateFile(changed);
  const { testModules } = await vitest.runTestSpecifications(run.map((file) => specifications.get(file)));
  // The first failure ends the run, and may do so before it was reported. Modules of earlier runs are listed, too.
  for (const module of testModules) if (begun.has(module.moduleId) && !module.ok()) fail(module.moduleId);
  process.send({ done: true });
});
process.send({ ready: [...specifications.keys()] });
