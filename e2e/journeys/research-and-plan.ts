/**
 * A run that researches and plans, started in the dashboard: the report of its child run is approved, then the course of the planning
 * is seen with the plan beside it, as text and as PDF, in light and dark and on a phone, and the plan is published.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openDemoWeb } from '../../packages/orchestrator/demo/research.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import { ROOT } from '../harness/install.ts';
import { checkPdf } from '../harness/pdf.ts';
import { checkPlots } from '../harness/plots.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const DEMO = path.join(ROOT, 'packages', 'orchestrator', 'demo');
const RESEARCH = path.join(DEMO, 'notes-research.script.yaml');
const PLANNING = path.join(DEMO, 'notes-plan-of-research.script.yaml');
const REQUEST = 'Show a reading time beside each note.';
/** Rounds of agents and a compilation, on a machine that is busy with other things. */
const RUN_TIMEOUT_MS = 180_000;
const DESK = { width: 1440, height: 1000 };
const PHONE = { width: 390, height: 844 };

export const journey: Journey = {
  name: 'research-and-plan',
  async play(stage) {
    const server = await startServer(stage);
    const page = await openPage(stage, server);
    await page.goto(`${server.url}/launch`);
    await page.getByLabel('Workflow').selectOption('research-and-plan');
    await page.getByLabel('What is to be done?').fill(REQUEST);
    await page.getByLabel('Topic').fill('../notes');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.getByText('A topic is a name, not a path').first().waitFor();
    await page.getByLabel('Topic').fill('Reading times');
    await page.getByRole('spinbutton', { name: 'Researchers a round' }).fill('2');
    await page.getByRole('spinbutton', { name: 'Rounds of research' }).fill('2');
    await page.getByRole('checkbox', { name: /^Report and plan/ }).check();
    await stage.picture(page, 'form');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.getByRole('heading', { name: REQUEST, level: 1 }).waitFor();
    const address = page.url();

    const waiting = page.getByRole('region', { name: '1 child run waits for you' });
    await waiting.waitFor({ timeout: RUN_TIMEOUT_MS });
    await stage.picture(page, 'waits-for-the-report');
    await waiting.getByRole('link', { name: REQUEST }).click();
    await page.getByRole('button', { name: 'Publish' }).click();

    await page.goto(address);
    await page.getByRole('button', { name: 'Publish' }).waitFor({ timeout: RUN_TIMEOUT_MS });
    await theCourse(page);
    await stage.picture(page, 'plan-light');
    const { page: dark } = await stage.openWindow({ colorScheme: 'dark' });
    await signIn(dark, server, DESK);
    await dark.goto(address);
    await theCourse(dark);
    await stage.picture(dark, 'plan-dark');
    await dark.setViewportSize(PHONE);
    const width = await dark.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `the page is ${width} px wide in a window of ${PHONE.width}`);
    await dark.getByRole('heading', { name: /^Issues/ }).scrollIntoViewIfNeeded();
    await stage.picture(dark, 'phone-issues');

    await page.getByRole('button', { name: 'Publish' }).click();
    await page.locator('.status-line', { hasText: 'Completed' }).waitFor({ timeout: RUN_TIMEOUT_MS });
    await stage.picture(page, 'completed');
  },
};

async function startServer(stage: Stage): Promise<Server> {
  const web = await openDemoWeb();
  stage.atEnd(() => web.close());
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-plan-'));
  stage.atEnd(() => rm(folder, { recursive: true, force: true }));
  return stage.startServer({ env: { ...web.env, AUTONOMOUS_SCRIPT: await web.scriptIn(folder, RESEARCH, PLANNING) } });
}

async function openPage(stage: Stage, server: Server): Promise<Page> {
  const { page } = await stage.openWindow();
  await signIn(page, server, DESK);
  return page;
}

async function signIn(page: Page, server: Server, size: typeof DESK): Promise<void> {
  page.setDefaultTimeout(30_000);
  await page.setViewportSize(size);
  await page.goto(await server.client.createSignInLink());
}

/** Rounds of planning, the blocker that its critic withdrew, and the plan beside them. */
async function theCourse(page: Page): Promise<void> {
  await page
    .getByRole('list', { name: 'Rounds of planning' })
    .getByRole('heading', { name: /^Round 4/ })
    .waitFor();
  const issues = page.getByRole('region', { name: 'Issues' }).first();
  await issues.getByText('I1 Reading time').waitFor();
  await issues.getByText('withdrawn', { exact: true }).waitFor();
  await checkPlots(page, 1);
  await page.getByRole('complementary', { name: 'Documents of the run' }).getByText('Vision & Objectives').waitFor();
  await checkPdf(page, 'Reading times');
  await checkAccessibility(page, 'The planning');
}
