/**
 * The board of a roadmap, from a project without one to the details of the item to work on next: in the dashboard in light, dark
 * and on a phone, by keyboard, and in the editor. Then an item is carried out, from the board to its release.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame, FrameLocator, Page } from 'playwright-core';
import { checkAccessibility } from '../harness/accessibility.ts';
import type { Server } from '../harness/server.ts';
import type { Journey, Stage } from '../harness/stage.ts';

const FILE = 'roadmap/roadmap.json';
const DEMO = path.resolve(import.meta.dirname, '..', '..', 'packages', 'orchestrator', 'demo');
/** Limit for the documents or the tasks of an item, each of which takes some seconds. */
const PHASES_TIMEOUT_MS = 90_000;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
const NEXT = 'Sign in by a link';
const AFTER_NEXT = 'Sessions that end after 30 days';
const LONG =
  'Notes can be shared with other people by a link that expires, with a page that shows who has opened it, when, and from where, and that can take the link back';

type Item = Readonly<Record<string, unknown>> & { readonly id: string };

function anItem(id: string, title: string, [moscow, timeHorizon, health]: readonly string[], rest: object = {}): Item {
  const times = { createdAt: '2026-02-01T10:00:00Z', updatedAt: '2026-02-01T10:00:00Z' };
  return { id, title, type: 'feature', moscow, status: 'not-started', health, timeHorizon, ...times, ...rest };
}

const ITEMS: readonly Item[] = [
  anItem('sign-in', NEXT, ['must-have', 'now', 'at-risk'], {
    description: 'People sign in by a link that is sent to them.\nNo password is kept.',
  }),
  anItem('sessions', 'Sessions that end after 30 days', ['must-have', 'now', 'on-track'], {
    dependencies: ['sign-in'],
  }),
  anItem('search', 'Search in all notes', ['must-have', 'now', 'on-track'], {
    status: 'in-progress',
    dependencies: ['index'],
    workflowState: {
      phase: 'implementing',
      specSlug: 'search-in-all-notes',
      tasksTotal: 5,
      tasksCompleted: 2,
      attempts: 2,
      blockers: ['The index of the tests is not rebuilt between two runs'],
      metrics: { costUsd: 1.25, inputTokens: 120_000, outputTokens: 9_000 },
    },
  }),
  anItem('index', 'An index of all notes', ['must-have', 'now', 'on-track'], {
    status: 'completed',
    type: 'technical-debt',
    workflowState: { phase: 'completed', tasksTotal: 3, tasksCompleted: 3 },
  }),
  anItem('share', LONG, ['must-have', 'next', 'on-track'], {
    dependencies: ['sign-in', 'sessions', 'export', 'index'],
  }),
  anItem('export', 'Export as Markdown', ['should-have', 'next', 'on-track']),
  anItem('audit', 'A log of who changed what', ['must-have', 'later', 'off-track'], { dependencies: ['sign-in'] }),
  anItem('offline', 'Notes without a network', ['should-have', 'later', 'blocked'], {
    status: 'on-hold',
    type: 'research',
    workflowState: { blockers: ['The browser’s storage is being replaced', 'No device to try it on', 'No design'] },
  }),
  anItem('themes', 'Colours of one’s own', ['could-have', 'later', 'on-track']),
  anItem('import', 'Import from other programs', ['could-have', 'next', 'on-track'], { dependencies: ['export'] }),
  anItem('mobile', 'An app for phones', ['wont-have', 'later', 'on-track'], { type: 'epic' }),
  anItem('first-page', 'A first page', ['must-have', 'now', 'on-track'], { status: 'completed' }),
];

export const journey: Journey = {
  name: 'roadmap-board',
  async play(stage) {
    const server = await stage.startServer({
      env: { AUTONOMOUS_SCRIPT: path.join(DEMO, 'notes-roadmap.script.yaml') },
    });
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.setViewportSize(DESK);
    await page.goto(await server.client.createSignInLink());
    await page.getByRole('link', { name: 'Roadmap' }).click();
    await page.waitForURL('**/roadmap');
    await withoutRoadmap(stage, page);
    await withFaults(stage, server, page);
    push(server, ITEMS, 'docs: the roadmap');
    await readAgain(page);
    await theBoard(page);
    await checkAccessibility(page, 'The board');
    await stage.picture(page, 'board');
    await inDark(stage, server);
    await details(stage, server, page);
    await onPhone(stage, server, page);
    await inEditor(stage, server);
    await carriedOut(stage, server, page);
  },
};

