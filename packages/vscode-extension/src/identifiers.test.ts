import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COMMANDS, CONTEXT_KEYS, SETTINGS, VIEW_CONTAINER, VIEWS } from './identifiers.ts';

interface Manifest {
  readonly main: string;
  readonly icon: string;
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string }[];
    readonly configuration: { readonly properties: Readonly<Record<string, { readonly scope?: string }>> };
    readonly views: Readonly<Record<string, readonly { readonly id: string }[]>>;
    readonly viewsWelcome: readonly { readonly view: string; readonly contents: string; readonly when: string }[];
    readonly keybindings: readonly { readonly command: string; readonly key: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command: string; readonly when?: string }[]>>;
  };
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
}
const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
const manifest = JSON.parse(text) as Manifest;
const { contributes } = manifest;

it('keeps every identifier in the namespace of the extension, each of them once', () => {
  const identifiers = [COMMANDS, VIEWS, SETTINGS, CONTEXT_KEYS].flatMap((names) => Object.values<string>(names));
  for (const identifier of identifiers)
    expect(identifier).toMatch(new RegExp(String.raw`^${VIEW_CONTAINER}(\.[a-z][a-zA-Z]+)+$`));
  expect(new Set(identifiers).size).toBe(identifiers.length);
});

describe('What the manifest contributes', () => {
  it('is what the code registers', () => {
    expect(contributes.commands.map(({ command }) => command).toSorted()).toEqual(Object.values(COMMANDS).toSorted());
    expect(contributes.views[VIEW_CONTAINER]?.map(({ id }) => id)).toEqual(Object.values(VIEWS));
    expect(Object.keys(contributes.configuration.properties).toSorted()).toEqual(Object.values(SETTINGS).toSorted());
  });

  it('names no command that there is not, in menus, welcome views and walkthroughs', () => {
    const known = new Set<string>(Object.values(COMMANDS));
    const inMenus = Object.values(contributes.menus).flatMap((entries) => entries.map(({ command }) => command));
    const inKeys = contributes.keybindings
      .map(({ command }) => command)
      .filter((command) => !command.endsWith('.focus'));
    const inLinks = [...text.matchAll(/command:(autonomous\.\w+)/g)].map(([, command = '']) => command);
    const awaited = [...text.matchAll(/onCommand:(autonomous\.\w+)/g)].map(([, command = '']) => command);
    for (const command of [...inMenus, ...inKeys, ...inLinks, ...awaited]) expect(known).toContain(command);
  });

  it('asks only for context keys that are set', () => {
    const controllers = ['autonomous.review', 'autonomous.pullRequest'];
    const own = new Set<string>([...Object.values(CONTEXT_KEYS), ...Object.values(VIEWS), ...controllers]);
    const clauses = [...text.matchAll(/"when": "((?:[^"\\]|\\.)*)"/g)].map(([, clause = '']) => clause);
    expect(clauses.length).toBeGreaterThan(50);
    for (const [key] of clauses.join(' ').matchAll(/\bautonomous\.[a-zA-Z]+/g)) expect(own).toContain(key);
  });

  it('lets no folder that is not trusted name the server or what is started', () => {
    expect(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations).toContain(SETTINGS.serverUrl);
    for (const setting of [
      SETTINGS.serverCommand,
      SETTINGS.serverFolder,
      SETTINGS.serverAutoStart,
      SETTINGS.serverRegistry,
    ])
      expect(contributes.configuration.properties[setting]?.scope).toBe('machine');
  });
});
