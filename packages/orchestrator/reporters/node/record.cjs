/**
 * Writes what a test runner says of its tests into the report of the check, one JSON object a line.
 * Runs inside the sandbox, in whatever Node the project uses: plain CommonJS without a dependency.
 */
'use strict';

const file = process.env['AUTONOMOUS_TEST_REPORT'];
// As they were before any code of the project ran.
const { appendFileSync } = require('node:fs');
const { stringify } = JSON;
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
  write({ event: 'start' });
  return {
    test: (name, testFile, outcome) => write({ event: 'test', name, file: testFile, outcome }),
    tampered: (what) => write({ event: 'tampered', what }),
    end: () => write({ event: 'end' }),
  };
};
