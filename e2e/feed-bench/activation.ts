/** Windows of VS Code with the packaged extension, and what VS Code itself says that extensions took to activate. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FaceReport, FaceTask } from '../../packages/orchestrator/bench/feed/tasks.ts';
import { launchBrowser, openWindow } from '../harness/browser.ts';
import { Editor } from '../harness/editor.ts';
import { installVsix, startVscodeHost, type VscodeHost } from '../harness/vscode-host.ts';
import { packageExtension } from '../../release/package-extension.ts';

const OURS = 'Autonomous';
const ACTIVATION = /Activation: (\d+)\s*ms/;
/** High enough for all of the list, which has the fastest last. */
const SIZE = { width: 1_280, height: 2_400 };

/** @param go says that it goes on */
export async function openEditors(
  executable: string,
  { starts, url, token }: FaceTask & { readonly task: 'activation' },
  go: () => void,
): Promise<FaceReport> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-feed-vscode-'));
  const browser = await launchBrowser(executable);
  let host: VscodeHost | undefined;
  try {
    const { vsix } = await packageExtension(go, folder);
    const extensions = await installVsix(vsix, folder);
    host = await startVscodeHost({
      extensions,
      settings: { 'autonomous.serverUrl': url },
      env: { AUTONOMOUS_TOKEN: token },
    });
    const times = new Map<string, number[]>();
    let webViewScripts = 0;
    // The first window compiles the extension for those after it, as the first after an update does.
    for (let start = 0; start <= starts; start++) {
      const window = await openWindow(browser, { size: SIZE });
      const { page } = window;
      const scripts = new Set<string>();
      page.context().on('request', (request) => {
        if (/\/dist\/webview\/[^?#]+\.js/.test(request.url())) scripts.add(request.url());
      });
      const editor = await Editor.open(host, page);
      await editor.button(/^Autonomous: \d+ waiting for you/).waitFor();
      if (start > 0) {
        for (const [name, ms] of await activations(editor)) times.set(name, [...(times.get(name) ?? []), ms]);
      } else {
        await editor.command('Autonomous: Open List of Runs');
        await editor.webView.getByRole('heading', { level: 1 }).waitFor();
        webViewScripts = scripts.size;
      }
      await window.close();
      go();
    }
    const { [OURS]: activationMs = [], ...others } = Object.fromEntries(times);
    return { report: 'activated', activationMs, others, webViewScripts };
  } finally {
    await host?.stop();
    await browser.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Milliseconds by the name of the extension, from the editor's own list of those that run: code loaded, `activate` called. */
async function activations(editor: Editor): Promise<readonly (readonly [string, number])[]> {
  await editor.command('Developer: Show Running Extensions');
  const entries = editor.page.locator('.runtime-extensions-editor .extension');
  await entries.filter({ hasText: OURS }).filter({ hasText: ACTIVATION }).waitFor();
  return (await entries.allInnerTexts()).flatMap((text) => {
    const [name = ''] = text.split('\n');
    const ms = ACTIVATION.exec(text)?.[1];
    return ms === undefined ? [] : [[name, Number(ms)] as const];
  });
}