/** Commits the items to the base branch of the remote, as a person does. */
function push({ place: { project } }: Server, items: readonly Item[], message: string): void {
  mkdirSync(path.join(project, 'roadmap'), { recursive: true });
  writeFileSync(path.join(project, FILE), `${JSON.stringify({ projectName: 'Notes', items }, null, 2)}\n`);
  commitAll(project, message);
}

/** Commits everything in the work tree and pushes it to the base branch. */
function commitAll(project: string, message: string): void {
  git(project, 'add', '--all');
  git(project, 'commit', '--quiet', `--message=${message}`);
  git(project, 'push', '--quiet', 'origin', 'main');
}

function git(folder: string, ...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], { cwd: folder });
}

async function readAgain(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Read again' }).click();
}

async function withoutRoadmap(stage: Stage, page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'notes has no roadmap yet' }).waitFor();
  await page.getByText('"moscow": "must-have"').waitFor();
  await checkAccessibility(page, 'A project without a roadmap');
  await stage.picture(page, 'no-roadmap');
}

async function withFaults(stage: Stage, server: Server, page: Page): Promise<void> {
  const [first] = ITEMS;
  push(server, [{ ...(first as Item), moscow: 'urgent' }], 'docs: a roadmap with a fault');
  await readAgain(page);
  await page.getByRole('heading', { name: 'The roadmap has 1 fault' }).waitFor();
  await page.getByText(`Line 8: Field 'moscow' of item 'sign-in' is "urgent". Allowed: one of must-have,`).waitFor();
  await checkAccessibility(page, 'A roadmap with faults');
  await stage.picture(page, 'faults');
}

/** All of the board is there, in its place. */
async function theBoard(board: Page | FrameLocator | Frame): Promise<void> {
  const next = board.getByRole('region', { name: 'Next item' });
  await next.getByText(`Next: ${NEXT} because it is must-have, now, at-risk; 3 items wait for it.`).waitFor();
  await next.getByText('In progress (implementing, 2 of 5 tasks): go on with it.').waitFor();
  await board.getByText('12 items: 2 completed, 1 in progress, 1 on hold').waitFor();
  const lane = board.getByRole('region', { name: 'Must have' });
  const cards = lane.getByRole('list', { name: 'Now', exact: true }).locator(':scope > li');
  assert.deepEqual(await cards.locator('h4').allTextContents(), [
    'Search in all notes',
    NEXT,
    'Sessions that end after 30 days',
  ]);
  const search = cards.filter({ hasText: 'Search in all notes' });
  await search.getByText('In progress: implementing, attempt 2').waitFor();
  await search.getByText('2 of 5 tasks').waitFor();
  await search.getByText('The index of the tests is not rebuilt').waitFor();
  await search.getByText('Needs “An index of all notes”, completed').waitFor();
  assert.equal(await board.getByRole('region', { name: 'Won’t have' }).getByRole('listitem').count(), 1);
  // Completed items are folded away.
  assert.equal(await board.getByRole('link', { name: 'A first page' }).isVisible(), false);
  await board.getByText('2 completed items').waitFor();
}

async function inDark(stage: Stage, server: Server): Promise<void> {
  const { page } = await stage.openWindow({ colorScheme: 'dark' });
  page.setDefaultTimeout(30_000);
  await page.setViewportSize(DESK);
  await page.goto(await server.client.createSignInLink());
  await page.getByRole('link', { name: 'Roadmap' }).click();
  await theBoard(page);
  await checkAccessibility(page, 'The board in dark');
  await page.getByText('2 completed items').click();
  await page.getByRole('link', { name: 'A first page' }).waitFor();
  await stage.picture(page, 'board-dark');
  await page.getByRole('link', { name: 'Search in all notes' }).first().click();
  await page.getByRole('dialog', { name: 'Search in all notes' }).waitFor();
  await checkAccessibility(page, 'An item in dark');
  await stage.picture(page, 'item-dark');
}

