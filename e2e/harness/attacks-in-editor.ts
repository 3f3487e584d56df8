/** Hostile texts in the editor: its own trees, messages, prompts and choices, and a web view. */
import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { AttackWatch } from './attack-watch.ts';
import type { Editor } from './editor.ts';
import { IN_EDITOR, launchStoppedByModel, launchStoppedByRemote, OPTION, type Stopped } from './hostile-runs.ts';
import { MODEL_ERROR_SHOWN, NAME_SHOWN, SUBJECT_SHOWN } from './hostile-words.ts';
import { checkPlan, drawAttacks, drawTooMuch } from './plan-attacks.ts';
import type { Server } from './server.ts';
import type { Stage } from './stage.ts';

/** @param onStopped told of the runs that stop once the editor has told of them */
export async function lookInEditor(
  stage: Stage,
  server: Server,
  editor: Editor,
  runId: string,
  onStopped: (stopped: Stopped) => void,
): Promise<void> {
  const watch = await AttackWatch.over(editor.page);
  // A web view's own files bear a name that only its service worker knows.
  const isOwn = (address: string): boolean =>
    address.startsWith(`${editor.host.origin}/`) ||
    /^https:\/\/[\w+-]+\.vscode-resource\.vscode-cdn\.net\/.*\/dist\/webview\/[a-z]+\.(?:css|js|ttf)$/.test(address);
  const check = (what: string): Promise<void> => watch.check(`${what}, in the editor`, isOwn);
  await editor.openViews();
  const line = editor.line(/^Editor .*PWN='run'.*Waiting for approval/);
  await line.waitFor();

  // What is told is words, and no link of them.
  const byModel = await launchStoppedByModel(server);
  await checkNotice(editor, withoutBrackets(plain(MODEL_ERROR_SHOWN)), ['Review', 'Retry']);
  // There is no room for two of their length: the one that comes later takes it.
  const byRemote = await launchStoppedByRemote(server);
  await checkNotice(editor, withoutBrackets(plain(SUBJECT_SHOWN)), ['Review', 'Retry']);
  onStopped({ byModel, byRemote });
  await check('E06 tree and notification');
  await stage.picture(editor.page, 'tree-and-notification');
  await checkTooltip(editor, editor.line(/^Model .*Paused/).first(), MODEL_ERROR_SHOWN);
  await checkTooltip(editor, editor.line(/^Refused .*Paused/).first(), SUBJECT_SHOWN);
  await check('E06 what is told beside a line');
  await checkPrompt(editor, () => check('E06 a choice and a prompt'));
  await stage.picture(editor.page, 'prompt');
  await editor.page.keyboard.press('Escape');

  await line.click();
  const panel = editor.webView;
  await panel.getByRole('heading', { name: IN_EDITOR, level: 1 }).waitFor();
  await panel.locator('.diagram svg').first().waitFor();
  await checkWebViewPage(editor);
  await checkPlan(panel, () => check('E03 and E06 the plan'));
  await stage.picture(editor.page, 'plan-in-the-editor');
  await drawAttacks(panel, () => check('E01'));
  await drawTooMuch(panel, () => stage.picture(editor.page, 'still-drawing-in-the-editor'));
  await check('E02');
  await checkDecisions(editor, server, runId, check);
  await stage.picture(editor.page, 'decided-in-the-editor');
}

/** @param actions the extension's own links, which stand behind the words; there is no other link */
async function checkNotice(editor: Editor, words: string, actions: readonly string[] = []): Promise<void> {
  const message = editor.notification(plain(words)).first().locator('.notification-list-item-message');
  const links = await message.evaluate((element) =>
    [...element.querySelectorAll('a')].map((link) => ({ title: link.textContent, address: link.getAttribute('href') })),
  );
  assert.deepEqual(
    links.map(({ title }) => title),
    actions,
    'E06 a notification has no link of others',
  );
  for (const { address } of links)
    assert.match(address ?? '', /^command:autonomous\.\w+\?/, 'E06 a link runs our commands');
}

