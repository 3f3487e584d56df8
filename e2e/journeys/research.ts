/**
 * A research run, started in the editor: its rounds, the plot of new findings, its sources, what was left out, and the report
 * beside it as text and as PDF; in the editor and in the dashboard, in light, dark and high contrast, on a phone and enlarged.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Frame, FrameLocator, Page } from 'playwright-core';
import { openDemoWeb } from '../../packages/orchestrator/demo/research.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import { ROOT } from '../harness/install.ts';
import { checkPdf } from '../harness/pdf.ts';
import { checkPlots } from '../harness/plots.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const SCRIPT = path.join(ROOT, 'packages', 'orchestrator', 'demo', 'notes-research.script.yaml');
const REQUEST = 'Which reading time is to be shown beside a note?';
/** Rounds of agents and the compilation, on a machine that is busy with other things. */
const RUN_TIMEOUT_MS = 180_000;
const DESK = { width: 1440, height: 1000 };
const PHONE = { width: 390, height: 844 };

type Place = Page | FrameLocator | Frame;

export const journey: Journey = {
  name: 'research',
  async play(stage) {
    const server = await startServer(stage);
    const editor = await stage.openEditor(server.reachedBy());
    const panel = editor.webView;
    await editor.openViews();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
    await editor.command('Autonomous: Launch Run…');
    await editor.choose(/^Research/);
    await editor.choose(/^notes/);
    await editor.type(REQUEST);
    await editor.page.locator('.quick-input-title', { hasText: 'Topic' }).waitFor();
    await editor.type('Reading times');
    await editor.accept('What do you want to approve yourself?');
    await editor.choose(/Options…/);
    await panel.getByRole('spinbutton', { name: 'Researchers a round' }).fill('2');
    await panel.getByRole('spinbutton', { name: /^Rounds/ }).fill('2');
    await panel.getByRole('checkbox', { name: /^Report/ }).check();
    await stage.picture(editor.page, 'form');
    await panel.getByRole('button', { name: 'Start the run' }).click();
    await panel.getByRole('heading', { name: REQUEST, level: 1 }).waitFor();
    const [run] = (await server.client.listRuns({ workflow: 'research' })).items;
    assert.ok(run !== undefined);
    await panel.getByRole('heading', { name: 'Rounds' }).waitFor();
    await stage.picture(editor.page, 'begun');
    await compileWhilePaused(stage, editor, run.id, server);
    await panel.getByRole('button', { name: 'Publish' }).waitFor({ timeout: RUN_TIMEOUT_MS });
    await theCourse(panel);
    await inEditor(stage, server, editor);
    await inDashboard(stage, server, run.id);
    await onPhone(stage, server, run.id);
    await panel.getByRole('button', { name: 'Publish' }).click();
    await editor.line(new RegExp(`^${REQUEST.replace('?', '\\?')}, Completed`)).waitFor({ timeout: RUN_TIMEOUT_MS });
  },
};

async function startServer(stage: Stage): Promise<Server> {
  const web = await openDemoWeb();
  stage.atEnd(() => web.close());
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-research-'));
  stage.atEnd(() => rm(folder, { recursive: true, force: true }));
  return stage.startServer({ env: { ...web.env, AUTONOMOUS_SCRIPT: await web.scriptIn(folder, SCRIPT, null) } });
}

/** A person pauses the run between two commits of its report, and looks at the report as PDF as it is then. */
async function compileWhilePaused(
  stage: Stage,
  editor: Awaited<ReturnType<Stage['openEditor']>>,
  runId: string,
  server: Server,
): Promise<void> {
  const panel = editor.webView;
  // A report has a version more once a round has ended.
  await panel.getByRole('heading', { name: /^Round 1/ }).waitFor({ timeout: RUN_TIMEOUT_MS });
  await panel.getByRole('button', { name: 'Pause run' }).click();
  const retry = panel.getByRole('button', { name: 'Continue' });
  await retry.waitFor();
  const { artifacts } = await server.client.getRun(runId);
  await panel.getByRole('radio', { name: 'PDF' }).check();
  await panel.getByRole('button', { name: `Compile version ${artifacts.at(-1)?.version}` }).click();
  await panel
    .getByText(`Compiled from version ${artifacts.at(-1)?.version} for you`)
    .waitFor({ timeout: RUN_TIMEOUT_MS });
  await checkPdf(panel, 'Reading times');
  await stage.picture(editor.page, 'paused-and-compiled');
  assert.deepEqual((await server.client.getRun(runId)).artifacts, artifacts);
  await panel.getByRole('radio', { name: 'Report' }).check();
  await retry.click();
}

