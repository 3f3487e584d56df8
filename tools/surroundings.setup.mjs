/**
 * Vitest set-up of every test file: a worker runs one file after another, which spares each of them the start of a process and the
 * loading of what it tests. So what a file replaced of the process is put back after it, and what else it changed fails it.
 */
import { afterAll, vi } from 'vitest';

const folder = process.cwd();
const variables = { ...process.env };

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  const left = process.cwd() === folder ? [] : ['the current folder'];
  process.chdir(folder);
  for (const name of new Set([...Object.keys(variables), ...Object.keys(process.env)])) {
    if (process.env[name] === variables[name]) continue;
    left.push(name);
    if (variables[name] === undefined) delete process.env[name];
    else process.env[name] = variables[name];
  }
  if (left.length > 0) throw new Error(`this file leaves changed for the next: ${left.join(', ')}`);
});
