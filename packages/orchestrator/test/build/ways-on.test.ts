/** A publication that something stops, on a real server: the way on that a person chooses at the pause. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { aScript, aServer, type Fixture, passes, runs, writes } from '../fixtures/orchestrator.fixture.ts';

const merging = { trustMode: { planning: 'auto' as const }, git: { autoMerge: true } };

const choose = (server: Fixture, run: RunView, words: string): Promise<RunView> => {
  const response = run.gate?.question?.options?.find((option) => option.includes(words)) ?? `no option with ${words}`;
  return server.decide(run, { decision: 'answer', response });
};

describe('a run that is stopped while it publishes', () => {
  it('completes as its pushed branch where the base is protected', async () => {
    const server = await aServer();
    const hook = path.join(server.remote, 'hooks', 'update');
    await mkdir(path.dirname(hook), { recursive: true });
    await writeFile(
      hook,
      '#!/bin/sh\n[ "$1" = refs/heads/main ] || exit 0\necho "GH006: Protected branch" >&2\nexit 1\n',
    );
    await chmod(hook, 0o755);
    const before = await server.git('rev-parse', 'main');
    const paused = await server.until(await server.launch('Add the feature', merging), { gate: 'pause' });
    expect(paused.gate).toMatchObject({
      reason: 'push_rejected',
      decisions: ['answer', 'retry'],
      summary: expect.stringContaining('GH006: Protected branch'),
    });
    await expect(server.decide(paused, { decision: 'answer', response: 'Push it all the same' })).rejects.toMatchObject(
      {
        status: 400,
      },
    );
    await choose(server, paused, 'Leave it as the branch');
    const done = await server.until(paused, { status: 'completed' });
    expect(done.published).toMatchObject({ pushed: true, note: expect.stringContaining('refused the push to main') });
    expect(done.merged).toBeUndefined();
    expect(await server.git('rev-parse', 'main')).toBe(before);
    expect(await server.file(done.branch, 'feature.sh')).toBe('echo feature\n');
  });

  it('merges what the agent made of a conflict with the base', async () => {
    const server = await aServer({
      script: aScript({
        implementer: [
          writes({ 'README.md': '# Notes of the run\n' }),
          runs('grep -q "^<<<<<<<" README.md && printf "# Notes of both\\n" > README.md'),
        ],
        validator: [passes(), passes(), passes()],
      }),
    });
    const run = await server.launch('Greet', { ...merging, trustMode: { planning: 'manual' } });
    await server.until(run, { gate: 'plan' });
    await server.commit({ 'README.md': '# Notes of a colleague\n', 'other.txt': 'theirs\n' });
    await server.decide(run, { decision: 'approve' });
    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate).toMatchObject({ reason: 'merge_conflict' });
    await choose(server, paused, 'Have the agent merge main in');
    const done = await server.until(run, { status: 'completed' });
    expect(done.merged).toMatchObject({ baseBranch: 'main' });
    expect(await server.file('main', 'README.md')).toBe('# Notes of both\n');
    expect(await server.file('main', 'other.txt')).toBe('theirs\n');
    const evidence = await server.payloads(run.id, 'EVIDENCE_RECORDED');
    expect(evidence.filter(({ codeTree }) => codeTree === done.codeTree)).toHaveLength(2);
  });
});
