/**
 * Loaded into every Node process of a check by NODE_OPTIONS: adds the server's reporter to the runners that take it as an
 * option, and listens to those that do not. A process that is no test runner is left as it is.
 */
'use strict';
const path = require('node:path');
const Module = require('node:module');
const { readFileSync, realpathSync } = require('node:fs');
const { session } = require('./record.cjs');
const guard = require('./guard.cjs');

const isChildOfNodeTest = (process.env['NODE_TEST_CONTEXT'] ?? '').startsWith('child');

const isWithTests = !isChildOfNodeTest && (process.execArgv.includes('--test') || declaresTests(process.argv[1]));

if (isChildOfNodeTest) guardFile();
else if (isWithTests) startAgain();
else addReporters();
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
  if (/[/\\]vitest[/\\](vitest|dist[/\\]cli)\.m?js$/.test(real)) {
    const own = process.argv.some((option) => option.startsWith('--reporter'));
    if (!own) process.argv.push('--reporter=default');
    process.argv.push(`--reporter=${path.join(__dirname, 'vitest-reporter.mjs')}`);
  } else if (/[/\\](jest|jest-cli)[/\\]bin[/\\]jest\.js$/.test(real)) {
    const own = process.argv.some((option) => option.startsWith('--reporters'));
    if (!own) process.argv.push('--reporters=default');
    process.argv.push(`--reporters=${path.join(__dirname, 'jest-reporter.cjs')}`);
    addSetupToJest();
  }
}

/** Assertions of Jest live in the context of each test file: they are tried there, by a set-up file. */
function addSetupToJest() {
  const load = Module._load;
  Module._load = function loadWithSetup(request, ...rest) {
    const exported = load.call(this, request, ...rest);
    if (request !== 'jest-config') return exported;
    const readConfigs = async (...args) => {
      const read = await exported.readConfigs(...args);
      const setup = path.join(__dirname, 'jest-setup.cjs');
      const configs = read.configs.map((config) => ({
        ...config,
        setupFilesAfterEnv: [...(config.setupFilesAfterEnv ?? []), setup],
      }));
      return { ...read, configs };
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
