/** Reports the tests of a Mocha runner, which shares its process with the code under test. */
'use strict';
const path = require('node:path');
const { createRequire } = require('node:module');
const guard = require('./guard.cjs');

exports.listen = (runner, report) => {
  const classes = [runner.constructor, Object.getPrototypeOf(runner.constructor), runner.suite.constructor];
  for (const each of classes)
    if (typeof each === 'function' && each.prototype) guard.watch(`mocha ${each.name}`, each.prototype);
  const nameOf = (test) => (typeof test.fullTitle === 'function' ? test.fullTitle() : String(test.title));
  const fileOf = (test) => path.relative(process.cwd(), test.file ?? '');
  let guarded = false;
  const outcome = (name) => (test) => {
    // Its own class is known with the first test alone.
    if (!guarded) {
      guarded = true;
      const own = Object.getPrototypeOf(Object.getPrototypeOf(test) ?? {});
      if (own !== null && typeof own.run === 'function') guard.watch('mocha Runnable', own);
    }
    report.test(nameOf(test), fileOf(test), name, test.file ?? '');
  };
  runner.on('pass', outcome('passed'));
  runner.on('pending', outcome('skipped'));
  runner.on('fail', (test) => {
    if (test.type === 'test') outcome('failed')(test);
  });
  runner.on('end', () => {
    compareDeclarations();
    for (const what of replaced) report.tampered(what);
    for (const what of guard.changes(assertionsOfChai())) report.tampered(what);
    report.end();
  });
};

const DECLARES = [
  'it',
  'test',
  'specify',
  'describe',
  'context',
  'suite',
  'before',
  'beforeEach',
  'after',
  'afterEach',
];
let declared = null;
const replaced = new Set();
const watchedSuites = new WeakSet();

/** Mocha lays the functions that declare tests out anew for each file: what stands there after it must be what it laid. */
exports.watchDeclarations = (suite) => {
  compareDeclarations();
  if (watchedSuites.has(suite)) return;
  watchedSuites.add(suite);
  // Before Mocha's own listeners lay them out anew, and after.
  suite.prependListener('pre-require', compareDeclarations);
  suite.on('pre-require', (context) => {
    declared = DECLARES.map((name) => [context, name, context[name]]);
  });
};

function compareDeclarations() {
  for (const [context, name, value] of declared ?? []) if (context[name] !== value) replaced.add(`mocha ${name}`);
}

/** Those of Chai that have to throw; none where the project has no Chai. */
function assertionsOfChai() {
  let chai;
  try {
    chai = createRequire(path.join(process.cwd(), 'x.js'))('chai');
  } catch {
    return [];
  }
  const { assert, expect } = chai;
  return [
    () => assert.equal(1, 2),
    () => assert.strictEqual(1, 2),
    () => assert.deepEqual({ a: 1 }, { a: 2 }),
    () => assert.isTrue(false),
    () => expect(1).to.equal(2),
    () => expect(false).to.be.true,
    () => expect({ a: 1 }).to.deep.equal({ a: 2 }),
    () => expect([1]).to.include(2),
  ];
}
