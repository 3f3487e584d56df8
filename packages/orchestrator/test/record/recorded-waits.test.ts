/** When people see that a run waits, a remote that takes its time has everything that the run needs to go on elsewhere. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { asks, aPlan, aScript, aServer, type Fixture, writes } from '../fixtures/orchestrator.fixture.ts';

const QUESTION = { question: 'Which logo?', responseType: 'file_upload' };

/** A remote that takes a second for each push. */
async function aSlowRemote(): Promise<Fixture> {
  const script = aScript({
    planner: [{ ...asks(QUESTION), when: { contains: 'Ask me', call: 1 } }, aPlan(), aPlan()],
    implementer: [writes({ 'feature.sh': 'echo feature\n' })],
  });
  const server = await aServer({ script });
  await mkdir(path.join(server.remote, 'hooks'), { recursive: true });
  await writeFile(path.join(server.remote, 'hooks', 'pre-receive'), '#!/bin/sh\nsleep 1\n', { mode: 0o755 });
  return server;
}

/** Commits that the run's events name and that its mirror has, of those that the record on the remote leads to. */
async function recordedCommits(
  server: Fixture,
  { id }: RunView,
): Promise<Record<'named' | 'reached', readonly string[]>> {
  const reached = new Set((await server.git('rev-list', 'autonomous/record').catch(() => '')).split('\n'));
  const ids = new Set(JSON.stringify(await server.events(id)).match(/\b[0-9a-f]{40}\b/g));
  const named: string[] = [];
  for (const each of ids)
    if ((await server.mirror('cat-file', '-t', each).catch(() => '')).trim() === 'commit') named.push(each);
  return { named, reached: named.filter((each) => reached.has(each)) };
}

describe('a run that begins to wait', () => {
  it('has its commits, its plan and the files of answers on a slow remote by then', async () => {
    const server = await aSlowRemote();
    const run = await server.launch('Ask me', { trustMode: { planning: 'manual' } });
    await server.until(run, { gate: 'clarification' });
    const logo = await server.client.upload('logo.svg', new TextEncoder().encode('<svg/>'));
    await server.decide(run, { decision: 'answer', response: [logo.id] });
    const atPlan = await server.until(run, { gate: 'plan' });

    const commits = await recordedCommits(server, atPlan);
    expect(commits.reached).toEqual(commits.named);
    const plan = atPlan.artifacts.find(({ gitPath }) => gitPath?.startsWith('.autonomous/specs/'));
    expect(commits.named).toContain(plan?.commitSha);
    expect(await server.file(plan?.commitSha ?? '', plan?.gitPath ?? '')).toContain('flowchart TD');
    expect(await server.file('autonomous/record', `.autonomous/runs/${run.id}/files/${logo.id}`)).toBe('<svg/>');
    // The plan is not published before it is approved.
    expect(await server.git('for-each-ref', '--format=%(refname)', `refs/heads/${atPlan.branch}`)).toBe('');
  });

  it('has them there when it is paused, too, or shows its result', async () => {
    const server = await aSlowRemote();
    const trustMode = { planning: 'auto' as const, implementation: 'manual' as const };
    const [paused, atResult] = await Promise.all([
      server.launch('Pay for it', { maxToolCalls: 1 }).then((run) => server.until(run, { gate: 'pause' })),
      server.launch('Show it', { trustMode }).then((run) => server.until(run, { gate: 'implementation' })),
    ]);
    for (const view of [paused, atResult]) {
      const { named, reached } = await recordedCommits(server, view);
      expect(named.length, view.originalRequest).toBeGreaterThan(1);
      expect(reached, view.originalRequest).toEqual(named);
    }
  });
});