async function checkTooltip(editor: Editor, line: Locator, words: string): Promise<void> {
  await editor.page.mouse.move(800, 500);
  await line.hover();
  const tooltip = editor.page.locator('.monaco-hover:visible').filter({ hasText: words });
  await tooltip.waitFor();
  assert.equal(await tooltip.locator('img, script, [data-href^="command:"]').count(), 0, 'E06 a tooltip is words');
}

/** The editor makes links of what a prompt says, and they may run commands; of a choice it makes pictures. */
async function checkPrompt(editor: Editor, check: () => Promise<void>): Promise<void> {
  await editor.command('Autonomous: Retry…');
  const option = editor.page
    .locator('.quick-input-list')
    .getByRole('option', { name: /^Model/ })
    .first();
  await option.waitFor();
  await check();
  await option.click();
  const prompt = editor.page.locator('.quick-input-message');
  await prompt.getByText(plain(MODEL_ERROR_SHOWN)).waitFor();
  assert.equal(await prompt.locator('a, .codicon').count(), 0, 'E06 a prompt is words');
  await check();
}

/** Decisions of somebody with a hostile name, and the question that follows, with the editor's own means. */
async function checkDecisions(
  editor: Editor,
  server: Server,
  runId: string,
  check: (what: string) => Promise<void>,
): Promise<void> {
  // While feedback is being written, somebody else approves.
  await editor.command('Autonomous: Reject with Feedback…');
  await editor.page.locator('.quick-input-message').waitFor();
  await server.approve(runId);
  await editor.type('Smaller, please');
  await checkNotice(editor, `Somebody was first: ${NAME_SHOWN}`);
  const panel = editor.webView;
  await panel.getByRole('status').filter({ hasText: 'Decided elsewhere' }).getByText(NAME_SHOWN).waitFor();
  await check('E06 the name of whoever was first');

  await panel.getByRole('radio', { name: OPTION }).waitFor();
  await check('E06 a question');
  await editor.command('Autonomous: Answer…');
  await editor.choose(OPTION);
  const { gates } = await server.heard(runId, 'CLARIFICATION_ANSWERED');
  assert.equal(gates.at(-1)?.notes, OPTION, 'the option is sent as the agent gave it');
}

/** As the editor is given it: what it would make links and pictures of is taken apart. */
function plain(words: string): string {
  return words.replaceAll('](', '] (').replaceAll('$(', '$ (');
}

/** As a notification that has links of its own shows it: without what would begin another one. */
function withoutBrackets(words: string): string {
  return words.replaceAll('[', '(').replaceAll(']', ')');
}

/** E04: the page as the editor has it, not as it was meant. */
async function checkWebViewPage(editor: Editor): Promise<void> {
  const inner = editor.page
    .frames()
    .filter((frame) => frame.name() === 'active-frame' || /fake\.html/.test(frame.url()));
  const pages = await Promise.all(
    inner.map((frame) =>
      frame.evaluate(() => ({
        policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute('content') ?? '',
        scripts: [...document.querySelectorAll('script')].map(({ src, nonce }) => ({ src, nonce })),
        handlers: [...document.querySelectorAll('*')].filter((element) =>
          [...element.attributes].some(({ name }) => name.startsWith('on')),
        ).length,
        links: [...document.querySelectorAll('a')].map(({ href }) => href),
      })),
    ),
  );
  const page = pages.find(({ policy }) => policy.includes("default-src 'none'"));
  assert.ok(page, 'E04 the web view has a policy that lets nothing in');
  const nonce = /script-src 'nonce-([^']+)'/.exec(page.policy)?.[1];
  assert.match(nonce ?? '', /^[\w+/]{22}==$/, 'E04 scripts bear a nonce of this load');
  assert.doesNotMatch(page.policy, /unsafe-eval|connect-src|frame-src|script-src[^;]*(?:https?:|'unsafe)/);
  const own = page.scripts.filter((script) => script.src.endsWith('/dist/webview/app.js'));
  assert.equal(own.length, 1, 'E04 one script of ours runs');
  assert.equal(own[0]?.nonce, nonce);
  assert.equal(page.handlers, 0, 'E04 no element has a handler in its text');
  assert.deepEqual(
    page.links.filter((href) => /^(?:command|file|javascript|data):/i.test(href)),
    [],
  );
}
