/** The command line in this process, connected to the server of a test. */
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runCli } from '../src/cli/program.ts';
import type { Fixture } from './orchestrator.fixture.ts';

/** Runs a command without a person at the terminal. */
export async function commandLine(
  { orchestrator, folder }: Pick<Fixture, 'orchestrator' | 'folder'>,
  ...words: readonly string[]
) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli(words, {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: {
      AUTONOMOUS_TOKEN: orchestrator.token,
      AUTONOMOUS_SERVER: orchestrator.server.url,
      AUTONOMOUS_DATA: path.join(folder, 'home'),
    },
    cwd: folder,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}
