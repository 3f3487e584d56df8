/**
 * New runs in a few steps of the palette: the last one names what was chosen before. Enter takes it, the form changes it and has
 * what was typed, and what the server refuses is not lost.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(import.meta.dirname, '..', 'harness', 'approaches.script.yaml');

export const journey: Journey = {
  name: 'launch-steps',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: server.place.remote, stdio: 'pipe' }).toString();
    git('branch', 'next', 'main');
    const editor = await stage.openEditor(server.reachedBy());
    const panel = editor.webView;
    await editor.openViews();
    await editor.button(/^Autonomous: 0 waiting for you, 0 active/).waitFor();
    const steps = async (request: string): Promise<void> => {
      await editor.command('Autonomous: Launch Run…');
      await editor.choose(/^Build/);
      await editor.choose(/^notes/);
      await editor.type(request);
      await editor.accept('What do you want to approve yourself?');
    };

    // The first time nothing was chosen yet: the form, with what was typed.
    await steps('Greet by name');
    await editor.page.getByText('models, budgets and end as configured by the project or the server').waitFor();
    await stage.picture(editor.page, 'first-time');
    await editor.choose(/Options…/);
    const request = panel.getByRole('textbox', { name: 'What is to be done?' });
    await request.waitFor();
    assert.equal(await request.inputValue(), 'Greet by name');
    await panel.getByRole('spinbutton', { name: 'At most: US dollars of this run and its child runs' }).fill('5');
    await panel.getByRole('textbox', { name: 'Base branch' }).fill('next');
    await stage.picture(editor.page, 'form');
    await panel.getByRole('button', { name: 'Start the run' }).click();
    await panel.getByRole('heading', { name: "Review the plan 'Greet by name'" }).waitFor();

    // The next time it is one line, and Enter takes it.
    await steps('Greet by the hour');
    await editor.page.getByText('at most 5 US dollars, from next').waitFor();
    await stage.picture(editor.page, 'options');
    await editor.accept('Enter takes the options that are named');
    await editor.line(/^Greet by the hour, .*Waiting for approval/).waitFor();
    const { items } = await server.client.listRuns({});
    assert.deepEqual(
      items.map(({ config }) => [config.maxCostUsd, config.git.baseBranch, config.trustMode['planning']]),
      [
        [5, 'next', 'manual'],
        [5, 'next', 'manual'],
      ],
    );

    // What the server refuses can be changed, with nothing typed twice.
    git('branch', '-D', 'next');
    await steps('Greet everybody alike');
    await editor.accept('Enter takes the options that are named');
    const refused = editor.notification(/Not started: .*next/);
    await refused.hover();
    await stage.picture(editor.page, 'refused');
    await refused.getByRole('button', { name: 'Change Options…' }).click();
    const form = editor.page.frameLocator('iframe.webview.ready >> nth=-1').frameLocator('#active-frame');
    const again = form.getByRole('textbox', { name: 'What is to be done?' });
    await again.waitFor();
    assert.equal(await again.inputValue(), 'Greet everybody alike');
    await form.getByRole('textbox', { name: 'Base branch' }).fill('');
    await form.getByRole('button', { name: 'Start the run' }).click();
    await editor.line(/^Greet everybody alike, .*Waiting for approval/).waitFor();

    // Several approaches end with the same step.
    await editor.command('Autonomous: Explore Approaches…');
    await editor.choose(/^Build/);
    await editor.choose(/^notes/);
    await editor.choose('2');
    for (const [step, request] of [
      ['1 of 2', 'Greet by name'],
      ['2 of 2', 'Greet by the hour'],
    ] as const) {
      // The line of input of the step before is still there for a moment.
      await editor.page.locator('.quick-input-title', { hasText: step }).waitFor();
      await editor.type(request);
    }
    await editor.accept('What do you want to approve yourself?');
    await editor.page.getByText('Start 2 runs').waitFor();
    await editor.accept('Enter takes the options that are named');
    const compared = editor.page.frameLocator('iframe.webview.ready >> nth=-1').frameLocator('#active-frame');
    await compared.getByRole('heading', { name: 'Approaches side by side' }).waitFor();
  },
};
