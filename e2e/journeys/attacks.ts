/**
 * Hostile texts in the dashboard and in the editor: what agents, models, people and repositories write is shown as words. The
 * cases bear the ids under which the security review knows them. Both are looked at side by side, since much of it is waiting.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import type { RunView } from '../../packages/shared/src/run.ts';
import { AttackWatch } from '../harness/attack-watch.ts';
import { drawAttacks, drawSlowly, drawTooMuch, retryDrawing, type Shown } from '../harness/diagram-attacks.ts';
import type { Editor } from '../harness/editor.ts';
import { makeHistoryHostile } from '../harness/hostile-history.ts';
import { startHostileProvider } from '../harness/hostile-provider.ts';
import { AUTHOR_SHOWN, MODEL_ERROR_SHOWN, NAME, NAME_SHOWN, SUBJECT_SHOWN, TITLE } from '../harness/hostile-words.ts';
import { ROOT } from '../harness/install.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const HOSTILE = path.join(ROOT, 'e2e', 'scripts', 'hostile.script.yaml');
const CALLER = path.join(ROOT, 'e2e', 'harness', 'hostile-caller.ts');
const NO_MERGE = { git: { autoMerge: false } };
/** The title of the run that is looked at there. */
const IN_EDITOR = `Editor ${TITLE}`;
const OPTION = '<img src=x onerror="top.PWN=2">';

/** Runs that stopped at somebody else's words. */
interface Stopped {
  /** The model's provider refused. */
  readonly byModel: RunView;
  /** The remote refused the push, and named commits: no screen shows a subject or an author but in words of others. */
  readonly byRemote: RunView;
}

export const journey: Journey = {
  name: 'attacks',
  async play(stage) {
    const provider = await startHostileProvider();
    stage.atEnd(() => provider.stop());
    const server = await stage.startServer({
      env: {
        AUTONOMOUS_SCRIPT: HOSTILE,
        OPENAI_COMPATIBLE_BASE_URL: provider.url,
        // Where there is another provider, a script is played by name alone.
        DEFAULT_PLANNER_MODEL: 'scripted:hostile',
        DEFAULT_IMPLEMENTER_MODEL: 'scripted:hostile',
        DEFAULT_VALIDATOR_MODEL: 'scripted:hostile',
      },
      imports: [CALLER],
    });
    // Opening an editor takes longest of all.
    const opened = stage.openEditor({ ...server.reachedBy() });
    opened.catch(() => undefined);
    await makeHistoryHostile(server.place);
    const titles = [IN_EDITOR, TITLE, TITLE];
    const runs = await Promise.all(titles.map((title) => server.launch(title, NO_MERGE)));
    await Promise.all(runs.map(({ id }) => server.heard(id, 'APPROVAL_REQUESTED')));
    const [one = '', two = '', three = ''] = runs.map(({ id }) => id);
    const stopped = Promise.withResolvers<Stopped>();
    // The editor tells of it first; where it fails, nobody waits for the rest.
    stopped.promise.catch(() => undefined);
    const told = opened.then((editor) => inEditor(stage, server, editor, one, stopped.resolve));
    told.catch(stopped.reject);
    await Promise.all([
      told,
      drawInDashboard(stage, server, two),
      readInDashboard(stage, server, three, stopped.promise),
    ]);
  },
};

/** As soon as they are launched. */
async function launchThoseThatStop(server: Server): Promise<Stopped> {
  const launch = (title: string, config: Parameters<Server['launch']>[1]): Promise<RunView> =>
    server.launch(`${title} ${TITLE}`, { ...NO_MERGE, ...config });
  const [byModel, byRemote] = await Promise.all([
    launch('Model', { modelRouting: { planner: 'openai-compatible:any' } }),
    launch('Refused', { trustMode: { planning: 'auto' } }),
  ]);
  return { byModel, byRemote };
}

interface Dashboard {
  readonly page: Page;
  /** @throws when what is shown did anything */
  readonly check: (what: string) => Promise<void>;
}

/** A window that is signed in and shows the list of runs. */
async function openDashboard(stage: Stage, server: Server): Promise<Dashboard> {
  const { page } = await stage.openWindow();
  page.setDefaultTimeout(30_000);
  const watch = await AttackWatch.over(page);
  await page.goto(await server.client.createSignInLink());
  return {
    page,
    check: (what) => watch.check(`${what}, in the dashboard`, (address) => address.startsWith(`${server.url}/`)),
  };
}

async function drawInDashboard(stage: Stage, server: Server, runId: string): Promise<void> {
  const { page, check } = await openDashboard(stage, server);
  await page.goto(`${server.url}/runs/${runId}/plan`);
  await page.getByRole('heading', { name: TITLE, level: 1 }).waitFor();
  await page.locator('.diagram svg').waitFor();
  await checkPlan(page, () => check('E03 and E06 the plan'));
  await stage.picture(page, 'plan');
  await drawAttacks(page, () => check('E01'));
  await drawTooMuch(page, async () => {
    await stage.picture(page, 'given-up-in-the-dashboard');
    await retryDrawing(page);
  });
  await drawSlowly(page);
  await check('E02');
}

