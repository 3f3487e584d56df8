import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string; readonly category: string }[];
    readonly menus: { readonly commandPalette: readonly { readonly command: string; readonly when: string }[] };
  };
}
const manifest = new URL('../packages/vscode-extension/package.json', import.meta.url);
// Our own package.
const { contributes } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
const folder = path.join(import.meta.dirname, 'journeys');
const journeys = globSync('*.ts', { cwd: folder })
  .map((file) => readFileSync(path.join(folder, file), 'utf8'))
  .join('\n');
const hidden = new Set(
  contributes.menus.commandPalette.filter(({ when }) => when === 'false').map(({ command }) => command),
);

/** Not run from the palette yet: some of them are pressed in views and panels, the others by nobody. It only gets shorter. */
const NOT_YET: readonly string[] = [
  'Connect to Server…',
  'Set Token…',
  'Connect Again',
  'Show Log',
  'Open Dashboard in Browser',
  'Show Menu',
  'Extend…',
  'Cancel Run…',
].map((title) => `Autonomous: ${title}`);

it('every command that the palette has is run from it by a journey', () => {
  const run = new Set([...journeys.matchAll(/\.command\('([^']+)'\)/g)].map(([, title]) => title));
  const shown = contributes.commands.filter(({ command }) => !hidden.has(command));
  expect(shown.length).toBeGreaterThan(30);
  const titles = shown.map(({ title, category }) => `${category}: ${title}`);
  expect(titles.filter((title) => !run.has(title))).toEqual(NOT_YET);
  // None that there is no more.
  const known = new Set([...titles, 'Autonomous: Focus on Waiting for You View']);
  const own = [...run].filter((title) => title?.startsWith('Autonomous: '));
  expect(own.filter((title) => !known.has(title ?? ''))).toEqual([]);
});

it('every command that it does not have is pressed where it shows', () => {
  const buttons = new Set([...journeys.matchAll(/\bname: '([^']+)'/g)].map(([, name]) => name));
  const titles = contributes.commands.filter(({ command }) => hidden.has(command)).map(({ title }) => title);
  expect(titles.length).toBeGreaterThan(0);
  expect(titles.filter((title) => !buttons.has(title))).toEqual([]);
});
