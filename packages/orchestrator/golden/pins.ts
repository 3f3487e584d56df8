/**
 * Pins: the hash of each source that decides what runs of released versions do, and nothing where no version is released. A changed
 * pin says that such a run could go another way; the replay of the histories says whether it does.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { folderOf } from './folders.ts';
import { addReleased, type Released, shipped } from './shipped.ts';

/** Hashes of sources by file, from `packages/`. */
export type Pins = Readonly<Record<string, string>>;

const PACKAGES = fileURLToPath(new URL('../..', import.meta.url));
const CORE = 'orchestrator/src/core';
const FILE = 'pins.json';

/** What every workflow goes through, whatever its definition says: the pure step, its facts, and the read model. */
const COMMON = [
  `${CORE}/advance.ts`,
  `${CORE}/replay.ts`,
  'orchestrator/src/run-config/run-config.ts',
  'shared/src/fold.ts',
];

/** What declares a workflow, and refuses it at its registration; it decides nothing of a run. */
const DECLARATION = `${CORE}/definition.ts`;

/** Imports of an `index.ts` that decide nothing of a run: what carries its activities out, the list of its roles, and what is shown. */
const NOT_FOLLOWED = /\/(?:activities(?:\/registry)?|roles\/index|events|event-texts|projection)\.ts$/;

export function readPins(folder: string = import.meta.dirname): Pins {
  return JSON.parse(readFileSync(path.join(folder, FILE), 'utf8')) as Pins; // our own file
}

export function writePins(pins: Pins, folder: string = import.meta.dirname): void {
  writeFileSync(path.join(folder, FILE), `${JSON.stringify(pins, null, 2)}\n`);
}

/** Names the versions that a release gives to users, and pins their sources. Called by a release alone. */
export function pinRelease(folder: string = import.meta.dirname): Released {
  const released = addReleased(folder);
  writePins(pinsNow(released), folder);
  return released;
}

/** Pins of the sources as they are now, for the versions that are released. */
export function pinsNow(released: Released): Pins {
  const all = Object.assign(
    {},
    ...shipped.filter(({ name }) => name in released).map(({ name }) => sourcesOf(name)),
  ) as Pins;
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Files whose pins differ. */
export function changedPins(before: Pins, now: Pins): readonly string[] {
  return Object.keys({ ...before, ...now }).filter((file) => before[file] !== now[file]);
}

/**
 * Sources of a workflow: its `index.ts`, its roles, what every workflow goes through, and whatever these import, types and activities
 * aside. Types, comments and layout do not count.
 */
export function sourcesOf(workflow: string): Pins {
  const folder = path.relative(PACKAGES, folderOf(workflow)).replaceAll(path.sep, '/');
  const index = `${folder}/index.ts`;
  const roles = globSync('*.ts', { cwd: path.join(PACKAGES, folder, 'roles') })
    .filter((file) => file !== 'index.ts' && !/\.(?:test|fixture)\.ts$/.test(file))
    .map((file) => `${folder}/roles/${file}`);
  const sources: Record<string, string> = {};
  const waiting = [index, ...roles, ...COMMON];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (sources[file] !== undefined) continue;
    const code = codeOf(readFileSync(path.join(PACKAGES, file), 'utf8'));
    sources[file] = hash(code);
    const isList = path.posix.basename(file) === 'index.ts';
    waiting.push(
      ...importsOf(file, code).filter((from) => from !== DECLARATION && !(isList && NOT_FOLLOWED.test(from))),
    );
  }
  return sources;
}

/** The hash of a source as it counts for a version. */
export function hashOfCode(source: string): string {
  return hash(codeOf(source));
}

/** What runs of a source: without types and comments, printed anew. */
function codeOf(source: string): string {
  return stripTypeScriptTypes(source, { mode: 'transform' });
}

function importsOf(file: string, code: string): string[] {
  return [...code.matchAll(/^(?:import|export)\s+([^'"]*?)\s*from\s*["']([^"']+)["']/gm)].flatMap(
    ([, names = '', from = '']) => {
      if (from.startsWith('.')) return [path.posix.join(path.posix.dirname(file), from)];
      const entry = SHARED_ENTRIES[from];
      return entry === undefined ? [] : namesIn(names).map((name) => sharedFileOf(name, entry));
    },
  );
}

function namesIn(clause: string): string[] {
  const [, list = ''] = /\{([^}]*)\}/.exec(clause) ?? [];
  return list.split(',').flatMap((name) => name.trim().split(/\s+as\s+/)[0] || []);
}

/** Entries of the shared package whose files count for those who import their names. */
const SHARED_ENTRIES: Readonly<Record<string, string>> = {
  '@autonomous/shared': 'shared/src/index.ts',
  '@autonomous/shared/client': 'shared/src/client.ts',
  '@autonomous/shared/presentation': 'shared/src/presentation.ts',
};

/** The file of the shared package that declares what is imported from this entry of it by this name. */
function sharedFileOf(name: string, entry: string): string {
  const declares = new RegExp(`^export (?:async )?(?:const|function|class) ${name}\\b`, 'm');
  const index = readFileSync(path.join(PACKAGES, entry), 'utf8');
  const files = [...index.matchAll(/from '\.\/([^']+)'/g)].map(([, file = '']) => `shared/src/${file}`);
  const found = files.find((file) => declares.test(readFileSync(path.join(PACKAGES, file), 'utf8')));
  if (found === undefined) throw new Error(`nothing in packages/shared declares '${name}'`);
  return found;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
