/**
 * The workflows that this product ships, every version of them, and the sources that decide what their runs do. A version
 * stays here for ever: runs are bound to it.
 */
import { globSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkflowDefinition } from '../src/core/definition.ts';
import type { Workflow } from '../src/workflows/workflow.ts';
import { workflows } from '../src/workflows/index.ts';
import { folderOf } from './folders.ts';

export interface Released {
  readonly definition: WorkflowDefinition;
  /** Files that it is made of, from `packages/`: its own, and those of the roles that carry it out. What they import is found. */
  readonly files: readonly string[];
}

const PACKAGES = fileURLToPath(new URL('../..', import.meta.url));
const CORE = 'orchestrator/src/core';

/**
 * Every version of every workflow of this product, child workflows included. A version's files are the one that defines it,
 * `<workflow>-<version>.ts`, and the roles of its workflow, which a child workflow shares with the one whose runs start it.
 */
export const released: readonly Released[] = workflows.flatMap(versionsOf);

function versionsOf(workflow: Workflow): readonly Released[] {
  const roles = roleFiles(workflow.name);
  const own = [workflow, ...(workflow.children ?? [])];
  return own.flatMap(({ name, versions }) =>
    versions.map((definition) => ({
      definition,
      files: [path.posix.join(folderIn(name), `${name}-${definition.version}.ts`), ...roles],
    })),
  );
}

/** Folder of a workflow, from `packages/`. */
function folderIn(workflow: string): string {
  return path.relative(PACKAGES, folderOf(workflow)).replaceAll(path.sep, '/');
}

function roleFiles(workflow: string): readonly string[] {
  const folder = `${folderIn(workflow)}/roles`;
  return globSync('*.ts', { cwd: path.join(PACKAGES, folder) })
    .filter((file) => file !== 'index.ts' && !/\.(?:test|fixture)\.ts$/.test(file))
    .map((file) => `${folder}/${file}`);
}

/** What every workflow goes through, whatever its definition says: the pure step, its facts, and the read model. */
const COMMON = [
  `${CORE}/advance.ts`,
  `${CORE}/replay.ts`,
  'orchestrator/src/run-config/run-config.ts',
  'shared/src/fold.ts',
];

/** What declares a workflow, and refuses it at its registration; it decides nothing of a run. */
const DECLARATION = `${CORE}/definition.ts`;

/** What is pinned of a version: one hash of all its sources, and one of each, to tell which of them changed. */
export interface Pinned {
  readonly fingerprint: string;
  readonly sources: Readonly<Record<string, string>>;
}

/**
 * The sources of a version as they are now: its files, what every workflow goes through, and whatever these import,
 * types aside. Types, comments and layout do not count.
 */
export function pinnedNow({ files }: Pick<Released, 'files'>): Pinned {
  const sources: Record<string, string> = {};
  const waiting = [...files, ...COMMON];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (sources[file] !== undefined) continue;
    const code = codeOf(readFileSync(path.join(PACKAGES, file), 'utf8'));
    sources[file] = hash(code);
    waiting.push(...importsOf(file, code).filter((imported) => imported !== DECLARATION));
  }
  const sorted = Object.fromEntries(Object.entries(sources).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { fingerprint: hash(JSON.stringify(sorted)), sources: sorted };
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
