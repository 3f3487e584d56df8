/** Brings what the journeys are played with, when it is first needed, and says where it lies. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { installLocked } from '../../tools/locked-folder.mjs';

const E2E = path.dirname(import.meta.dirname);
/** The workspace. */
export const ROOT = path.dirname(E2E);
export const EXTENSION = path.join(ROOT, 'packages', 'vscode-extension');
/** Pictures of the screens; `.ci/run` keeps them. */
export const SCREENS = path.join(E2E, 'screens');
/** Those of them that the READMEs show. */
export const README_PICTURES = path.join(ROOT, 'docs', 'pictures');

const VSCODE = path.join('node_modules', 'code-server', 'lib', 'vscode');
export const CODE_SERVER = path.join(E2E, 'code-server', 'node_modules', 'code-server', 'out', 'node', 'entry.js');

/**
 * Installs Playwright and what else `e2e/package.json` names; each script does so before it imports them.
 * @returns the folder of their executables
 */
export function installTools(): string {
  return installLocked(E2E);
}

/** Installs a real VS Code from the package registry: some 600 MB. */
export function installCodeServer(): void {
  installLocked(path.join(E2E, 'code-server'), [VSCODE, path.join(VSCODE, 'extensions')]);
}

/** Where Chromium is; undefined on a machine without it. `CHROMIUM` names another. */
export function findChromium(): string | undefined {
  const candidates = [
    process.env['CHROMIUM'],
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  return candidates.find((file) => file !== undefined && existsSync(file));
}
