/** Programs that a specification asks for, looked for in real sandboxes on real checkouts. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ActivityTools } from '../../activities/tools.ts';
import type { ActivityContext } from '../../core/activity.ts';
import { type Fixture, mainHead, openFixture, temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import { TEST_LIMITS } from '../../sandboxes/sandbox.contract.ts';
import type { Sandbox, SandboxProvider } from '../../sandboxes/sandbox.ts';
import { createUnsandboxedProvider } from '../../sandboxes/unsandboxed.ts';
import { checkEnvironment } from './check-environment.ts';
import { needsOf } from './environment.ts';

const bubblewrap = createBubblewrapProvider();
const available = await bubblewrap.availability();
// Only a machine that cannot run bubblewrap at all leaves it out, and says why.
if (!available.ok) process.stderr.write(`bubblewrap is left out: ${available.reason}. ${available.remedy}\n`);

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, { files: { 'app.js': '1\n', 'secret.txt': 'hidden\n' } });
});
afterEach(() => temporary.remove());

async function check(sandboxes: SandboxProvider, environment: Readonly<Record<string, string>>) {
  const workFolder = join(temporary.path, 'work');
  mkdirSync(workFolder, { recursive: true });
  const tools = {
    repository: fixture.repository,
    sandboxes,
    workFolder,
    limits: TEST_LIMITS,
    project: async () => ({ ...fixture.project, name: 'shop' }),
    view: async () => ({ config: { commands: { setup: null } } }),
  } as unknown as ActivityTools; // Nothing else is asked for without an install step.
  const notes: string[] = [];
  const context = {
    key: 'r-1/5/checkEnvironment',
    runId: 'r-1',
    signal: new AbortController().signal,
    progress: ({ text }: { readonly text: string }) => notes.push(text),
  } as unknown as ActivityContext;
  const input = {
    runId: 'r-1',
    projectId: fixture.project.id,
    request: 'Do it',
    branch: 'autonomous/r-1',
    startedAt: '2026-03-01T12:00:00.000Z',
    head: await mainHead(fixture),
    setup: null,
    excludePaths: ['secret.txt'],
    item: 'TECH-7',
    specPath: 'ai/features/TECH-7.md',
    needs: needsOf(environment),
  };
  const { reason } = await checkEnvironment(tools).perform(input, context);
  expect(existsSync(join(workFolder, 'r-1/environment'))).toBe(false);
  return { reason, notes: notes.filter((text) => text.includes('missing')) };
}

const [major = ''] = process.versions.node.split('.');

describe.each([
  ['no sandbox', createUnsandboxedProvider(), true],
  ['bubblewrap', bubblewrap, available.ok],
])('In %s', (_, sandboxes, isHere) => {
  it.skipIf(!isHere)('has nothing against an item whose programs are there', async () => {
    expect(await check(sandboxes, { nodejs: major, sh: 'true', docker: 'false' })).toEqual({ reason: null, notes: [] });
  });

  it.skipIf(!isHere)('names what is missing, with the line that asks for it', async () => {
    const { reason, notes } = await check(sandboxes, { nodejs: '99', 'no-such-program': 'true' });
    expect(reason).toContain(`nodejs: 99 (node is ${process.versions.node})`);
    expect(reason).toContain('no-such-program: true (there is no program no-such-program)');
    expect(notes).toHaveLength(2);
  });
});

it('tries again where the sandbox was lost, instead of blocking the item', async () => {
  const lost: SandboxProvider = {
    ...createUnsandboxedProvider(),
    open: async () =>
      ({
        provider: 'none',
        run: async () => ({ exitCode: null, stdout: '', stderr: 'out of memory', timedOut: false, durationMs: 1 }),
        dispose: async () => {},
      }) as unknown as Sandbox,
  };
  await expect(check(lost, { sh: 'true' })).rejects.toMatchObject({
    name: 'RetryableFailure',
    message: expect.stringContaining('out of memory'),
  });
});
