/**
 * Loaded into every Node process of a check by NODE_OPTIONS: adds the server's reporter to test runners, beside those of the
 * project, and listens to runners that take one alone. A process that is no test runner is left as it is.
 */
'use strict';
const path = require('node:path');
const Module = require('node:module');
const { readFileSync, realpathSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');
const { session } = require('./record.cjs');
const guard = require('./guard.cjs');

/** Names the process that starts the test files: what a test starts has the variables of its file, and another parent. */
const RUNNER = 'AUTONOMOUS_TEST_RUNNER';
const isWithinNodeTest = (process.env['NODE_TEST_CONTEXT'] ?? '').startsWith('child');
const isFileOfNodeTest = isWithinNodeTest && isMainThread && process.env[RUNNER] === String(process.ppid);
if (!isWithinNodeTest && isMainThread) process.env[RUNNER] = String(process.pid);

const isWithTests = !isWithinNodeTest && (process.execArgv.includes('--test') || declaresTests(process.argv[1]));

if (isFileOfNodeTest) guardFile();
else if (isWithTests) startAgain();
else if (!isWithinNodeTest && isMainThread) addReporters();
listenToMocha();
guard.watchLoading();
// Where the tests run in this process, and not in one for each file.
if (isWithTests && (!process.execArgv.includes('--test') || process.execArgv.some(isWithoutIsolation)))
  guard.watchNodeTest();
Object.defineProperty(globalThis, Symbol.for('autonomous.guard'), {
  value: Object.freeze({ look: guard.look, changes: guard.changes }),
});

function isWithoutIsolation(option) {
  return /^--(experimental-)?test-isolation=none$/.test(option);
}

/** A file of `node --test`, in the process where the code under test runs too. */
function guardFile() {
  guard.watchNodeTest();
  const file = session('node:test file');
  process.on('exit', () => {
    for (const what of guard.changes()) file.tampered(what);
    file.end();
  });
}

/**
 * Starts this process anew with our reporter beside the project's own, which cannot be had in NODE_OPTIONS: there, Node counts
 * reporters and destinations together with those of the command line.
 */
function startAgain() {
  const { spawnSync } = require('node:child_process');
  const ours = `--test-reporter=${path.join(__dirname, 'node-test-reporter.mjs')}`;
  if (process.execArgv.includes(ours)) return;
  const reporters = process.execArgv.filter(
    (option) => option === '--test-reporter' || option.startsWith('--test-reporter='),
  ).length;
  const destinations = process.execArgv.filter((option) => option.startsWith('--test-reporter-destination')).length;
  const theirs = [
    ...(reporters === 0
      ? [`--test-reporter=${Number(process.versions.node.split('.')[0]) >= 20 ? 'spec' : 'tap'}`]
      : []),
    ...(reporters <= 1 && destinations === 0 ? ['--test-reporter-destination=stdout'] : []),
  ];
  const options = [...process.execArgv, ...theirs, ours, '--test-reporter-destination=stdout'];
  const { status } = spawnSync(process.execPath, [...options, ...process.argv.slice(1)], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

/** A script of the project that uses Node's test runner without `--test`, or whose nearest imports do. */
function declaresTests(script) {
  const seen = new Set();
  const looks = (file, depth) => {
    if (seen.size >= 50 || seen.has(file) || /[/\\]node_modules[/\\]/.test(file)) return false;
    seen.add(file);
    let text;
    try {
      text = readFileSync(realpathSync(file), 'utf8');
    } catch {
      return false;
    }
    if (/[/\\]node_modules[/\\]/.test(realpathSync(file)) || text.length > 1_000_000) return false;
    if (text.includes("'node:test'") || text.includes('"node:test"')) return true;
    if (depth === 0) return false;
    const imports = [...text.matchAll(/['"](\.{1,2}\/[\w./-]+)['"]/g)].map(([, specifier]) =>
      path.resolve(path.dirname(file), specifier),
    );
    return imports.some((each) => looks(each, depth - 1) || looks(`${each}.js`, depth - 1));
  };
  return script !== undefined && path.isAbsolute(script) && looks(script, 2);
}

function addReporters() {
  const script = process.argv[1];
  if (script === undefined) return;
  let real = script;
  try {
    real = realpathSync(script);
  } catch {
    return;
  }
  if (/[/\\]vitest[/\\](vitest|dist[/\\]cli)\.m?js$/.test(real)) require('./vitest-hook.cjs').addReporter(real);
  else if (/[/\\](jest|jest-cli)[/\\]bin[/\\]jest\.js$/.test(real)) addToJest();
}

/**
 * Puts our reporter beside those that Jest has read from its configuration and command line; an option would stand in their
 * place. Assertions of Jest live in the context of each test file: they are tried there, by a set-up file.
 */
function addToJest() {
  const load = Module._load;
  Module._load = function loadWithReporter(request, ...rest) {
    const exported = load.call(this, request, ...rest);
    if (request !== 'jest-config') return exported;
    const readConfigs = async (...args) => {
      const read = await exported.readConfigs(...args);
      const ours = [path.join(__dirname, 'jest-reporter.cjs'), {}];
      // Without any, Jest has its own default.
      const reporters = [...(read.globalConfig.reporters ?? [['default', {}]]), ours];
      const setup = path.join(__dirname, 'jest-setup.cjs');
      const configs = read.configs.map((config) => ({
        ...config,
        setupFilesAfterEnv: [...(config.setupFilesAfterEnv ?? []), setup],
      }));
      return { ...read, globalConfig: Object.freeze({ ...read.globalConfig, reporters }), configs };
    };
    return new Proxy(
      {},
      { get: (_, key) => (key === 'readConfigs' ? readConfigs : exported[key]), has: (_, key) => key in exported },
    );
  };
}

/** Mocha takes one reporter, which is the project's; its runner says the same to whoever listens. */
function listenToMocha() {
  const load = Module._load;
  const seen = new WeakSet();
  Module._load = function loadListening(request, ...rest) {
    const exported = load.call(this, request, ...rest);
    if (typeof exported !== 'function' || seen.has(exported)) return exported;
    const { prototype, name } = exported;
    if (name === 'Runner' && typeof prototype?.runTests === 'function') {
      seen.add(exported);
      const { run } = prototype;
      prototype.run = function runListening(...args) {
        require('./mocha-listener.cjs').listen(this, session('mocha'));
        return run.apply(this, args);
      };
    } else if (name === 'Mocha' && typeof prototype?.loadFiles === 'function') {
      seen.add(exported);
      for (const method of ['loadFiles', 'loadFilesAsync', 'run']) {
        const original = prototype[method];
        if (typeof original !== 'function') continue;
        prototype[method] = function watched(...args) {
          require('./mocha-listener.cjs').watchDeclarations(this.suite);
          return original.apply(this, args);
        };
      }
    }
    return exported;
  };
}
