/** Hostile texts in the dashboard: a window in which plans are drawn, and one in which everything else is read. */
import type { Locator, Page } from 'playwright-core';
import { AttackWatch } from './attack-watch.ts';
import { OPTION, type Stopped } from './hostile-runs.ts';
import { AUTHOR_SHOWN, MODEL_ERROR_SHOWN, NAME, NAME_SHOWN, SUBJECT_SHOWN, TITLE } from './hostile-words.ts';
import { checkPlan, drawAttacks, drawSlowly, drawTooMuch } from './plan-attacks.ts';
import type { Server } from './server.ts';
import type { Stage } from './stage.ts';

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

/** Cases E01, E02, E03. */
export async function drawInDashboard(stage: Stage, server: Server, runId: string): Promise<void> {
  const { page, check } = await openDashboard(stage, server);
  await page.goto(`${server.url}/runs/${runId}/plan`);
  await page.getByRole('heading', { name: TITLE, level: 1 }).waitFor();
  await page.locator('.diagram svg').waitFor();
  await checkPlan(page, () => check('E03 and E06 the plan'));
  await stage.picture(page, 'plan');
  await drawAttacks(page, () => check('E01'));
  await drawTooMuch(page, () => stage.picture(page, 'still-drawing-in-the-dashboard'));
  await drawSlowly(page);
  await check('E02');
}

/** Case E06. */
export async function readInDashboard(
  stage: Stage,
  server: Server,
  runId: string,
  stopped: Promise<Stopped>,
): Promise<void> {
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
    Overview: page.locator('.decided').getByText(`approved by ${NAME_SHOWN}`),
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
  const notice = page.getByRole('status').filter({ hasText: 'Yours was not accepted' });
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

async function ask(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Ask…' }).click();
  await page.getByRole('textbox', { name: 'Your question' }).fill("Why? <script>top.PWN='asked'</script>");
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
}
