/** A run that conflicts with its base: its branch is checked out in the person's clone with the base merged in, to be resolved in the editor. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../harness/install.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');

export const journey: Journey = {
  name: 'merge-conflict',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const trustMode = { planning: 'manual', implementation: 'auto', fixes: 'auto' } as const;
    const { id, branch } = await server.launch('A login', { trustMode, git: { autoMerge: true, createPR: false } });
    const { place } = server;
    const git = (...args: string[]): string =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
        cwd: place.project,
        encoding: 'utf8',
        stdio: 'pipe',
      }).trim();
    await server.heard(id, 'APPROVAL_REQUESTED');
    // A colleague is faster.
    const login = path.join(place.project, 'src', 'login.js');
    writeFileSync(login, '// A login of a colleague\n');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Add a login');
    git('push', '--quiet', 'origin', 'HEAD:main');
    await server.approve(id);
    await server.heard(id, 'RUN_PAUSED');

    const editor = await stage.openEditor({ ...server.reachedBy(), folder: place.project });
    await editor.openViews();
    await editor.line(/^A login, .*conflict/i).waitFor();
    await editor.command('Autonomous: Resolve Merge Conflict');
    await editor.choose(/A login/);
    const notification = editor.notification(/is checked out with main merged in; conflicts are in src\/login\.js/);
    await notification.waitFor();
    assert.equal(git('branch', '--show-current'), branch);
    assert.equal(git('rev-parse', 'MERGE_HEAD'), git('rev-parse', 'origin/main'));
    assert.match(readFileSync(login, 'utf8'), /^<<<<<<< HEAD\n/);
    await stage.picture(editor.page, 'merge-editor');

    // A second time the merge is in the way, and stays.
    await editor.command('Autonomous: Resolve Merge Conflict');
    await editor.choose(/A login/);
    await editor.notification('Commit or stash your changes first: src/login.js').waitFor();
    await notification.getByRole('button', { name: 'Open Gate' }).click();
    await editor.webView.getByRole('button', { name: 'Resolve in the editor' }).waitFor();
  },
};
