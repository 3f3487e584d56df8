/** An example of a custom workflow on a server process of its own with real git. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type NewRun, type RunView, shownAt } from '@autonomous/shared';
import { type Client, createClient } from '@autonomous/shared/client';
import { expect, onTestFinished } from 'vitest';
import { FILES, type Files, git, makeRemote } from '../fixtures/orchestrator.fixture.ts';
import { startServerProcess } from '../fixtures/server-process.fixture.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../../examples');
const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
export const PATIENCE = { timeout: 120_000, interval: 100 };

export interface Place {
  readonly client: Client;
  /** Output of a command. */
  command(...args: readonly string[]): Promise<string>;
  /** Error message of a failing command. */
  refused(...args: readonly string[]): Promise<string>;
  /** Launches a run of the example. */
  launch(run: Pick<NewRun, 'request' | 'input' | 'config'>): Promise<RunView>;
  /** Resolves with the run at its open gate. */
  gate(runId: string): Promise<RunView>;
  /** Approves what the child runs show at their gates until the run ends, or rests at a gate of its own. */
  ends(runId: string): Promise<RunView>;
  remote(...args: readonly string[]): Promise<string>;
}

/** The example that a server is started with. */
interface Example {
  /** Name of its workflow. */
  readonly workflow: string;
  /** Path from the folder of examples. Default: `workflow.ts` in the folder with the name of the workflow */
  readonly file?: string;
  /** Text of the script that all models play. */
  readonly script: string;
  /** The project's first commit. Default: a shell script with its test */
  readonly files?: Files;
}

export async function aPlace({
  workflow,
  file = `${workflow}/workflow.ts`,
  script,
  files = FILES,
}: Example): Promise<Place> {
  const folder = await mkdtemp(path.join(tmpdir(), `${workflow}-`));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const remote = path.join(folder, 'remote.git');
  await makeRemote(remote, files);
  const scriptFile = path.join(folder, 'script.yaml');
  await writeFile(scriptFile, script);
  const server = await startServerProcess({
    dataFolder: path.join(folder, 'data'),
    port: '0',
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      LOG_LEVEL: 'warn',
      AUTONOMOUS_SCRIPT: scriptFile,
      AUTONOMOUS_WORKFLOWS: path.join(EXAMPLES, file),
    },
  });
  onTestFinished(async () => void (await server.end('SIGKILL')));
  const client = createClient({ baseUrl: server.url, token: server.token });
  const project = await client.createProject({ name: 'notes', repository: remote });
  const reaches = async (runId: string, isThere: (run: RunView) => boolean): Promise<RunView> => {
    await expect.poll(async () => isThere(await client.getRun(runId)), PATIENCE).toBe(true);
    return client.getRun(runId);
  };
  const command = async (...args: readonly string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, AUTONOMOUS_DATA: path.join(folder, 'data') };
    const typed = [PROGRAM, ...args, '--server', server.url];
    return (await promisify(execFile)(process.execPath, typed, { cwd: folder, env })).stdout;
  };
  return {
    client,
    command,
    refused: (...args) =>
      command(...args).then(
        () => Promise.reject(new Error('the command did not fail')),
        (error: unknown) => (error as { readonly stderr: string }).stderr, // an error of `execFile` has it
      ),
    launch: (run) => client.launchRun({ projectId: project.id, workflow, ...run }),
    gate: (runId) => reaches(runId, ({ gate }) => gate !== null),
    ends: async (runId) => {
      const approved = new Set<string>();
      const approve = async ({ gate }: RunView): Promise<void> => {
        if (gate === null || approved.has(gate.id)) return;
        approved.add(gate.id);
        await client.decideGate(gate.id, { decision: 'approve', ...shownAt(gate) });
      };
      const isAtEnd = async (): Promise<boolean> => {
        for (const child of (await client.listRuns({ parentId: runId })).items) await approve(child);
        const { status, gate } = await client.getRun(runId);
        return status === 'completed' || gate !== null;
      };
      await expect.poll(isAtEnd, PATIENCE).toBe(true);
      return client.getRun(runId);
    },
    remote: (...args) => git('--git-dir', remote, ...args),
  };
}