/** Rounds, plot, sources and what else is known of the run. */
async function theCourse(place: Place): Promise<void> {
  const rounds = place.getByRole('list', { name: 'Rounds' });
  await rounds.getByRole('heading', { name: /^Round 2/ }).waitFor();
  const first = rounds.locator(':scope > li').filter({ has: place.getByRole('heading', { name: /^Round 1/ }) });
  await first.getByText(/\d new findings? · \d known · \d left out/).waitFor();
  await first.getByText('3 agents').click();
  await first.getByText('How many words a minute do adults read?').waitFor();
  await first.getByText('3 agents').click();
  await place.getByText('Fewer than 2: a quiet round').first().waitFor();
  const sources = place.getByRole('region', { name: 'Sources' });
  await sources.getByText('File of the project').first().waitFor();
  await sources.getByText('Not read').first().waitFor();
  await sources.getByText('Read', { exact: true }).first().waitFor();
  await place.getByRole('heading', { name: /^Left out \d/ }).waitFor();
  await place.getByRole('heading', { name: /^Open questions \d/ }).waitFor();
  await place.getByRole('heading', { name: /^Contradictions \d/ }).waitFor();
}

async function inEditor(stage: Stage, server: Server, editor: Awaited<ReturnType<Stage['openEditor']>>): Promise<void> {
  const panel = editor.webView;
  await checkPlots(panel, 1);
  await checkPdf(panel, 'Reading times');
  for (const [theme, kind] of [
    ['Default Light Modern', 'vscode-light'],
    ['Default Dark Modern', 'vscode-dark'],
    ['Default High Contrast', 'vscode-high-contrast'],
  ] as const) {
    await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': theme });
    await panel.locator(`body.${kind}`).waitFor();
    await checkAccessibility(await documentOf(panel), `The research in the editor, ${kind}`);
    await stage.picture(editor.page, `editor-${kind.replace('vscode-', '')}`);
  }
  await panel.getByRole('heading', { name: /^Sources \d/ }).scrollIntoViewIfNeeded();
  await stage.picture(editor.page, 'editor-sources');
}

/** The frame of a web view. */
async function documentOf(panel: FrameLocator): Promise<Pick<Page, 'evaluate'>> {
  const frame = await (await panel.locator('body').elementHandle())?.ownerFrame();
  assert.ok(frame);
  return frame;
}

async function inDashboard(stage: Stage, server: Server, runId: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await stage.openWindow({ colorScheme });
    page.setDefaultTimeout(30_000);
    await page.setViewportSize(DESK);
    await page.goto(await server.client.createSignInLink());
    await page.goto(`${server.url}/runs/${runId}`);
    await theCourse(page);
    await checkPlots(page, 1);
    await checkAccessibility(page, `The research in the dashboard, ${colorScheme}`);
    await stage.picture(page, `dashboard-${colorScheme}`);
    await checkPdf(page, 'Reading times');
    await checkAccessibility(page, `The PDF in the dashboard, ${colorScheme}`);
    await stage.picture(page, `dashboard-pdf-${colorScheme}`);
    await page.getByRole('heading', { name: /^Sources \d/ }).scrollIntoViewIfNeeded();
    await stage.picture(page, `dashboard-sources-${colorScheme}`);
    await page.getByRole('heading', { name: /^Contradictions \d/ }).scrollIntoViewIfNeeded();
    await stage.picture(page, `dashboard-lists-${colorScheme}`);
    await page.getByRole('navigation', { name: 'Parts of the run' }).getByRole('link', { name: 'PDF' }).click();
    await page.getByRole('region', { name: 'Pages of the PDF' }).getByText('Reading times').first().waitFor();
    await stage.picture(page, `pdf-${colorScheme}`);
  }
}

async function onPhone(stage: Stage, server: Server, runId: string): Promise<void> {
  const { page } = await stage.openWindow();
  page.setDefaultTimeout(30_000);
  await page.goto(await server.client.createSignInLink());
  // Enlarged to 200 %, a window of 1280 pixels has room for 640.
  for (const [name, size] of [
    ['phone', PHONE],
    ['enlarged', { width: 640, height: 500 }],
  ] as const) {
    await page.setViewportSize(size);
    await page.goto(`${server.url}/runs/${runId}`);
    await theCourse(page);
    await checkPdf(page, 'Reading times');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= size.width, `the page is ${width} px wide in a window of ${size.width}`);
    await checkAccessibility(page, `The research, ${name}`);
    await page.getByRole('heading', { name: 'New findings' }).scrollIntoViewIfNeeded();
    await stage.picture(page, name);
    await page.getByRole('heading', { name: /^Sources \d/ }).scrollIntoViewIfNeeded();
    await stage.picture(page, `${name}-sources`);
    await page.getByRole('region', { name: 'Pages of the PDF' }).scrollIntoViewIfNeeded();
    await stage.picture(page, `${name}-pdf`);
  }
}
