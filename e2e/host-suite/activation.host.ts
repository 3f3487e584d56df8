/** The extension inside the extension host, by the editor's own interface: VS Code of a desktop, or code-server. */
import assert from 'node:assert/strict';
import * as vscode from 'vscode';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly views: Readonly<Record<string, readonly { readonly id: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly default?: unknown }>> };
  };
}

/** The editor tells the extension host of tabs a little later. */
const TAB_WITHIN_MS = 10_000;

describe('the extension', () => {
  const id = process.env['E2E_EXTENSION'] ?? '';
  let extension: vscode.Extension<unknown>;
  let manifest: Manifest['contributes'];

  before(() => {
    const found = vscode.extensions.getExtension<unknown>(id);
    assert.ok(found, `${id} is not there`);
    extension = found;
    // What VS Code hands out is the package's own manifest.
    manifest = (found.packageJSON as Manifest).contributes;
  });

  it('is activated', async () => {
    const isEarly = extension.isActive;
    const startedAt = performance.now();
    await extension.activate();
    const ms = Math.round(performance.now() - startedAt);
    process.stdout.write(
      `      VS Code ${vscode.version} (${vscode.env.appName}); ${isEarly ? 'was active already' : `activated in ${ms} ms`}\n`,
    );
    assert.ok(extension.isActive);
  });

  it('registers each command that it contributes', async () => {
    const registered = new Set(await vscode.commands.getCommands(true));
    const missing = manifest.commands.map(({ command }) => command).filter((command) => !registered.has(command));
    assert.deepEqual(missing, []);
  });

  it('contributes each command that it registers', async () => {
    const contributed = new Set(manifest.commands.map(({ command }) => command));
    const views = Object.values(manifest.views).flat();
    // VS Code makes some of its own for each view: to focus it, to hide it.
    const isOfView = (command: string): boolean => views.some(({ id: view }) => command.startsWith(`${view}.`));
    const own = (await vscode.commands.getCommands(true)).filter(
      (command) => command.startsWith('autonomous.') && !isOfView(command),
    );
    assert.deepEqual(
      own.filter((command) => !contributed.has(command)),
      [],
    );
  });

  it('says in words what a command lacks, and rejects for no caller', async () => {
    // Without a server, a run and a person: none of them may throw at whoever calls it.
    for (const command of ['refresh', 'openPlan', 'showDiff', 'checkout', 'copyId', 'approve', 'openPullRequest'])
      assert.equal(await vscode.commands.executeCommand(`autonomous.${command}`), undefined);
    assert.equal(await vscode.commands.executeCommand('autonomous.checkout', { runId: 'r-none' }), undefined);
  });

  it('opens a form for new runs once', async () => {
    const tabs = (): readonly vscode.Tab[] =>
      vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(({ label }) => label === 'Launch a run');
    await vscode.commands.executeCommand('autonomous.openLaunchForm');
    await vscode.commands.executeCommand('autonomous.openLaunchForm');
    const deadline = Date.now() + TAB_WITHIN_MS;
    while (tabs().length === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(tabs().length, 1);
    await vscode.window.tabGroups.close([...tabs()]);
  });

  it('fills each view that it contributes', async () => {
    const registered = new Set(await vscode.commands.getCommands(true));
    const views = Object.values(manifest.views).flat();
    assert.ok(views.length > 0);
    // VS Code makes this command for a view that it knows.
    assert.deepEqual(
      views.filter((view) => !registered.has(`${view.id}.focus`)),
      [],
    );
  });

  it('has the settings that it contributes, at their defaults', () => {
    const changed = Object.entries(manifest.configuration.properties).filter(([name, property]) => {
      const { defaultValue } = vscode.workspace.getConfiguration().inspect(name) ?? {};
      return JSON.stringify(defaultValue) !== JSON.stringify(property.default);
    });
    assert.deepEqual(changed, []);
  });
});
