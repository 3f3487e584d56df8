/** A plan whose publication is stopped, on a real server: the way on that a person chooses at the pause. */
import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import type { ScriptCall } from '../../src/models/script.ts';
import { aServer, type Files, finish, type Fixture, projectConfig, tool } from '../fixtures/orchestrator.fixture.ts';

const TEST = 'grep -q Sums README.md';
const FILES: Files = {
  'README.md': '# Sums\n',
  'notes.md': 'One.\nTwo.\nThree.\n',
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: TEST } } }),
};
const PLAN = '# Notes\n\n## Phase 1: Notes\nChange `notes.md`.\n';

const writing = (files: Readonly<Record<string, string>>): ScriptCall => ({
  turns: [
    ...Object.entries(files).map(([file, content]) => ({ tools: [tool('write', { path: file, content })] })),
    ...finish({ outcome: 'SUCCESS', summary: 'Wrote it.' }).turns,
  ],
});
const inPhase = (number: number, played: ScriptCall, call?: number): ScriptCall => ({
  when: { contains: `Phase: ${number} of `, ...(call === undefined ? {} : { call }) },
  ...played,
});
const approves = finish({ outcome: 'APPROVED', summary: 'Fine.', blockers: [] });

async function atItsResult(implementer: readonly ScriptCall[]) {
  const roles = {
    'phase-implementer': [inPhase(1, writing({ 'notes.md': 'One.\nTwo, of the run.\nThree.\n' })), ...implementer],
    'phase-reviewer': [approves, approves],
  };
  const server = await aServer({ files: FILES, script: JSON.stringify({ name: 'test', roles }) });
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'phased-plan',
    request: 'Implement plans/notes.md',
    input: { planPath: 'plans/notes.md', plan: PLAN },
    config: { trustMode: { implementation: 'manual' }, git: { autoMerge: true } },
  });
  return { server, run: await server.until(run, { gate: 'plan_result' }) };
}

const choose = (server: Fixture, run: RunView, words: string): Promise<RunView> => {
  const response = run.gate?.question?.options?.find((option) => option.includes(words)) ?? `no option with ${words}`;
  return server.decide(run, { decision: 'answer', response });
};

describe('a plan that is stopped while it is published', () => {
  it('completes as its pushed branch where the base is protected', async () => {
    const { server, run } = await atItsResult([]);
    const hook = path.join(server.remote, 'hooks', 'update');
    await mkdir(path.dirname(hook), { recursive: true });
    await writeFile(
      hook,
      '#!/bin/sh\n[ "$1" = refs/heads/main ] || exit 0\necho "GH006: Protected branch" >&2\nexit 1\n',
    );
    await chmod(hook, 0o755);
    const before = await server.git('rev-parse', 'main');
    await server.decide(run, { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({ reason: 'push_rejected', decisions: ['answer', 'retry'] });
    await choose(server, paused, 'Leave it as the branch');
    const done = await server.until(paused, { status: 'completed' });
    expect(done.published).toMatchObject({ pushed: true, note: expect.stringContaining('refused the push to main') });
    expect(done.merged).toBeUndefined();
    expect(await server.git('rev-parse', 'main')).toBe(before);
    expect(await server.file(done.branch, 'notes.md')).toContain('Two, of the run.');
  });

  it('has an agent resolve a conflict with the base in one more phase, and leaves no marker', async () => {
    const { server, run } = await atItsResult(
      // The first attempt says that it is done and leaves one marker.
      [
        inPhase(2, writing({ 'notes.md': '<<<<<<< ours\nOne.\nTwo, of both.\nThree.\n' }), 1),
        inPhase(2, writing({ 'notes.md': 'One.\nTwo, of both.\nThree.\n' }), 2),
      ],
    );
    await server.commit({ 'notes.md': 'One.\nTwo, of a colleague.\nThree.\n', 'other.txt': 'theirs\n' });
    await server.decide(run, { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({ reason: 'merge_conflict' });
    await choose(server, paused, 'Have the agent merge main in');
    const again = await server.until(run, { gate: 'plan_result' });
    await server.decide(again, { decision: 'approve' });
    const done = await server.until(run, { status: 'completed' });
    expect(done.merged).toMatchObject({ baseBranch: 'main' });
    expect(done.progress).toEqual({ done: 2, total: 2 });
    expect(await server.file('main', 'notes.md')).toBe('One.\nTwo, of both.\nThree.\n');
    expect(await server.file('main', 'other.txt')).toBe('theirs\n');
  });

  it('pushes beside the branch that others have used', async () => {
    const { server, run } = await atItsResult([]);
    const theirs = (await server.git('commit-tree', 'main^{tree}', '-p', 'main', '-m', 'Of a colleague')).trim();
    await server.git('branch', run.branch, theirs);
    await server.decide(run, { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({ reason: 'push_rejected' });
    await choose(server, paused, "push this run's commits to");
    const done = await server.until(run, { status: 'completed' });
    expect(done.merged).toMatchObject({ baseBranch: 'main' });
    expect((await server.git('rev-parse', run.branch)).trim()).toBe(theirs);
    expect(await server.file(`${run.branch}-beside`, 'notes.md')).toContain('Two, of the run.');
  });
});

describe('a plan whose remote is away while its phases are carried out', () => {
  it('carries them out, waits to publish, and completes when the remote is back', async () => {
    const roles = {
      'phase-implementer': [inPhase(1, writing({ 'a.md': 'One.\n' })), inPhase(2, writing({ 'b.md': 'Two.\n' }))],
      'phase-reviewer': [approves, approves],
    };
    const server = await aServer({ files: FILES, script: JSON.stringify({ name: 'test', roles }) });
    const run = await server.client.launchRun({
      projectId: server.project.id,
      workflow: 'phased-plan',
      request: 'Implement plans/two.md',
      input: { planPath: 'plans/two.md', plan: '# Two\n\n## Phase 1: A\nA.\n\n## Phase 2: B\nB.\n' },
    });
    await server.until(run, { status: 'awaiting_children' });
    const away = `${server.remote}-away`;
    await rename(server.remote, away);
    await server.decide(await server.until(run, { gate: 'plan_result' }), { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate?.reason).toBe('remote_unavailable');
    expect(paused.progress).toEqual({ done: 2, total: 2 });
    await rename(away, server.remote);
    await server.decide(paused, { decision: 'retry' });
    const done = await server.until(run, { status: 'completed' });
    expect(await server.file(done.branch, 'b.md')).toBe('Two.\n');
  });
});
