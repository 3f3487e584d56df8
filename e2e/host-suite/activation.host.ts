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
