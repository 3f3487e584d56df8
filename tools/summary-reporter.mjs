/**
 * Vitest reporter for tools/test.mjs: writes what passed, failed and was skipped, with the reasons,
 * as JSON to the file that AUTONOMOUS_TEST_SUMMARY names.
 */
import { writeFileSync } from 'node:fs';

export default class SummaryReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state) => tests.filter((test) => test.result().state === state);
    const failed = [
      ...inState('failed').map((test) => named(nameOf(test), test.result().errors)),
      ...inState('pending').map((test) => `${nameOf(test)} (did not finish)`),
      // A module can fail without a failing test: its import threw, a hook failed or its process died.
      ...modules
        .filter((module) => !module.ok() && inState('failed').every((test) => test.module !== module))
        .map((module) => named(pathOf(module), errorsOf(module))),
      ...unhandledErrors.map((error) => `unhandled error: ${error.message} ${error.cause?.message ?? ''}`.trim()),
    ];
    const skipped = inState('skipped').map((test) => ({ name: nameOf(test), reason: reasonOf(test) }));
    const summary = { passed: inState('passed').length, failed, skipped };
    writeFileSync(process.env.AUTONOMOUS_TEST_SUMMARY, JSON.stringify(summary));
  }
}

function nameOf(test) {
  return `${pathOf(test.module)} > ${test.fullName}`;
}

function pathOf(module) {
  return `${module.project.name}/${module.relativeModuleId}`;
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
