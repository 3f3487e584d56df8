#!/usr/bin/env -S node --max-semi-space-size=8
/**
 * The program of the published package: a command, the server where no command is given, or the demo. All other files are imported
 * after the check of the Node version, since an old Node may fail to load them.
 */
import { readFileSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';

/** As for a command line or configuration that cannot be taken (`EXIT.usage`). */
const EXIT_USAGE = 64;

const fault = nodeFault();
if (fault !== null) {
  process.stderr.write(`${fault}\n`);
  process.exit(EXIT_USAGE);
}

// Later starts take half of the time. Where the folder cannot be written, nothing is kept.
const { XDG_CACHE_HOME, HOME = '' } = process.env;
const cache = XDG_CACHE_HOME || (HOME === '' ? '' : path.join(HOME, '.cache'));
if (path.isAbsolute(cache)) module.enableCompileCache(path.join(cache, 'autonomous', 'compiled'));

const [command] = process.argv.slice(2);
if (command === 'demo') {
  process.argv.splice(2, 1);
  await import('../demo/main.ts');
} else {
  if (command === undefined) process.argv.push('serve');
  await import('../src/main.ts');
}

/** The problem with the Node that runs this, by the `engines` of the package. `null`: it is new enough. */
function nodeFault(): string | null {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly engines?: { readonly node?: string };
  };
  const oldest = /^>=(\d[\d.]*)$/.exec(manifest.engines?.node ?? '')?.[1];
  const present = process.versions.node;
  if (oldest === undefined || !isOlder(present, oldest)) return null;
  return `Autonomous needs Node ${oldest} or newer, and ${process.execPath} is Node ${present}: install a newer one (https://nodejs.org/en/download) and put it first in PATH.`;
}

function isOlder(present: string, oldest: string): boolean {
  const parts = present.split('.').map(Number);
  const [part, index] = oldest
    .split('.')
    .map((each, at) => [Number(each), at] as const)
    .find(([each, at]) => each !== parts[at]) ?? [0, 0];
  return (parts[index] ?? 0) < part;
}
