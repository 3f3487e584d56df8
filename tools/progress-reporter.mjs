/**
 * Vitest reporter of tools/test.mjs: prints a line for each test file with its number of all, and the errors at the end. Keeps what
 * passed, failed and was skipped so far, with the reasons, as JSON in the file that AUTONOMOUS_TEST_RESULTS names.
 */
import { writeFileSync } from 'node:fs';
import { DefaultReporter } from 'vitest/node';

/** With so few files, each test is shown. */
const FILES_SHOWN_WHOLE = 3;

export default class ProgressReporter extends DefaultReporter {
  #total = 0;
  #results;

  onTestRunStart(specifications) {
    super.onTestRunStart(specifications);
    this.#total = specifications.length;
    this.#results = { passed: 0, failed: [], skipped: [], files: [] };
    this.#keep();
  }

  onTestModuleEnd(module) {
    const tests = [...module.children.allTests()];
    const inState = (state) => tests.filter((test) => test.result().state === state);
    const failed = inState('failed');
    this.#results.passed += inState('passed').length;
    this.#results.failed.push(
      ...failed.map((test) => named(nameOf(test), test.result().errors)),
      ...inState('pending').map((test) => `${nameOf(test)} (did not finish)`),
      // A module can fail without a failing test: its import threw, a hook failed or its process died.
      ...(failed.length === 0 && !module.ok() ? [named(pathOf(module), errorsOf(module))] : []),
    );
    this.#results.skipped.push(
      ...inState('skipped')
        .filter((test) => this.#isWanted(test))
        .map((test) => ({ name: nameOf(test), reason: reasonOf(test) })),
    );
    this.#results.files.push({ name: pathOf(module), seconds: secondsOf(module) });
    this.#keep();
    super.onTestModuleEnd(module);
  }

  printTestModule(module) {
    if (this.#total <= FILES_SHOWN_WHOLE) super.printTestModule(module);
    const tests = [...module.children.allTests()].length;
    const { files } = this.#results;
    const counted = `${String(files.length).padStart(String(this.#total).length)} of ${this.#total}`;
    const result = module.ok() ? '' : '  FAILED';
    this.log(`${counted}  ${pathOf(module)}  ${tests} tests, ${secondsOf(module).toFixed(1)} s${result}`);
  }

  onTestRunEnd(modules, unhandledErrors, reason) {
    super.onTestRunEnd(modules, unhandledErrors, reason);
    this.#results.failed.push(
      ...unhandledErrors.map((error) => `unhandled error: ${error.message} ${error.cause?.message ?? ''}`.trim()),
    );
    this.#keep();
  }

  /** A test that `-t` left out was not skipped. */
  #isWanted(test) {
    return this.ctx.config.testNamePattern?.test(test.fullName.replaceAll(' > ', ' ')) ?? true;
  }

  #keep() {
    writeFileSync(process.env.AUTONOMOUS_TEST_RESULTS, JSON.stringify({ total: this.#total, ...this.#results }));
  }
}

function nameOf(test) {
  return `${pathOf(test.module)} > ${test.fullName}`;
}

function pathOf(module) {
  return `${module.project.name}/${module.relativeModuleId}`;
}

/** Seconds of one worker: its start, the imports and the tests. */
function secondsOf(module) {
  const { prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  return (prepareDuration + collectDuration + setupDuration + duration) / 1_000;
}

/** @returns `name`, with the first line of the first error */
function named(name, errors = []) {
  const [line = ''] = (errors[0]?.message ?? '').split('\n');
  return line === '' ? name : `${name}: ${line.slice(0, 300)}`;
}

/** @returns the errors of the module and of its suites, such as those of a hook */
function errorsOf(module) {
  return [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
}

function reasonOf(test) {
  if (test.options.mode === 'todo') return 'it is still to be written';
  return test.result().note ?? 'no reason given (say one with `context.skip(reason)`)';
}
