/**
 * Adds our reporter to Vitest beside those of the project: an option of the command line would stand in the place of the ones in
 * its configuration. Vitest offers no way to add one, so a line is added to its own class as that is loaded.
 */
'use strict';
const path = require('node:path');
const Module = require('node:module');
const { readdirSync, readFileSync } = require('node:fs');
const { fileURLToPath, pathToFileURL } = require('node:url');

const REPORTER = path.join(__dirname, 'vitest-reporter.mjs');
const DECLARES = /^class Vitest \{/m;
const CALLED = Symbol.for('autonomous.vitest');

/** @param {string} script Vitest's own, which this process was started with */
exports.addReporter = (script) => {
  const isLoaded = hookInto(fileOfClass(path.dirname(script)));
  if (isLoaded) return;
  // Of a Vitest or a Node that is made in another way: reporters of the configuration are lost, and the tests are counted.
  if (!process.argv.some((option) => option.startsWith('--reporter'))) process.argv.push('--reporter=default');
  process.argv.push(`--reporter=${REPORTER}`);
};

function fileOfClass(folder) {
  const dist = path.basename(folder) === 'dist' ? folder : path.join(folder, 'dist');
  const files = readdirSync(dist, { recursive: true }).filter((file) => /\.m?js$/.test(file));
  return files.map((file) => path.join(dist, file)).find((file) => DECLARES.test(readFileSync(file, 'utf8')));
}

function hookInto(file) {
  if (file === undefined) return false;
  const line = `\n;globalThis[Symbol.for('autonomous.vitest')]?.(Vitest);\n`;
  if (typeof Module.registerHooks === 'function') {
    Module.registerHooks({
      load(url, context, next) {
        const loaded = next(url, context);
        if (!isFile(url, file)) return loaded;
        return { ...loaded, source: `${Buffer.from(loaded.source).toString()}${line}` };
      },
    });
  } else if ('register' in Module) {
    Module.register(pathToFileURL(path.join(__dirname, 'vitest-loader.mjs')), { data: { file, line } });
  } else return false;
  Object.defineProperty(globalThis, CALLED, { value: watchReports, configurable: true });
  return true;
}

/** Reporters are made anew with each configuration that is read: ours is added with the first word to them. */
function watchReports({ prototype }) {
  delete globalThis[CALLED];
  const reporter = import(pathToFileURL(REPORTER).href);
  const { report } = prototype;
  prototype.report = async function reportToAll(...args) {
    const { default: Reporter } = await reporter;
    if (!this.reporters.some((each) => each instanceof Reporter)) this.reporters.push(new Reporter());
    return report.apply(this, args);
  };
}

function isFile(url, file) {
  return url.startsWith('file:') && fileURLToPath(url) === file;
}
