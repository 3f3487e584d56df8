/** Reports the tests of a Mocha runner, which shares its process with the code under test, and watches what judges them. */
'use strict';
const path = require('node:path');
const { createRequire } = require('node:module');
const guard = require('./guard.cjs');

exports.listen = (runner, report) => {
  const classes = [runner.constructor, Object.getPrototypeOf(runner.constructor), runner.suite.constructor];
  for (const each of classes)
    if (typeof each === 'function' && each.prototype) guard.watch(`mocha ${each.name}`, each.prototype);
  const ran = watchBodies(runner.suite);
  const nameOf = (test) => (typeof test.fullTitle === 'function' ? test.fullTitle() : String(test.title));
  const fileOf = (test) => path.relative(process.cwd(), test.file ?? '');
  const outcome = (name) => (test) => report.test(nameOf(test), fileOf(test), name, test.file ?? '');
  // Within the hooks of the code under test: what they change for a test is changed by then, and not yet put back.
  runner.on('test', guard.look);
  runner.on('pass', (test) => {
    guard.look();
    if (!ran.has(test) && !ran.has(originalOf(test))) replaced.add('the function of a test');
    outcome('passed')(test);
  });
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

/** Looks right before and after the body of each test. Gives the tests whose bodies were called. */
function watchBodies(suite) {
  const ran = new WeakSet();
  let isClassWatched = false;
  const watchSuite = ({ tests, suites }) => {
    for (const test of tests) watchTest(test);
    for (const each of suites) watchSuite(each);
  };
  const watchTest = (test) => {
    if (!isClassWatched) {
      isClassWatched = true;
      // Its own class is known with the first test alone.
      const own = Object.getPrototypeOf(Object.getPrototypeOf(test) ?? {});
      if (own !== null && typeof own.run === 'function') guard.watch('mocha Runnable', own);
    }
    const { fn } = test;
    if (typeof fn !== 'function') return;
    const called = function (self, args) {
      ran.add(test);
      guard.look();
      const given = fn.apply(self, args);
      if (typeof given?.then === 'function') return given.then((value) => (guard.look(), value));
      guard.look();
      return given;
    };
    // Mocha counts the arguments of a function.
    const inner =
      fn.length > 0
        ? function (done) {
            return called(this, [done]);
          }
        : function () {
            return called(this, []);
          };
    inner.toString = () => fn.toString();
    test.fn = inner;
  };
  watchSuite(suite);
  return ran;
}

/** A test that is tried again is a copy of the first. */
function originalOf(test) {
  return typeof test.retriedTest === 'function' ? (test.retriedTest() ?? test) : test;
}

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
  watchChai();
  // Before Mocha's own listeners lay them out anew, and after.
  suite.prependListener('pre-require', compareDeclarations);
  suite.on('pre-require', (context) => {
    declared = DECLARES.map((name) => [context, name, context[name]]);
  });
};

function compareDeclarations() {
  for (const [context, name, value] of declared ?? []) if (context[name] !== value) replaced.add(`mocha ${name}`);
}

let isChaiWatched = false;

/** Before a file of the project is loaded; afterwards it may be too late. */
function watchChai() {
  if (isChaiWatched) return;
  isChaiWatched = true;
  const chai = chaiOfProject();
  if (chai === null) return;
  guard.watch('chai Assertion', chai.Assertion.prototype);
  guard.watch('chai assert', chai.assert);
}

/** `null` where the project has no Chai, or one that cannot be loaded here. */
function chaiOfProject() {
  try {
    const chai = createRequire(path.join(process.cwd(), 'x.js'))('chai');
    return typeof chai.Assertion === 'function' && typeof chai.assert === 'function' ? chai : null;
  } catch {
    return null;
  }
}

/** Those of Chai that have to throw. */
function assertionsOfChai() {
  const chai = chaiOfProject();
  if (chai === null) return [];
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
