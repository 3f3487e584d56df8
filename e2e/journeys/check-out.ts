/**
 * A result in the person's own clone: its branch is checked out there, and nothing of theirs is lost where that cannot be. The
 * pull request of a run opens outside, and a run without one says so.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ROOT } from '../harness/install.ts';
import type { Editor } from '../harness/editor.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'two-plans.script.yaml');
const PULL_REQUESTS = path.join(ROOT, 'e2e', 'workflows', 'pull-request.ts');
const ADDRESS = 'https://forge.example/ada/notes/pull/7';

export const journey: Journey = {
  name: 'check-out',
  async play(stage) {
    const server = await stage.startServer({
      env: { AUTONOMOUS_SCRIPT: SCRIPT, AUTONOMOUS_WORKFLOWS: PULL_REQUESTS },
    });
    const trustMode = { planning: 'auto', implementation: 'auto', fixes: 'auto' } as const;
    const { id, branch } = await server.launch('A login', { trustMode, git: { autoMerge: false, createPR: true } });
    const { place } = server;
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: place.project, encoding: 'utf8', stdio: 'pipe' }).trim();
    const editor = await stage.openEditor({ ...server.reachedBy(), folder: place.project });
    await editor.openViews();
    const run = editor.line(/^A login, .*Completed/);
    // The checks of the project are run twice meanwhile.
    await server.heard(id, 'RUN_COMPLETED');
    await run.waitFor();

    // Without a pull request: of the run that is looked at it is said why.
    await editor.command('Autonomous: Open Pull Request');
    await editor.notification('No run has opened a pull request.').waitFor();
    await run.click();
    await editor.webView.getByRole('heading', { name: 'A login', level: 1 }).waitFor();
    await editor.command('Autonomous: Open Pull Request');
    await editor.notification('No forge is configured').waitFor();

    // What is not committed stands in the way, and stays.
    const readme = path.join(place.project, 'README.md');
    writeFileSync(readme, 'mine\n');
    await checkOut(editor);
    await editor.notification('Commit or stash your changes first: README.md').waitFor();
    await stage.picture(editor.page, 'changes-in-the-way');
    assert.equal(readFileSync(readme, 'utf8'), 'mine\n');
    assert.equal(git('branch', '--show-current'), 'main');
    git('restore', 'README.md');
    // So does a file that git knows nothing of, where the branch has one of that name.
    const login = path.join(place.project, 'src', 'login.js');
    writeFileSync(login, 'mine\n');
    await checkOut(editor);
    await editor.notification(/untracked working tree files would be overwritten.*src\/login\.js/).waitFor();
    assert.equal(readFileSync(login, 'utf8'), 'mine\n');
    rmSync(login);

    // A clone of something else, and a remote that is gone.
    git('remote', 'rename', 'origin', 'theirs');
    git('remote', 'set-url', 'theirs', path.join(place.folder, 'nowhere.git'));
    await checkOut(editor);
    await editor.notification(/cannot be fetched from theirs: .*nowhere\.git/).waitFor();
    execFileSync('git', ['init', '--quiet', '--bare', path.join(place.folder, 'nowhere.git')]);
    await checkOut(editor);
    await editor.notification(`No remote of the open folders has the branch ${branch}`).waitFor();
    assert.equal(git('branch', '--show-current'), 'main');
    git('remote', 'set-url', 'theirs', place.remote);

    await makeRoom(editor);
    await editor.actOnMenu(run, 'Check Out Branch');
    await editor.notification(`${branch} is checked out.`).waitFor();
    assert.equal(git('branch', '--show-current'), branch);
    assert.match(readFileSync(login, 'utf8'), /Log out/);
    await stage.picture(editor.page, 'checked-out');

    await server.client.launchRun({ workflow: 'pull-request', input: { address: ADDRESS } });
    const published = editor.line(/^pull-request .*Pull request/);
    await editor.actOnMenu(published, 'Open Pull Request');
    // Nothing leaves before the person has said so.
    const dialog = editor.page.locator('.monaco-dialog-box', { hasText: ADDRESS });
    await dialog.waitFor();
    await stage.picture(editor.page, 'pull-request');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  },
};

/** The editor takes messages that come in quicker succession for a flood, and shows none of them. */
const PACE_MS = 1_500;

/** The corner has room for three messages: those of before make way. */
async function makeRoom(editor: Editor): Promise<void> {
  await editor.command('Notifications: Clear All Notifications');
  await setTimeout(PACE_MS);
}

async function checkOut(editor: Editor): Promise<void> {
  await makeRoom(editor);
  await editor.command('Autonomous: Check Out Branch');
}