/** By keyboard: open the next item, read its reason, look at what waits for it, come back to the board. */
async function details(stage: Stage, server: Server, page: Page): Promise<void> {
  const link = page.getByRole('region', { name: 'Must have' }).getByRole('link', { name: NEXT });
  await link.focus();
  await page.keyboard.press('Enter');
  const [project] = (await server.client.listProjects()).items;
  await page.waitForURL(`**/roadmap/${project?.id}/sign-in`);
  const dialog = page.getByRole('dialog', { name: NEXT });
  await dialog.getByText('It comes before ').waitFor();
  await dialog.getByText('No password is kept.').waitFor();
  assert.equal(await dialog.getByRole('listitem').count(), 3, 'what waits for it');
  await checkAccessibility(page, 'An item');
  await stage.picture(page, 'item');
  await start(server, dialog);
  await dialog.getByRole('link', { name: 'Sessions that end after 30 days' }).click();
  const waiting = page.getByRole('dialog', { name: 'Sessions that end after 30 days' });
  await waiting.getByText(`Waits for '${NEXT}' (sign-in), which is not-started.`).waitFor();
  assert.equal(await waiting.getByRole('button', { name: 'Start this item' }).count(), 0, 'it cannot be started');
  await page.goBack();
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.waitForURL(`**/roadmap/${project?.id}`);
  assert.equal(await link.evaluate((element) => element === document.activeElement), true, 'the focus is where it was');

  // A wont-have is started by whoever names it; an item that is gone is named.
  await page.goto(`${server.url}/roadmap/${project?.id}/mobile`);
  await page.getByRole('dialog').getByText('chosen only when it is named').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Start this item' }).waitFor();
  await page.goto(`${server.url}/roadmap/${project?.id}/gone`);
  await page.getByRole('dialog', { name: 'Item not found: gone' }).getByRole('button', { name: 'Close' }).click();
  await page.waitForURL(`**/roadmap/${project?.id}`);
}

/** The form that starts a run, or the reason why this server cannot start one. */
async function start(server: Server, dialog: ReturnType<Page['getByRole']>): Promise<void> {
  const { workflow } = await server.client.getRoadmap((await server.client.listProjects()).items[0]?.id ?? '');
  const workflows = await server.client.listWorkflows();
  if (workflows.some(({ name }) => name === workflow)) {
    await dialog.getByRole('radio', { name: /^Only the release/ }).check();
    await dialog.getByRole('button', { name: 'Start this item' }).waitFor();
  } else {
    await dialog.getByText(`This server does not have the workflow ${workflow}`).waitFor();
    const button = dialog.getByRole('button', { name: 'Start this item' });
    assert.equal(await button.evaluate((element) => element.hasAttribute('disabled')), true);
  }
}

async function onPhone(stage: Stage, server: Server, page: Page): Promise<void> {
  await page.setViewportSize(PHONE);
  await page.goto(`${server.url}/roadmap`);
  await theBoard(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= PHONE.width, `the page is ${width} px wide on a phone of ${PHONE.width}`);
  await checkAccessibility(page, 'The board on a phone');
  await stage.picture(page, 'phone');
  await page.getByRole('link', { name: LONG }).scrollIntoViewIfNeeded();
  await stage.picture(page, 'phone-long');
  await page.getByRole('link', { name: LONG }).click();
  await page.getByRole('dialog', { name: LONG }).waitFor();
  await checkAccessibility(page, 'An item on a phone');
  await stage.picture(page, 'phone-item');
}

