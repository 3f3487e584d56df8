/** Three approaches compared: plans, changes, evidence; files of one taken into another; a line commented on; one picked. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { checkAccessibility } from '../harness/accessibility.ts';
import { checkDiagram } from '../harness/diagram.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(import.meta.dirname, '..', 'harness', 'approaches.script.yaml');
const REQUESTS = ['Greet by name', 'Greet by the hour', 'Greet everybody alike'] as const;
const PHONE = { width: 390, height: 844 };

export const journey: Journey = {
  name: 'compare',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const { client } = server;
    const [project] = (await client.listProjects()).items;
    const config = { trustMode: { planning: 'auto', implementation: 'manual', fixes: 'manual' } } as const;
    const { id, runs } = await client.explore({
      projectId: project?.id ?? '',
      variants: REQUESTS.map((request) => ({ request, config })),
    });
    const [byName, byHour, alike] = await Promise.all(runs.map((run) => server.heard(run.id, 'APPROVAL_REQUESTED')));
    assert.ok(byName && byHour && alike);

    const { page } = await stage.openWindow();
    page.setDefaultTimeout(30_000);
    await page.goto(await client.createSignInLink());
    await page.goto(`${server.url}/explorations/${id}`);
    await page.getByRole('heading', { name: 'Approaches side by side' }).waitFor();
    await page.getByRole('row', { name: /^Status/ }).waitFor();
    await checkAccessibility(page, 'Figures of approaches');
    await stage.picture(page, 'figures');

    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    for (const index of REQUESTS.keys()) await checkDiagram(page.locator('.columns .diagram svg').nth(index));
    await checkAccessibility(page, 'Plans of approaches');
    await stage.picture(page, 'plans');
    await page.getByRole('button', { name: 'Evidence' }).click();
    await page.getByRole('row', { name: /^The result as it is passed/ }).waitFor();
    await checkAccessibility(page, 'Evidence of approaches');
    await stage.picture(page, 'evidence');

    await page.getByRole('button', { name: 'Changes' }).click();
    await page.getByRole('button', { name: 'src/greeting.js' }).click();
    await page.getByRole('heading', { name: 'src/greeting.js' }).waitFor();
    await page.getByRole('checkbox', { name: 'Take src/clock.js from “Greet by the hour”' }).check();
    await page.getByRole('checkbox', { name: 'Take README.md from “Greet by the hour”' }).check();
    await page.getByRole('checkbox', { name: 'Take src/greeting.js from “Greet by the hour”' }).check();
    await page.getByText('takes the place of this approach’s own version').waitFor();
    await page.getByRole('checkbox', { name: 'Take src/greeting.js from “Greet by the hour”' }).uncheck();
    await checkAccessibility(page, 'Changes of approaches');
    await stage.picture(page, 'changes');
    await page.setViewportSize(PHONE);
    await stage.picture(page, 'changes-on-a-phone');
    const { scrollWidth } = await page.evaluate(() => ({ scrollWidth: document.documentElement.scrollWidth }));
    assert.ok(scrollWidth <= PHONE.width, `the page is ${scrollWidth} px wide on a phone`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Take into “Greet by name”' }).click();
    await page.getByText('Taken: the result of').waitFor();
    await stage.picture(page, 'taken');

    const again = await server.heard(byName.id, 'APPROVAL_REQUESTED', 2);
    assert.notEqual(again.codeTree, byName.codeTree);
    const proven = again.evidence.filter(({ codeTree, passed }) => passed && codeTree === again.codeTree);
    assert.equal(proven.length, 2, 'what was taken was not checked');
    const { files } = await client.getDiff(byName.id);
    const changed = files.filter(({ path: file }) => !file.startsWith('.autonomous/'));
    assert.deepEqual(
      changed.map(({ path: file, status }) => `${status} ${file}`),
      ['deleted README.md', 'added src/clock.js', 'added src/greeting.js', 'added src/names.js'],
    );

    // A comment beside a line is the feedback.
    await page.goto(`${server.url}/runs/${byHour.id}/changes`);
    const line = page.getByRole('row', { name: /Good morning/ });
    await line.hover();
    await line.getByRole('button', { name: 'Comment on line 1' }).click();
    await page.waitForFunction(() => document.activeElement?.matches('.patch vscode-textarea'));
    await page.keyboard.type('Say good evening, too.');
    await page.keyboard.press('Escape');
    const atButton = () => document.activeElement?.getAttribute('aria-label') === 'Comment on line 1';
    await page.waitForFunction(atButton);
    // The draft is there again after another tab was shown.
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    await page.getByRole('link', { name: 'Changes', exact: true }).click();
    const field = page.getByRole('textbox', { name: 'What should be different in line 1?' });
    await field.press('Control+Enter');
    // The open gate lists it, too.
    const beside = page.getByRole('region', { name: 'Changes of src/greeting.js' });
    await beside.getByText('Say good evening, too.').waitFor();
    await page.waitForFunction(atButton);
    await page.reload();
    await beside.getByText('Say good evening, too.').waitFor();
    await page.getByRole('button', { name: 'Send back…' }).click();
    await page.getByText('1 comment beside the lines will be sent with it.').waitFor();
    await checkAccessibility(page, 'A comment on a line');
    await stage.picture(page, 'comment');
    await page.getByRole('button', { name: 'Send back', exact: true }).click();
    const sentBack = await server.heard(byHour.id, 'APPROVAL_REJECTED');
    assert.equal(sentBack.gates.at(-1)?.notes, 'src/greeting.js:1: Say good evening, too.');

    // One is picked: the others end, and their branches stay.
    await page.goto(`${server.url}/explorations/${id}`);
    await page.locator('vscode-button', { hasText: 'Choose this one…' }).first().click();
    await page.getByRole('button', { name: 'End the other 2' }).click();
    await Promise.all([byHour, alike].map((run) => server.heard(run.id, 'RUN_CANCELLED')));
    await page.getByText('continues').waitFor();
    await stage.picture(page, 'picked');
    await server.approve(byName.id);
    await server.heard(byName.id, 'RUN_COMPLETED');
  },
};
