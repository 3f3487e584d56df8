/** Reporter of Jest: runs in its main process, the code under test in contexts or workers of its own. */
'use strict';
const path = require('node:path');
const { session } = require('./record.cjs');

const OUTCOMES = {
  passed: 'passed',
  failed: 'failed',
  pending: 'skipped',
  skipped: 'skipped',
  todo: 'skipped',
  disabled: 'skipped',
};

module.exports = class Reporter {
  constructor() {
    this.run = session('jest');
  }

  onTestResult(test, { testResults }) {
    for (const { fullName, status } of testResults) {
      const outcome = OUTCOMES[status];
      if (outcome !== undefined) this.run.test(fullName, path.relative(process.cwd(), test.path), outcome, test.path);
    }
  }

  onRunComplete() {
    this.run.end();
  }
};
