/**
 * Writes what a test runner says of its tests into the report of the check, one JSON object a line.
 * Runs inside the sandbox, in whatever Node the project uses: plain CommonJS without a dependency.
 */
'use strict';

const file = process.env['AUTONOMOUS_TEST_REPORT'];
// As they were before any code of the project ran.
const { appendFileSync, realpathSync } = require('node:fs');
const path = require('node:path');
const relative = path.relative.bind(path);
const resolve = path.resolve.bind(path);
const { stringify } = JSON;
const root = rootOf(process.env['AUTONOMOUS_TEST_ROOT']);
let sessions = 0;

/** A run of a runner, from its start to its end; one that does not come to `end` did not finish. */
exports.session = (runner) => {
  const run = `${process.pid}.${(sessions += 1)}`;
  const write = (entry) => {
    if (file === undefined) return;
    try {
      appendFileSync(file, `${stringify({ run, runner, ...entry })}\n`);
    } catch {
      // A report that cannot be written is one without an end: a person is told.
    }
  };
  const files = new Set();
  const holdsTests = (at) => {
    if (!at || files.has(at)) return;
    files.add(at);
    write({ event: 'file', path: relative(root, resolve(at)) });
  };
  write({ event: 'start' });
  return {
    /** `at` is the file that holds the test, where that is known: `testFile` may be relative to a folder of the runner's own. */
    test: (name, testFile, outcome, at = testFile) => {
      holdsTests(at);
      write({ event: 'test', name, file: testFile, outcome });
    },
    tampered: (what) => write({ event: 'tampered', what }),
    end: () => write({ event: 'end' }),
  };
};

/** The folder that the check began in: a runner may be started in a folder below. */
function rootOf(given) {
  try {
    return realpathSync(given ?? process.cwd());
  } catch {
    return process.cwd();
  }
}
