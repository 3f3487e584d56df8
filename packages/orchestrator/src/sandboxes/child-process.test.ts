/** The start of a command where the machine has nothing left to start it with, in a process of its own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const WITHOUT_DESCRIPTORS = `
  import { closeSync, openSync } from 'node:fs';
  import { startProcess } from ${JSON.stringify(new URL('./child-process.ts', import.meta.url))};
  const request = { file: '/bin/echo', args: ['works'], cwd: '/', env: {}, timeoutMs: 10_000 };
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {}
  const started = [request, { ...request, streamed: true, timeoutMs: Infinity }].map(startProcess);
  const failed = await Promise.all(started.map(({ done }) => done.then(() => null, ({ name, reason, message }) => ({ name, reason, message }))));
  for (const descriptor of taken) closeSync(descriptor);
  const { stdout } = await startProcess(request).done;
  process.stdout.write(JSON.stringify({ failed, stdout }));
`;

it('a command for which no file descriptor is left fails alone, and the next one runs', async () => {
  const script = `ulimit -n 64; exec "$0" --disable-warning=ExperimentalWarning --input-type=module -e "$1"`;
  const ended = await promisify(execFile)('/bin/sh', ['-c', script, process.execPath, WITHOUT_DESCRIPTORS]);
  const failure = {
    name: 'NeedsHuman',
    reason: 'sandbox_unavailable',
    message: expect.stringContaining('The command could not be started: spawn /bin/echo EMFILE'),
  };
  expect(JSON.parse(ended.stdout)).toEqual({ failed: [failure, failure], stdout: 'works\n' });
});
