/** What the palette does with runs, from their list to their result: screens, links, comments and the decisions of each gate. */
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import path from 'node:path';
import type { Editor } from '../harness/editor.ts';
import { ROOT } from '../harness/install.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'e2e', 'scripts', 'every-decision.script.yaml');
const FIXES = { trustMode: { planning: 'manual', implementation: 'auto', fixes: 'manual' } } as const;

export const journey: Journey = {
  name: 'commands-of-runs',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const { id } = await server.launch('A login', FIXES);
    const editor = await stage.openEditor(server.reachedBy());
    const { page, webView: panel } = editor;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await editor.openViews();
    const run = (status: string) => editor.line(new RegExp(`^A login, .*${status}`));
    // Approval of a plan accepts its additions to the memory as well, so it is given where they are shown.
    const approveInReview = async () => {
      await editor.command('Autonomous: Approve');
      await editor.notification('Nothing was decided yet.').first().waitFor();
      await panel.getByRole('button', { name: 'Approve' }).click();
    };
    await run('Waiting for approval').waitFor();

    await editor.command('Autonomous: Open List of Runs');
    await panel.getByRole('link', { name: 'A login' }).waitFor();
    await editor.command('View: Close Editor');
    await editor.command('Autonomous: Open Run');
    await editor.choose(/^A login/);
    await panel.getByRole('heading', { name: 'A login', level: 1 }).waitFor();
    // From here on it is the run in front that commands are about.
    await editor.command('Autonomous: Open Statechart');
    await panel.locator('a[aria-current]', { hasText: 'Statechart' }).waitFor();
    await editor.command('Autonomous: Open Document');
    await panel.locator('a[aria-current]', { hasText: 'Plan' }).waitFor();
    await editor.command('Autonomous: Copy Run Id');
    await editor.command('Autonomous: Compare Approaches');
    await editor.notification('There are no explorations yet.').waitFor();
    await pastes(editor, id);
    await editor.command('Autonomous: Copy Link');
    const { gate } = await server.client.getRun(id);
    await pastes(editor, `${server.url}/runs/${id}/gates/${gate?.id.slice(id.length + 1)}`);

    await editor.command('Autonomous: Ask a Question…');
    await editor.type('Where is the state kept?');
    await panel.getByText('In memory, since one process serves the application.').waitFor();
    await editor.command('Autonomous: Reject with Feedback…');
    await editor.type('With a logout.');
    await panel.getByRole('heading', { name: "Review the plan 'Login flow with a logout'" }).waitFor();
    await approveInReview();
    await run('Running').waitFor();
    await editor.command('Autonomous: Message the Agent…');
    await editor.type('Sessions are short here.');
    await run('Waiting for an answer').waitFor();
    await editor.command('Autonomous: Answer…');
    await editor.choose('GitHub only');
    await panel.getByRole('heading', { name: 'How long shall a session last?' }).waitFor();
    await editor.command('Autonomous: Ignore Question');
    // It is the planner's then.
    await panel.getByRole('heading', { name: "Review the plan 'Login flow with short sessions'" }).waitFor();
    await approveInReview();
    await run('Running').waitFor();

    // The checks of the project are run twice meanwhile.
    await run('Waiting for approval').waitFor({ timeout: 90_000 });
    await commentOnTheResult(stage, editor);
    // The server keeps the comment: a reloaded window shows it in its thread and at the panel's gate.
    await editor.reload();
    await page.locator('.review-widget').getByText('A form, please.').waitFor({ timeout: 60_000 });
    await page.getByRole('tab', { name: /^A login/ }).click();
    await panel.getByText('1 comment beside the lines, not sent yet.').click();
    await panel.getByText('A form, please.').first().waitFor();
    await stage.picture(page, 'comment-at-the-gate');
    await editor.command('Autonomous: Retry…');
    await editor.accept('1 comment beside the lines will be sent with it.');
    await run('Running').waitFor();
    await run('Waiting for approval').waitFor({ timeout: 90_000 });
    await editor.command('Autonomous: Accept as It Is…');
    await editor.type('The form comes with the next change.');
    await run('Completed').waitFor();
    await stage.picture(page, 'accepted');
    const ended = await server.client.getRun(id);
    const decided = ['ask', 'reject', 'approve', 'answer', 'ignore', 'approve', 'retry', 'accept'];
    assert.deepEqual(
      ended.gates.map(({ decision }) => decision),
      decided,
    );

    assert.match(ended.gates.at(-2)?.notes ?? '', /^src\/login\.js:\d+: A form, please\.$/, 'the comment was not sent');
    assert.equal(ended.comments, undefined, 'the comment is still to be sent');

    const events = await server.client.listEvents(id, 0);
    assert.ok(
      events.some(({ type }) => type === 'MESSAGE_SENT'),
      'the agent was told nothing',
    );
  },
};

/** What is on the clipboard sooner or later, as a person has it: by pasting it somewhere. Journeys beside this one copy, too. */
async function pastes({ page }: Editor, text: string): Promise<void> {
  const input = page.locator('.quick-input-widget input').first();
  for (let tries = 20; tries > 0; tries -= 1) {
    await page.keyboard.press('F1');
    await input.fill('');
    await page.keyboard.press('Control+V');
    const found = await input.inputValue();
    await page.keyboard.press('Escape');
    if (found === text) return;
    if (tries === 1) assert.equal(found, text);
    await setTimeout(250);
  }
}

/** A comment at the cursor, another one below it, and one of them taken back. */
async function commentOnTheResult(stage: Stage, editor: Editor): Promise<void> {
  const { page } = editor;
  await editor.command('Autonomous: Show Changes');
  await page.getByText('export const login = () => ({ status: 200').last().click();
  await editor.command('Autonomous: Comment on Line…');
  await editor.type('A form, please.');
  const thread = page.locator('.review-widget');
  await thread.getByText('A form, please.').waitFor();
  // The list of all comments has opened below and leaves no room for an answer.
  await editor.command('View: Hide Panel');
  await thread.locator('.comment-form .monaco-editor').click();
  await page.keyboard.type('And a title.');
  await thread.getByRole('button', { name: 'Add Comment' }).click();
  await thread.getByText('And a title.').waitFor();
  // Changed twice, one of the two thought better of. Each has its own buttons.
  const comment = (text: string) => thread.locator('.review-comment', { hasText: text });
  await comment('And a title.').hover();
  await comment('And a title.').getByRole('button', { name: 'Edit Comment' }).click();
  await thread.locator('.edit-textarea .monaco-editor').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('And a heading.');
  await thread.getByRole('button', { name: 'Save Comment' }).click();
  await thread.getByText('And a heading.').waitFor();
  await comment('And a heading.').hover();
  await comment('And a heading.').getByRole('button', { name: 'Edit Comment' }).click();
  await thread.locator('.edit-textarea .monaco-editor').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Never mind.');
  await thread.getByRole('button', { name: 'Discard Change' }).click();
  await thread.getByText('And a heading.').waitFor();
  await stage.picture(page, 'comments');
  await comment('And a heading.').hover();
  await comment('And a heading.').getByRole('button', { name: 'Delete Comment' }).click();
  await thread.getByText('And a heading.').waitFor({ state: 'detached' });
  await thread.getByText('A form, please.').waitFor();
}