async function readInDashboard(stage: Stage, server: Server, runId: string, stopped: Promise<Stopped>): Promise<void> {
  const { page, check } = await openDashboard(stage, server);
  await page.getByRole('link', { name: TITLE }).first().waitFor();
  await check('E06 the list of runs');
  await stage.picture(page, 'runs');

  await page.goto(`${server.url}/runs/${runId}`);
  await ask(page);
  await page.getByText('onerror="top.PWN=\'reply\'"').waitFor();
  await check("E06 the planner's answer");
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('radio', { name: OPTION }).click();
  await check('E06 a question');
  await stage.picture(page, 'question');
  await somebodyIsFirst(page, server, runId);
  await check('E06 the name of whoever was first');
  await stage.picture(page, 'somebody-was-first');
  await checkStopped(page, await stopped, check);

  await page.goto(`${server.url}/runs/${runId}`);
  await page
    .getByText(/Waiting for approval|Completed|Paused|Pushed/)
    .first()
    .waitFor({ timeout: 60_000 });
  const shows: Readonly<Record<string, Locator>> = {
    Overview: page.locator('.decided').getByText(`approve by ${NAME_SHOWN}`),
    Changes: page.getByText('src/"><img src=x onerror=top.PWN=4>.js'),
    Evidence: page.getByText(/^commit [0-9a-f]{8}/),
    Transcript: page.getByText('onerror="top.PWN=\'transcript\'"'),
    Statechart: page.locator('.path li'),
    Events: page.locator('.events li'),
  };
  for (const [tab, shown] of Object.entries(shows)) {
    await openTab(page, tab);
    await shown.first().waitFor();
    if (tab === 'Events') await openEventOfName(page);
    await check(`E06 ${tab}`);
  }
  await stage.picture(page, 'after-all');
  // Figures are of gates and models, and of nobody by name.
  await page.getByRole('link', { name: 'Metrics' }).click();
  await page.getByRole('heading', { name: 'Metrics', level: 1 }).waitFor();
  await check('E06 metrics');
}

/** What is stored is shown as it is stored: what is not to be seen, as an escape. */
async function openEventOfName(page: Page): Promise<void> {
  await page
    .locator('.events summary')
    .filter({ hasText: NAME_SHOWN.slice(0, 60) })
    .first()
    .click();
  await page
    .getByLabel(/^Payload of event/)
    .getByText(JSON.stringify(NAME).replace('\u202e', String.raw`\u202e`))
    .waitFor();
}

/** An answer is sent that somebody else has given meanwhile. */
async function somebodyIsFirst(page: Page, server: Server, runId: string): Promise<void> {
  const [gate] = await server.client.listGates(runId);
  await page.route(
    '**/api/gates/*/decision',
    async (route) => {
      await server.client.decideGate(gate?.id ?? '', { decision: 'answer', response: OPTION });
      await route.continue();
    },
    { times: 1 },
  );
  await page.getByRole('button', { name: /^Answer/ }).click();
  const notice = page.getByRole('status').filter({ hasText: 'Yours was not taken' });
  await notice.getByText(`by ${NAME_SHOWN}`).waitFor();
}

/** What stopped a run is a line of the list, its gate and an event of it. */
async function checkStopped(
  page: Page,
  { byModel, byRemote }: Stopped,
  check: (what: string) => Promise<void>,
): Promise<void> {
  const cases = [
    { what: 'an error of a model', run: byModel, words: [MODEL_ERROR_SHOWN] },
    { what: 'a subject and an author of a commit', run: byRemote, words: [SUBJECT_SHOWN, AUTHOR_SHOWN] },
  ];
  for (const { what, run, words } of cases) {
    await page.getByRole('link', { name: 'Autonomous', exact: true }).click();
    const line = page.getByRole('link', { name: run.originalRequest });
    for (const word of words) await page.getByText(word).first().waitFor();
    await check(`E06 ${what} in the list of runs`);
    await line.click();
    for (const word of words) await page.locator('.gate h2').getByText(word).waitFor();
    await check(`E06 ${what} at a gate`);
    await openTab(page, 'Events');
    await page.locator('.events summary').filter({ hasText: 'RUN_PAUSED' }).click();
    await page.getByLabel(/^Payload of event/).waitFor();
    await check(`E06 ${what} in an event`);
    await openTab(page, 'Transcript');
    await page.getByRole('region', { name: 'Transcript' }).getByText(/./).first().waitFor();
    await check(`E06 ${what} in the transcript`);
  }
}

async function openTab(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name }).click();
}

async function inEditor(
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
  const stopped = await launchThoseThatStop(server);
  // A notification goes by itself: each is looked at when it comes.
  await checkNotice(editor, MODEL_ERROR_SHOWN);
  await checkNotice(editor, SUBJECT_SHOWN);
  onStopped(stopped);
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
  await drawTooMuch(panel, () => stage.picture(editor.page, 'given-up-in-the-editor'));
  await check('E02');
  await checkDecisions(editor, server, runId, check);
  await stage.picture(editor.page, 'decided-in-the-editor');
}

async function checkNotice(editor: Editor, words: string): Promise<void> {
  const message = editor.notification(plain(words)).first().locator('.notification-list-item-message');
  await message.waitFor();
  assert.equal(await message.locator('a').count(), 0, 'E06 a notification has no link');
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
  const { client } = server;
  const [gate] = await client.listGates(runId);
  // While feedback is being written, somebody else approves.
  await editor.command('Autonomous: Reject with Feedback…');
  await editor.page.locator('.quick-input-message').waitFor();
  const { artifactHash } = gate ?? {};
  await client.decideGate(gate?.id ?? '', {
    decision: 'approve',
    ...(artifactHash === undefined ? {} : { artifactHash }),
  });
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

async function ask(shown: Page | FrameLocator): Promise<void> {
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
