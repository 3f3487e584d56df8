/** Links opened in the editor: one to a gate, one to approaches that are compared there, and files taken from one of them. */
import assert from 'node:assert/strict';
import path from 'node:path';
import type { Editor } from '../harness/editor.ts';
import type { Journey } from '../harness/stage.ts';

const SCRIPT = path.join(import.meta.dirname, '..', 'harness', 'approaches.script.yaml');

export const journey: Journey = {
  name: 'editor-links',
  async play(stage) {
    const server = await stage.startServer({ env: { AUTONOMOUS_SCRIPT: SCRIPT } });
    const { client } = server;
    const [project] = (await client.listProjects()).items;
    const config = { trustMode: { planning: 'auto', implementation: 'manual', fixes: 'manual' } } as const;
    const { id, runs } = await client.explore({
      projectId: project?.id ?? '',
      variants: ['Greet by name', 'Greet by the hour'].map((request) => ({ request, config })),
    });
    const [byName] = await Promise.all(runs.map((run) => server.heard(run.id, 'APPROVAL_REQUESTED')));
    assert.ok(byName?.gate);
    const editor = await stage.openEditor(server.reachedBy());
    const panel = editor.webView;

    await openLink(editor, `/runs/${byName.id}/gates/${byName.gate.id.slice(byName.id.length + 1)}`);
    await panel.locator('.gate.marked').waitFor();
    await panel.getByRole('heading', { name: "Review the result of 'Greet by name'" }).waitFor();
    await stage.picture(editor.page, 'gate');
    await openLink(editor, `/runs/${byName.id}/events/3`);
    await panel.locator('.events li.marked').waitFor();
    await stage.picture(editor.page, 'event');

    await openLink(editor, `/explorations/${id}`);
    const compared = editor.page.frameLocator('iframe.webview.ready >> nth=-1').frameLocator('#active-frame');
    await compared.getByRole('heading', { name: 'Approaches side by side' }).waitFor();
    await compared.getByRole('button', { name: 'Changes' }).click();
    await compared.getByRole('checkbox', { name: 'Take src/clock.js from “Greet by the hour”' }).check();
    await stage.picture(editor.page, 'compare');
    await compared.getByRole('button', { name: 'Take into “Greet by name”' }).click();
    await compared.getByText('Taken: the result of').waitFor();
    const again = await server.heard(byName.id, 'APPROVAL_REQUESTED', 2);
    const { files } = await client.getDiff(again.id);
    assert.ok(
      files.some((file) => file.path === 'src/clock.js'),
      'the file was not taken',
    );
  },
};

/** As when a link is clicked elsewhere and the system hands it to the editor. */
async function openLink(editor: Editor, address: string): Promise<void> {
  await editor.command('Developer: Open URL');
  await editor.type(`code-oss://autonomous.autonomous${address}`);
  const allow = editor.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open', exact: true });
  await allow.click();
}
