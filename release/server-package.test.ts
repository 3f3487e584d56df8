import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ORCHESTRATOR } from './bundle.ts';
import { SERVER_ENTRIES } from './server-package.ts';

it("the server's package has each file that runs as a thread or a process of its own, or is read by the worker of foreign text", () => {
  const started = globSync('src/**/*.ts', { cwd: ORCHESTRATOR })
    .filter((file) => !/\.(?:test|fixture|contract)\./.test(file))
    .filter((file) => {
      const source = readFileSync(path.join(ORCHESTRATOR, file), 'utf8');
      return /\{[^}]*\b(?:parentPort|workerData)\b[^}]*\} from 'node:worker_threads'|(?<!#)\bprocess\.send\b|\binWorker\(import\.meta\.url/.test(
        source,
      );
    });
  expect(started.length).toBeGreaterThan(4);
  expect(SERVER_ENTRIES).toEqual(expect.arrayContaining(started));
});
