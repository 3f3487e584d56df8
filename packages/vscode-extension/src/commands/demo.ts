/** The demo in the editor: a server of its own, in which a script plays the models, with one run that waits for the person. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { type Host, type Panels, runsOf } from '../host.ts';
import { SETTINGS } from '../identifiers.ts';
import { isAlive } from '../server-package/install-lock.ts';
import { configuredUrl } from '../local-server/server-place.ts';
import { demoCommand } from './start-server.ts';

const APPEARS_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 200;

export async function tryDemo(host: Host, panels: Panels): Promise<void> {
  const { server, connection } = host;
  if (!vscode.workspace.isTrusted)
    throw new Error('This workspace is in restricted mode: a server is started only from a workspace that you trust.');
  const setting = configuredUrl();
  if (setting !== null)
    throw new Error(
      `The demo is a server of its own, and ${setting} is set as the server. Empty ${SETTINGS.serverUrl} first.`,
    );
  if (server.isDemo) return openRun(host, panels);
  if (server.state !== 'stopped') {
    const stop = 'Stop It and Try the Demo';
    const picked = await vscode.window.showInformationMessage(
      'The demo has a server of its own. The local server is stopped for it; its runs go on when it is started again.',
      { modal: true },
      stop,
    );
    if (picked !== stop) return;
    await server.stop();
  }
  const command = await demoCommand(host, await emptyFolder(host));
  if (command === null) return;
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Starting the demo…' },
    () => server.start(command, { isDemo: true }),
  );
  await connection.connect();
  await openRun(host, panels);
  const end = 'End the Demo';
  // It stays as long as it is not read; the demo does not wait for it.
  void vscode.window
    .showInformationMessage(
      'This is the demo: a script plays the models, everything else is real. Read the plan and approve it.',
      end,
    )
    .then(async (picked) => {
      if (picked !== end || !server.isDemo) return;
      await server.stop();
      await connection.connect();
    });
}

/** A folder for this window's demo; those of windows that are gone are removed. */
async function emptyFolder({ context }: Host): Promise<string> {
  const root = vscode.Uri.joinPath(context.globalStorageUri, 'demo').fsPath;
  await mkdir(root, { recursive: true });
  for (const name of await readdir(root)) {
    if (Number(name) === process.pid || !isAlive(Number(name)))
      await rm(join(root, name), { recursive: true, force: true });
  }
  return join(root, String(process.pid));
}

/** Its one run, as soon as the connection has it. */
async function openRun(host: Host, panels: Panels): Promise<void> {
  for (let waited = 0; waited < APPEARS_WITHIN_MS && host.server.isDemo; waited += LOOK_EVERY_MS) {
    const [run] = Object.values(runsOf(host));
    if (run !== undefined) return panels.openScreen({ name: 'run', runId: run.id });
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
