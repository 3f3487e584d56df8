/**
 * Runs tests of a tree with one file of it changed, until one fails. Vitest stays open between runs, in a process that is killed
 * with all that its tests started when it takes too long.
 */
import { fork, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endProcessesWith } from '../end-processes.mjs';

/** After the first failure, tests that are under way have this time to end, before vitest is killed and started again. */
const END_MS = 3_000;
const UNCHANGED_MS = 180_000;

/**
 * @param tree folder with its dependencies
 * @param workers test files that run at once
 * @returns `open`, which gives the test files of the tree, `run` and `close`
 */
export function createTestRunner(tree, workers) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'autonomous-mutants-'));
  const green = new Set();
  const red = new Set();
  let worker = null;
  let onMessage = () => {};

  return { open, run, close };

  async function open() {
    mkdirSync(scratch, { recursive: true });
    const env = { ...process.env, CI: '', TMPDIR: scratch };
    env.NODE_COMPILE_CACHE = path.join(scratch, 'compiled');
    const script = path.join(import.meta.dirname, 'test-worker.mjs');
    worker = fork(script, [tree, workers], { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const opened = worker;
    worker.on('message', (message) => opened === worker && onMessage(message));
    worker.on('exit', () => opened === worker && onMessage({ done: 'crashed' }));
    const { ready } = await new Promise((resolve) => (onMessage = resolve));
    if (ready === undefined) throw new Error(`Vitest cannot be opened in '${tree}'.`);
    return ready;
  }

  function close() {
    onMessage = () => {};
    worker?.kill('SIGKILL');
    worker = null;
    // Elsewhere, what tests have started ends by itself.
    endProcessesWith(scratch);
    unmountBelow(scratch);
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /**
   * @param order test files, run in this order
   * @param change `{ file, source, mutated, limitMs, isHanging(test, ms) }`
   * @returns `{ status, by, error, ms, durations }`: `killed` by a test file that fails with the change alone, `timeout` by one that
   * hangs, `survived`, or `crashed` when vitest ended by itself; milliseconds by each test file that passed
   */
  async function run(order, change) {
    for (;;) {
      const outcome = await attempt(
        order.filter((test) => !red.has(test)),
        change,
      );
      if (outcome.status !== 'killed' || green.has(outcome.by)) return outcome;
      const unchanged = await attempt([outcome.by], { ...change, mutated: change.source, limitMs: UNCHANGED_MS });
      if (unchanged.status === 'survived') return outcome;
      console.log(`${outcome.by} fails without any change and is left out: ${unchanged.error}`);
      red.add(outcome.by);
    }
  }

  async function attempt(order, { file, source, mutated, limitMs, isHanging }) {
    if (worker === null) await open();
    const begun = Date.now();
    const durations = new Map();
    const running = new Map();
    writeFileSync(file, mutated);
    const { isIdle = false, ...outcome } = await new Promise((resolve) => {
      const timer = setTimeout(() => {
        const [hanging] = [...running].find(([test, since]) => isHanging(test, Date.now() - since)) ?? [];
        resolve(hanging ? { status: 'timeout', by: hanging } : { status: 'survived' });
      }, limitMs);
      let killed = null;
      onMessage = ({ started, ended, failed, error, done }) => {
        if (started) running.set(started, Date.now());
        if (ended) {
          durations.set(ended, Date.now() - running.get(ended));
          running.delete(ended);
          green.add(ended);
        }
        if (failed && !killed) {
          killed = { status: 'killed', by: failed, error };
          clearTimeout(timer);
          setTimeout(resolve, END_MS, killed);
        }
        if (!done) return;
        clearTimeout(timer);
        resolve({ ...(killed ?? { status: done === true ? 'survived' : 'crashed' }), isIdle: done === true });
      };
      worker.send({ run: order, changed: file });
    });
    if (!isIdle) close();
    writeFileSync(file, source);
    return { ...outcome, ms: Date.now() - begun, durations };
  }
}

/** Takes away file systems that killed tests have left mounted, such as a small one that is full. */
function unmountBelow(folder) {
  if (!existsSync('/proc/self/mounts')) return;
  const places = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const place of places) if (place.startsWith(`${folder}/`)) spawnSync('umount', ['--lazy', place]);
}
