/** Reporter of Node's own test runner. With `node --test` it runs in the process that starts the test files. */
import path from 'node:path';
import { createRequire } from 'node:module';

const { session } = createRequire(import.meta.url)('./record.cjs');
const startsFiles =
  process.execArgv.includes('--test') &&
  !process.execArgv.some((option) => /^--(experimental-)?test-isolation=none$/.test(option));

export default async function* report(source) {
  const run = session('node:test');
  const parents = [];
  for await (const { type, data } of source) {
    if (type === 'test:start') parents[data.nesting] = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite') continue;
    const file = data.file === undefined ? '' : path.relative(process.cwd(), data.file);
    // A file without a test of its own, or one that ended before its first: it counts by its name.
    const name = [
      ...parents.slice(0, data.nesting),
      path.isAbsolute(data.name) ? path.relative(process.cwd(), data.name) : data.name,
    ].join(' > ');
    const skipped = data.skip !== undefined && data.skip !== false;
    const todo = data.todo !== undefined && data.todo !== false;
    const outcome = skipped || todo ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    run.test(name, file, outcome, data.file);
  }
  // Comes to its end with the last test, and not where the process ended before.
  const changes = startsFiles ? [] : (globalThis[Symbol.for('autonomous.guard')]?.changes() ?? []);
  for (const what of changes) run.tampered(what);
  run.end();
}
