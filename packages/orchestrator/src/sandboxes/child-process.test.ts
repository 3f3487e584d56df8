/** The start of a command where the machine has nothing left to start it with, in a process of its own. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { sandboxProcess, startProcess } from './child-process.ts';

const WITHOUT_DESCRIPTORS = `
  import { closeSync, openSync } from 'node:fs';
  import { startProcess } from ${JSON.stringify(new URL('./child-process.ts', import.meta.url))};
  const request = { file: '/bin/echo', args: ['works'], cwd: '/', env: {}, timeoutMs: 10_000 };
  const told = [];
  const tellOutcome = ({ done }) =>
    done.then(({ stdout }) => told.push(stdout), ({ name, reason, message }) => told.push({ name, reason, message }));
  const startWithoutAny = async () => {
    const taken = [];
    try {
      for (;;) taken.push(openSync('/dev/null', 'r'));
    } catch {}
    const started = [request, { ...request, streamed: true, timeoutMs: Infinity }].map(startProcess);
    await Promise.all(started.map(tellOutcome));
    for (const descriptor of taken) closeSync(descriptor);
  };
  await startWithoutAny();
  await tellOutcome(startProcess(request));
  // The small process runs by now.
  await startWithoutAny();
  await tellOutcome(startProcess(request));
  process.stdout.write(JSON.stringify(told));
`;

it('a command for which no file descriptor is left fails alone, and the next one runs', async () => {
  const script = `ulimit -n 64; exec "$0" --disable-warning=ExperimentalWarning --input-type=module -e "$1"`;
  const ended = await promisify(execFile)('/bin/sh', ['-c', script, process.execPath, WITHOUT_DESCRIPTORS]);
  const failure = {
    name: 'RetryableFailure',
    reason: 'sandbox_unavailable',
    message: expect.stringMatching(/^The command could not be started: .*EMFILE/),
  };
  expect(JSON.parse(ended.stdout)).toEqual([failure, failure, 'works\n', failure, failure, 'works\n']);
});

it('a reader that is slow gets all that a process wrote before it ended', async () => {
  const script = 'head -c 220000 /dev/zero';
  const request = { file: '/bin/sh', args: ['-c', script], cwd: '/', env: {}, timeoutMs: Infinity, streamed: true };
  const started = startProcess(request);
  const { stdout, done } = sandboxProcess(started, started.done);
  let bytes = 0;
  for await (const chunk of stdout) {
    if (bytes === 0) await sleep(2_500);
    bytes += chunk.length;
  }
  expect(bytes).toBe(220_000);
  expect(await done).toMatchObject({ exitCode: 0 });
});
