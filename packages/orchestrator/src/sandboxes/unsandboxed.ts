/**
 * No sandbox at all: commands run on this machine as the server's own user. For the bundled demo alone, whose code is
 * ours, where bubblewrap is missing. Never a fallback for anything else: a run without a sandbox pauses.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { NeedsHuman } from '@autonomous/shared';
import {
  assertCommand,
  sandboxProcess,
  type SpawnRequest,
  type StartedProcess,
  startProcess,
  streamedRequest,
} from './child-process.ts';
import { nodeExecutable } from './node-executable.ts';
import type {
  CommandRequest,
  CommandResult,
  ProcessRequest,
  Sandbox,
  SandboxProcess,
  SandboxProvider,
  SandboxSpec,
} from './sandbox.ts';

/** Commands run in the run's folder itself; there is no `/workspace`, no limit but time and output, and the network is open. */
export function createUnsandboxedProvider(): SandboxProvider {
  return {
    name: 'none',
    availability: async () => ({
      ok: true,
      detail: 'commands run on this machine without a sandbox, in the bundled demo only',
    }),
    async open(spec) {
      if (spec.readOnly.length > 0) {
        throw new NeedsHuman(
          'sandbox_unavailable',
          `"${spec.readOnly[0]?.inside}" has to be shown read-only, which needs a sandbox; provider "none" has none. Install bubblewrap.`,
        );
      }
      return new Unsandboxed(spec, await mkdtemp(join(tmpdir(), 'autonomous-')));
    },
  };
}

class Unsandboxed implements Sandbox {
  readonly provider = 'none';
  readonly #spec: SandboxSpec;
  readonly #scratch: string;
  readonly #running = new Set<StartedProcess>();
  #disposed = false;

  constructor(spec: SandboxSpec, scratch: string) {
    this.#spec = spec;
    this.#scratch = scratch;
  }

  async run(request: CommandRequest): Promise<CommandResult> {
    const started = this.#start(request.command, request);
    const { exitCode, stdout, stderr, timedOut, durationMs } = await started.done;
    return { exitCode, stdout, stderr, timedOut, durationMs };
  }

  async start(request: ProcessRequest): Promise<SandboxProcess> {
    const started = this.#start(request.command, streamedRequest(request), request.env);
    return sandboxProcess(started, started.done);
  }

  #start(
    command: string,
    request: Omit<SpawnRequest, 'file' | 'args' | 'cwd' | 'env'>,
    env: ProcessRequest['env'] = {},
  ): StartedProcess {
    if (this.#disposed) throw new Error(`Sandbox ${this.#spec.key} is disposed and runs no more commands`);
    assertCommand(command);
    const started = startProcess({
      ...request,
      file: '/bin/sh',
      args: ['-c', command],
      cwd: this.#spec.folder,
      env: {
        PATH: `${join(this.#spec.home ?? this.#scratch, '.venv/bin')}:${dirname(nodeExecutable())}:/usr/local/bin:/usr/bin:/bin`,
        HOME: this.#spec.home ?? this.#scratch,
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        TMPDIR: this.#scratch,
        CI: '1',
        ...env,
      },
    });
    this.#running.add(started);
    return { ...started, done: started.done.finally(() => this.#running.delete(started)) };
  }

  async sync(): Promise<void> {
    // Commands work on the folder itself.
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    const running = [...this.#running];
    for (const started of running) started.end('the sandbox was disposed');
    await Promise.allSettled(running.map(({ done }) => done));
    await rm(this.#scratch, { recursive: true, force: true });
  }
}