/** The next item is started on the board, approved at its three gates, and completed there. */
async function carriedOut(stage: Stage, server: Server, page: Page): Promise<void> {
  const { project } = server.place;
  git(project, 'pull', '--quiet', '--ff-only', 'origin', 'main');
  cpSync(path.join(DEMO, 'roadmap', 'scripts'), path.join(project, 'scripts'), { recursive: true });
  mkdirSync(path.join(project, '.autonomous'), { recursive: true });
  const config = { git: { autoMerge: true }, commands: { release: 'node scripts/release.js' } };
  writeFileSync(path.join(project, '.autonomous', 'config.json'), JSON.stringify({ defaultRunConfig: config }));
  commitAll(project, 'build: a release');
  await page.setViewportSize(DESK);
  await page.goto(`${server.url}/roadmap`);
  await readAgain(page);
  const next = page.getByRole('region', { name: 'Next item' });
  await next.getByRole('link', { name: `Start ${AFTER_NEXT}` }).click();
  const dialog = page.getByRole('dialog', { name: AFTER_NEXT });
  await dialog.getByRole('radio', { name: /^Ideation, specification and release/ }).check();
  await dialog.getByRole('button', { name: 'Start this item' }).click();
  await page.waitForURL('**/runs/**');
  const runUrl = page.url();
  await approve(stage, page, 'ideation', `Review the ideation of '${AFTER_NEXT}'`);
  await approve(stage, page, 'specification', `Review the specification of '${AFTER_NEXT}'`);
  await page.getByText('2 of 2 tasks done').first().waitFor({ timeout: PHASES_TIMEOUT_MS });
  await approve(stage, page, 'release', `'${AFTER_NEXT}' is tested. Merge it into main and release it?`);
  const runId = new URL(runUrl).pathname.split('/')[2] ?? '';
  await server.heard(runId, 'RUN_COMPLETED');
  await stage.picture(page, 'released');

  await page.goto(`${server.url}/roadmap`);
  await page.getByText('12 items: 4 completed').waitFor();
  await page.getByText('4 completed items').click();
  const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: AFTER_NEXT, exact: true }) });
  await card.getByText('2 of 2 tasks').first().waitFor();
  await checkAccessibility(page, 'The board with the completed item');
  await stage.picture(page, 'item-completed');
}

async function approve(stage: Stage, page: Page, gate: string, summary: string): Promise<void> {
  await page.getByText(summary).first().waitFor({ timeout: PHASES_TIMEOUT_MS });
  await checkAccessibility(page, `The gate of the ${gate}`);
  await stage.picture(page, `gate-${gate}`);
  await page
    .getByRole('button', { name: /^(?:Approve|Publish and release$)/ })
    .first()
    .click();
  // Where notes may be added, the first click opens their field.
  const notes = page.getByRole('textbox', { name: /^Your notes/ });
  if (await notes.isVisible()) await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText(summary).first().waitFor({ state: 'hidden' });
}

async function inEditor(stage: Stage, server: Server): Promise<void> {
  const editor = await stage.openEditor(server.reachedBy());
  await editor.openViews();
  await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
  await editor.command('Autonomous: Open Roadmap');
  const panel = editor.webView;
  await theBoard(panel);
  for (const [theme, kind] of [
    ['Default Light Modern', 'vscode-light'],
    ['Default Dark Modern', 'vscode-dark'],
    ['Default High Contrast', 'vscode-high-contrast'],
  ] as const) {
    await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': theme });
    await panel.locator(`body.${kind}`).waitFor();
    await stage.picture(editor.page, `editor-${kind.replace('vscode-', '')}`);
  }
  await panel
    .getByRole('region', { name: 'Next item' })
    .getByRole('link', { name: `Start ${NEXT}` })
    .click();
  await panel.getByRole('dialog', { name: NEXT }).getByText('It comes before ').waitFor();
  await stage.picture(editor.page, 'editor-item');
  await editor.page.keyboard.press('Escape');
  await panel.getByRole('dialog').waitFor({ state: 'detached' });
  // What a person pushes is read again, in the panel that is open.
  push(
    server,
    ITEMS.map((item) => (item.id === 'sign-in' ? { ...item, status: 'completed' } : item)),
    'docs: the sign-in is done',
  );
  await panel.getByRole('button', { name: 'Read again' }).click();
  await panel.getByText('Next: Sessions that end after 30 days because it is').waitFor();
  assert.equal(await editor.page.getByRole('tab', { name: 'Roadmap' }).count(), 1);
}
