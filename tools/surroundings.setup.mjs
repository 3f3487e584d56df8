/**
 * Vitest set-up of every test file: a worker runs one file after another, which spares each of them the start of a process and the
 * loading of what it tests. What a file replaced by `vi` is put back after it. Variables of the environment and the current folder,
 * and listeners that would swallow the faults of other files, are put back too, and the file that left them changed fails.
 */
import { afterAll, vi } from 'vitest';

const FAULTS = ['uncaughtException', 'unhandledRejection'];

const folder = process.cwd();
const variables = { ...process.env };
const listeners = new Map(FAULTS.map((name) => [name, process.listeners(name)]));

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  const left = [];
  for (const [name, known] of listeners) {
    const added = process.listeners(name).filter((listener) => !known.includes(listener));
    if (added.length > 0) left.push(`listeners of ${name}`);
    for (const listener of added) process.off(name, listener);
  }
  if (process.cwd() !== folder) left.push('the current folder');
  process.chdir(folder);
  for (const name of new Set([...Object.keys(variables), ...Object.keys(process.env)])) {
    if (process.env[name] === variables[name]) continue;
    left.push(name);
    if (variables[name] === undefined) delete process.env[name];
    else process.env[name] = variables[name];
  }
  if (left.length > 0) throw new Error(`this file leaves changed for the next: ${left.join(', ')}`);
});
