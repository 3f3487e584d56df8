/** The install step with a real mirror and cache, in machines that speak E2B's protocol: those outlive whoever forgets them. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../repository/git-fixture.fixture.ts';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import { createE2bProvider, type E2bOptions } from '../../sandboxes/e2b/e2b.ts';
import { API_KEY, startE2bServer } from '../../sandboxes/e2b/e2b-server.fixture.ts';
import type { SandboxProvider } from '../../sandboxes/sandbox.ts';
import { TEST_LIMITS } from '../../sandboxes/sandbox.contract.ts';
import type { ActivityTools } from '../tools.ts';
import { DependencyCache } from './dependency-cache.ts';
import { withInstalled } from './install-step.ts';

const bubblewrap = await createBubblewrapProvider().availability();
const server = await startE2bServer();
afterAll(() => server.close());

describe.skipIf(!bubblewrap.ok)('the install step', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let fixture: Fixture;
  let tools: ActivityTools;
  beforeEach(async () => {
    temporary = temporaryFolder();
    fixture = await openFixture(temporary.path);
    tools = {
      repository: fixture.repository,
      sandboxes: aProvider(),
      dependencies: new DependencyCache({ folder: path.join(temporary.path, 'dependencies'), maxBytes: 1e9 }),
      limits: TEST_LIMITS,
      setupTimeoutMs: 5_000,
      egress: () => Promise.resolve([]),
      scrub: (text: string) => text,
      view: async () => ({ baseCommit: await mainHead(fixture), config: { commands: {} } }),
      // The other ports have no part in it.
    } as never;
  });
  afterEach(() => {
    for (const name of ['onDownload', 'holdFiles'] as const) delete server.faults[name];
    temporary.remove();
  });

  const install = async (
    command: string,
    {
      signal = new AbortController().signal,
      source = 'package.json',
      treeish,
    }: { signal?: AbortSignal; source?: string; treeish?: string } = {},
  ) => {
    const notes: unknown[] = [];
    const request = {
      project: fixture.project,
      runId: 'r-1',
      treeish: treeish ?? (await mainHead(fixture)),
      excludePaths: [],
      signal,
      progress: (line: { readonly kind: string; readonly text: string }) => {
        if (line.kind === 'note') notes.push(line.text);
      },
    };
    return withInstalled(tools, request, { command, source }, async ({ folder, installed }) => ({
      names: await readdir(folder),
      installed,
      notes,
    }));
  };
  /** A machine in which the step made its file says that it is larger than any that is taken back. */
  const holdTooMuch = () => {
    server.faults.onDownload = (file, content) =>
      file.endsWith('listing') && content.includes('made')
        ? Buffer.from(`f\x00644\x00${10 ** 14}\x001.0\x00\x00made\x00`)
        : content;
  };

  it('names a program that is missing before it speaks of the network', async () => {
    const failure = await install('no-such-program sync').catch((error: unknown) => error as Error);
    expect(failure).toMatchObject({ reason: 'setup_failed', missingTool: 'no-such-program' });
    expect((failure as Error).message).toMatch(
      /failed with exit code 127\.\nThe program no-such-program is missing: .+\nIt had no network: /,
    );
  });

  it('gives what it made, and leaves no machine', async () => {
    expect(await install('echo x > made')).toEqual({ names: ['made'], installed: ['/made'], notes: [] });
    expect(server.machines()).toEqual([]);
  });

  it('has its options against install scripts, unless the project allows these or wrote the step itself', async () => {
    const command = 'touch made -- --ignore-scripts';
    expect((await install(command)).names).toEqual(['--ignore-scripts', 'made']);
    const allowing = { baseCommit: await mainHead(fixture), config: { commands: { installScripts: true } } };
    tools = { ...tools, view: () => Promise.resolve(allowing as never) };
    expect((await install(command)).names).toEqual(['made']);
    expect((await install(command, { source: 'configuration' })).names).toEqual(['--ignore-scripts', 'made']);
  });

  it('runs nothing that an agent changed where it has a network, and says so', async () => {
    fixture = await openFixture(path.join(temporary.path, 'script'), {
      files: { 'setup.sh': 'touch base-$(cat package.json)', 'package.json': '1' },
    });
    const setup = { 'setup.sh': 'touch agent-$(cat package.json); exit $1' };
    const treeish = await commitFiles(fixture, 'autonomous/r1', { ...setup, 'package.json': '{"a":2}' });
    tools = { ...tools, repository: fixture.repository };
    // Without a network it is an agent's command like any other.
    expect(await install('sh ./setup.sh', { treeish })).toMatchObject({ names: ['agent-{"a":2}'], notes: [] });
    tools = { ...tools, egress: () => Promise.resolve(['registry.test']) };
    const { names, notes } = await install('sh ./setup.sh', { treeish });
    expect(names).toEqual(['base-{"a":2}']);
    expect(notes).toEqual([
      expect.stringMatching(/^The run changed setup\.sh, which can run code in the install step\./),
    ]);
    await expect(install('sh ./setup.sh && exit 3', { treeish })).rejects.toMatchObject({
      reason: 'setup_failed',
      message: expect.stringMatching(/exit code 3[^]*The run changed setup\.sh.*on the base branch yourself/),
    });
  });

  it('is carried out once for each template: what was built on one may not run on another', async () => {
    const before = creations();
    await install('echo x > made');
    await install('echo x > made');
    expect(creations() - before).toBe(1);
    tools = { ...tools, sandboxes: aProvider({ template: 'another' }) };
    await install('echo x > made');
    expect(creations() - before).toBe(2);
  });

  it('waits for no files that are slow to come when it is cancelled, and leaves no machine', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelling = new AbortController();
    // What it made is being fetched: from here on no file comes any more.
    server.faults.onDownload = (file, content) => {
      if (file.endsWith('listing') && content.includes('made')) {
        server.faults.holdFiles = promise;
        setImmediate(() => cancelling.abort(new Error('cancelled')));
      }
      return content;
    };
    await expect(install('echo x > made', cancelling)).rejects.toThrow('cancelled');
    await expect.poll(() => server.machines()).toEqual([]);
    resolve();
  });

  it('says what it said where it failed, whatever it left, and leaves no machine', async () => {
    holdTooMuch();
    await expect(install('echo x > made; echo no such package; exit 3')).rejects.toMatchObject({
      reason: 'setup_failed',
      message: expect.stringMatching(/exit code 3[^]*no such package/),
    });
    expect(server.machines()).toEqual([]);
  });

  it('leaves no machine where what it made cannot be taken back', async () => {
    holdTooMuch();
    await expect(install('echo x > made')).rejects.toMatchObject({
      reason: 'agent_failed',
      message: expect.stringContaining('more than is copied back'),
    });
    expect(server.machines()).toEqual([]);
  });
});

function aProvider(options: Partial<E2bOptions> = {}): SandboxProvider {
  return createE2bProvider({
    apiKey: API_KEY,
    apiUrl: server.url,
    sandboxUrl: server.url,
    timeoutMinutes: 10,
    server: 'server-1',
    ...options,
  });
}

function creations(): number {
  return server.requests.filter((request) => request === 'POST /v2/sandboxes').length;
}
