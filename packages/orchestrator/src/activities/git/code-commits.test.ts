/** Tests which work of an interrupted implementation is kept, with a real mirror and real folders. */
import { rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, mainHead, openFixture, temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import type { Activity, ActivityContext } from '../../core/activity.ts';
import type { ActivityTools } from '../tools.ts';
import { checkpoint } from './code-commits.ts';
import { openFolder } from '../work-folders.ts';

const BRANCH = 'autonomous/r-1-login';

describe('the checkpoint of an interrupted implementation', () => {
  let temporary: ReturnType<typeof temporaryFolder>;
  let fixture: Fixture;
  let tools: ActivityTools;
  let head: string;
  let folder: string;
  beforeEach(async () => {
    temporary = temporaryFolder();
    fixture = await openFixture(temporary.path);
    const { repository, project } = fixture;
    const workFolder = path.join(temporary.path, 'work');
    // The other ports have no part in a checkpoint.
    tools = { repository, workFolder, project: () => Promise.resolve({ ...project, name: 'shop' }) } as never;
    head = await mainHead(fixture);
    folder = path.join(workFolder, 'r-1', 'implementation');
  });
  afterEach(() => temporary.remove());

  const open = () =>
    openFolder(tools, {
      project: fixture.project,
      runId: 'r-1',
      name: 'implementation',
      treeish: head,
      excludePaths: [],
      setup: null,
      signal: new AbortController().signal,
      progress: () => {},
    });
  const context = { key: 'r-1/9/checkpoint', runId: 'r-1', startedAt: '2026-03-01T12:00:00.000Z' } as ActivityContext;
  /** As the activity runner does it. */
  const carryOut = async () => {
    const { find, perform } = checkpoint(tools, 'implementation') as Activity<
      never,
      { readonly commit: string | null }
    >;
    const input = {
      runId: 'r-1',
      projectId: 'p-1',
      branch: BRANCH,
      head,
      baseCommit: head,
      stage: 'implementation',
      excludePaths: [],
    } as never;
    return (await find?.(input, context)) ?? perform(input, context);
  };

  it('keeps what the agent did, and is known again when its outcome was lost', async () => {
    await open();
    await writeFile(path.join(folder, 'half.js'), 'export const half = 1;\n');
    const { commit } = await carryOut();
    expect(await fixture.repository.readFile(fixture.project, commit ?? '', 'half.js')).toBe(
      'export const half = 1;\n',
    );
    expect(await carryOut()).toEqual({ commit, refused: [] });
  });

  it('takes nothing from a folder that was not opened to its end: what is missing there was not deleted', async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'README.md'), '# Shop\n');
    expect(await carryOut()).toEqual({ commit: null, refused: [] });
  });

  it('takes nothing where nothing was opened or changed', async () => {
    expect(await carryOut()).toEqual({ commit: null, refused: [] });
    await open();
    expect(await carryOut()).toEqual({ commit: null, refused: [] });
    rmSync(folder, { recursive: true, force: true });
    expect(await carryOut()).toEqual({ commit: null, refused: [] });
  });
});
