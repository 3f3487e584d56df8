/** Figures of real runs, from none to two, in the dashboard and in the editor: those that the runs' own events give. */
import assert from 'node:assert/strict';
import type { WorkflowEvent } from '../../packages/shared/src/events.ts';
import { checkAccessibility } from '../harness/accessibility.ts';
import { checkPlots } from '../harness/plots.ts';
import type { Server } from '../harness/server.ts';
import type { Journey } from '../harness/stage.ts';

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 800 };
const PLOTS = 7;

export const journey: Journey = {
  name: 'metrics',
  async play(stage) {
    const server = await stage.startServer();
    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.goto(await server.client.createSignInLink());
    await page.getByRole('link', { name: 'Metrics' }).click();
    await page.waitForURL('**/metrics');
    await page.getByText('No run was started, ended or waited in the last 30 days').waitFor();
    await checkAccessibility(page, 'Metrics without runs');
    await stage.picture(page, 'no-runs');

    const events = await wholeRun(server);
    // What is shown follows the run by itself.
    await page.getByText('1 completed, 0 failed, 0 cancelled').waitFor();
    const { total } = await server.client.getMetrics();
    const first = events[0] as WorkflowEvent;
    assert.equal(total.timeToCompletion?.medianMs, timeOf(events, 'RUN_COMPLETED') - Date.parse(first.timestamp));
    const waited = {
      plan: timeOf(events, 'APPROVAL_GRANTED') - timeOf(events, 'APPROVAL_REQUESTED'),
      clarification: timeOf(events, 'CLARIFICATION_ANSWERED') - timeOf(events, 'CLARIFICATION_REQUESTED'),
    };
    assert.deepEqual(Object.fromEntries(total.waiting.map(({ gate, totalMs }) => [gate, totalMs])), waited);
    const { cost } = await server.client.getRun(first.workflowRunId);
    assert.ok(cost.calls > 0);
    const { costUsd, inputTokens, outputTokens, calls } = total.spending;
    assert.deepEqual(
      { costUsd, inputTokens, outputTokens, calls },
      { costUsd: cost.costUsd ?? 0, inputTokens: cost.inputTokens, outputTokens: cost.outputTokens, calls: cost.calls },
    );

    // A model that plays a script has no price.
    await page.getByRole('heading', { name: 'Tokens by stage' }).waitFor();
    await page.locator('.tiles').getByText('100 %', { exact: true }).waitFor();
    const gates = page.getByRole('region', { name: 'Waiting by gate, in all' });
    for (const [name, ms] of [
      ['Plan', waited.plan],
      ['Question', waited.clarification],
    ] as const) {
      const cells = await gates.getByRole('row', { name }).getByRole('cell').allTextContents();
      assert.deepEqual(cells, ['1', secondsText(ms), secondsText(ms), secondsText(ms), '–']);
    }
    const models = page.getByRole('region', { name: 'Cost by model, in all' });
    const [row = ''] = await models.getByRole('row', { name: 'scripted:' }).allTextContents();
    assert.ok(row.includes(`${calls}${inputTokens.toLocaleString('en')}${outputTokens.toLocaleString('en')}`), row);
    await checkPlots(page, PLOTS);
    await checkAccessibility(page, 'Metrics');
    await stage.picture(page, 'one-run');

    const other = await server.launch();
    await server.heard(other.id, 'APPROVAL_REQUESTED');
    await page.getByText('1 open now, 1 of them waiting').waitFor();
    await server.client.cancelRun(other.id);
    await page.getByText('1 completed, 0 failed, 1 cancelled').waitFor();
    await page.locator('.tiles').getByText('50 %', { exact: true }).waitFor();

    await page.getByRole('link', { name: '7 days' }).click();
    await page.waitForURL('**/metrics/7');
    await page.getByRole('combobox', { name: 'Project' }).click();
    await page.getByRole('option', { name: 'notes' }).click();
    await page.waitForURL(`**/metrics/7/${other.projectId}`);
    await page.getByText('1 completed, 0 failed, 1 cancelled').waitFor();
    const ended = page.getByRole('figure', { name: 'Runs that ended' });
    await ended.getByText('As a table').click();
    assert.equal(await ended.getByRole('row').count(), 8);
    await checkAccessibility(page, 'Metrics of a project');
    // A deep link, in a window of the size of a phone.
    await page.setViewportSize(PHONE);
    await page.goto(`${server.url}/metrics/90`);
    await checkPlots(page, PLOTS);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `the page is ${width} px wide on a phone of ${PHONE.width}`);
    await stage.picture(page, 'on-a-phone');
    await page.setViewportSize(DESK);

    const editor = await stage.openEditor(server.reachedBy());
    await editor.openViews();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
    await editor.command('Autonomous: Open Metrics');
    const panel = editor.webView;
    await panel.getByText('1 completed, 0 failed, 1 cancelled').waitFor();
    await checkPlots(panel, PLOTS);
    await stage.picture(editor.page, 'in-the-editor');
    await panel.getByRole('link', { name: '90 days' }).click();
    await panel.getByText('How they ended, by week.').waitFor();
    await editor.set({ ...server.reachedBy().settings, 'workbench.colorTheme': 'Default High Contrast' });
    await panel.locator('body.vscode-high-contrast').waitFor();
    await checkPlots(panel, PLOTS);
    await stage.picture(editor.page, 'in-high-contrast');
    assert.equal(await editor.page.getByRole('tab', { name: 'Metrics of runs' }).count(), 1);
  },
};

/** A run that is approved, answered and merged. @returns its events */
async function wholeRun(server: Server): Promise<readonly WorkflowEvent[]> {
  const { client } = server;
  const { id } = await server.launch();
  await server.heard(id, 'APPROVAL_REQUESTED');
  await server.approve(id);
  await server.heard(id, 'CLARIFICATION_REQUESTED');
  await client.decideOpenGate(id, { decision: 'answer', response: 'Google and GitHub' });
  await server.heard(id, 'RUN_COMPLETED');
  return client.listEvents(id, 0, 1_000);
}

function timeOf(events: readonly WorkflowEvent[], type: string): number {
  const found = events.filter((event) => event.type === type);
  assert.equal(found.length, 1, type);
  return Date.parse(found[0]?.timestamp ?? '');
}

/** As the page writes times of less than a minute. */
function secondsText(ms: number): string {
  assert.ok(ms < 59_000, `${ms} ms`);
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
}
