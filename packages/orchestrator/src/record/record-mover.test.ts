/** Records of runs that ended long ago: real mirrors and remotes, and views as the store has them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Project, RunView } from '@autonomous/shared';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECORD_FORMAT } from '../documents/record-schemas.ts';
import { aView, NOON } from '../event-store/sqlite/steps.fixture.ts';
import { commitFiles, commitOnRemote, type Fixture, git, openFixture } from '../repository/git-fixture.fixture.ts';
import { ManualClock } from '../engine/engine.fixture.ts';
import { RecordMover } from './record-mover.ts';

const DAY_MS = 24 * 60 * 60_000;
const RECORD = 'autonomous/record';
const LAST_YEAR = 'autonomous/record-2025';

describe('records of old runs', () => {
  let root: string;
  let fixture: Fixture;
  let project: Project;
  let clock: ManualClock;
  let mover: RecordMover;
  const views = new Map<string, RunView>();
  const tips = new Map<string, { readonly sequence: number; readonly hash: string }>();

  beforeEach(async () => {
    root = mkdtempSync(path.join(tmpdir(), 'record-mover-'));
    fixture = await openFixture(root);
    project = { ...fixture.project, name: 'shop', createdAt: NOON };
    clock = new ManualClock();
    views.clear();
    tips.clear();
    mover = aMover();
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function aMover(afterDays = 30): RecordMover {
    return new RecordMover({
      store: {
        loadView: async (runId) => views.get(runId) ?? null,
        tipOf: async (runId) => tips.get(runId) ?? null,
      },
      repository: fixture.repository,
      clock,
      afterDays,
    });
  }

  /** A run that ended then, with its record and a commit that only the record leads to. */
  async function recorded(id: string, completedAt: string, given: Partial<RunView> = {}): Promise<string> {
    const view = aView(id, { status: 'completed', completedAt, ...given });
    const tip = { sequence: 9, hash: id.padEnd(64, '0').replace(/[^0-9a-f]/g, 'a'), at: completedAt };
    views.set(id, view);
    tips.set(id, tip);
    const head = await commitFiles(fixture, view.branch, { [`${id}.txt`]: id }, id);
    const commit = await fixture.repository.gather(project, [head]);
    const folder = `.autonomous/runs/${id}`;
    const files = {
      [`.autonomous/projects/${project.id}.json`]: '{}\n',
      [`${folder}/context.json`]: JSON.stringify({ format: RECORD_FORMAT, tip }),
      [`${folder}/events.jsonl`]: `${id}\n`,
    };
    await fixture.repository.record(project, { files, commits: [commit ?? ''], message: `Record of ${id}` });
    return head;
  }

  const filesOf = (branch: string): readonly string[] =>
    git(fixture.remote, 'ls-tree', '-r', '--name-only', branch).split('\n');
  const runsOf = (branch: string): readonly string[] => [
    ...new Set(filesOf(branch).flatMap((name) => /runs\/([^/]+)\//.exec(name)?.[1] ?? [])),
  ];
  const branches = (): readonly string[] =>
    git(fixture.remote, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/autonomous/').split('\n');

  it('move to the branch of their year, which leads to their commits by itself', async () => {
    const head = await recorded('aa-1', '2025-12-30T10:00:00.000Z');
    await recorded('bb-2', '2026-01-03T10:00:00.000Z');
    await recorded('cc-3', '2026-02-27T10:00:00.000Z');
    await recorded('dd-4', NOON, { status: 'paused' });
    const before = git(fixture.remote, 'rev-parse', RECORD);
    expect(await mover.move(project)).toBe(2);
    expect(branches()).toEqual([RECORD, LAST_YEAR, 'autonomous/record-2026']);
    expect([RECORD, LAST_YEAR, 'autonomous/record-2026'].map(runsOf)).toEqual([['cc-3', 'dd-4'], ['aa-1'], ['bb-2']]);
    expect(filesOf(LAST_YEAR)).toContain(`.autonomous/projects/${project.id}.json`);
    // Nothing was rewritten.
    git(fixture.remote, 'merge-base', '--is-ancestor', before, RECORD);
    git(fixture.remote, 'merge-base', '--is-ancestor', head, LAST_YEAR);
    expect(git(fixture.remote, 'show', `${LAST_YEAR}:.autonomous/runs/aa-1/events.jsonl`)).toBe('aa-1');
    expect(await mover.move(project)).toBe(0);

    // Those of the next weeks come to those that are there.
    clock.advance(40 * DAY_MS);
    expect(await mover.move(project)).toBe(1);
    expect(runsOf('autonomous/record-2026')).toEqual(['bb-2', 'cc-3']);
    expect(runsOf(RECORD)).toEqual(['dd-4']);
    await recorded('ee-5', NOON);
    expect(runsOf(RECORD)).toEqual(['dd-4', 'ee-5']);
  });

  it('leave the file of the project on the branch of their year as another version wrote it', async () => {
    await recorded('aa-1', '2025-12-30T10:00:00.000Z');
    await mover.move(project);
    const file = `.autonomous/projects/${project.id}.json`;
    commitOnRemote(fixture.remote, LAST_YEAR, { [file]: `{"format":${RECORD_FORMAT + 1}}` });
    await recorded('bb-2', '2025-12-31T10:00:00.000Z');
    expect(await mover.move(project)).toBe(1);
    expect(runsOf(LAST_YEAR)).toEqual(['aa-1', 'bb-2']);
    expect(git(fixture.remote, 'show', `${LAST_YEAR}:${file}`)).toBe(`{"format":${RECORD_FORMAT + 1}}`);
  });

  it('stay with a run that goes on above them, without their last events, or of others', async () => {
    await recorded('aa-1', '2025-12-30T10:00:00.000Z', { parent: { runId: 'dd-4', key: 'dd-4/1/x', depth: 1 } });
    await recorded('bb-2', '2025-12-30T10:00:00.000Z');
    tips.set('bb-2', { sequence: 10, hash: 'f'.repeat(64) });
    await recorded('cc-3', '2025-12-30T10:00:00.000Z', { projectId: 'another' });
    await recorded('dd-4', NOON, { status: 'running' });
    await recorded('ee-5', '2025-12-30T10:00:00.000Z');
    views.delete('ee-5');
    expect(await mover.move(project)).toBe(0);
    expect(branches()).toEqual([RECORD]);
    mover = aMover(0);
    tips.set('bb-2', { sequence: 9, hash: 'bb-2'.padEnd(64, '0').replace(/[^0-9a-f]/g, 'a') });
    expect(await mover.move(project)).toBe(0);
    mover = aMover();
    expect(await mover.move(project)).toBe(1);
  });

  it('are in both places after an interruption, and in one after the next time', async () => {
    await recorded('aa-1', '2025-12-30T10:00:00.000Z');
    const hook = path.join(fixture.remote, 'hooks', 'update');
    mkdirSync(path.dirname(hook), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\n[ "$1" != refs/heads/autonomous/record ]\n', { mode: 0o755 });
    await expect(mover.move(project)).rejects.toThrow('refuses a push to autonomous/record');
    expect([RECORD, LAST_YEAR].map(runsOf)).toEqual([['aa-1'], ['aa-1']]);
    rmSync(hook);
    const year = git(fixture.remote, 'rev-parse', LAST_YEAR);
    expect(await mover.move(project)).toBe(1);
    expect(git(fixture.remote, 'rev-parse', LAST_YEAR)).toBe(year);
    expect([RECORD, LAST_YEAR].map((branch) => runsOf(branch))).toEqual([[], ['aa-1']]);
  });

  it('wait where another server has just written to the record', async () => {
    await recorded('aa-1', '2025-12-30T10:00:00.000Z');
    commitOnRemote(fixture.remote, RECORD, { '.autonomous/runs/zz-9/context.json': '{}' });
    expect(await mover.move(project)).toBe(0);
    expect(branches()).toEqual([RECORD]);
    await recorded('bb-2', NOON);
    expect(await mover.move(project)).toBe(1);
    expect(runsOf(RECORD)).toEqual(['bb-2', 'zz-9']);
  });
});
