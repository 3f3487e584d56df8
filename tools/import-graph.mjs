/**
 * The import graph of the workspace: the files that a file loads at run time. Imports of types alone are left out, since they are
 * stripped. A program, worker, script or folder that a file names by a literal path counts as imported, because it is about to
 * start or read it. A file that is found by a listing or by a computed name is not seen.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const SOURCE = /\.(?:[cm]?[jt]s|tsx)$/;
/** A folder with more files is the root of something, and its name is only the first part of a path. */
const FILES_IN_A_NAMED_FOLDER = 150;
const IMPORTS_OF_TYPES = /^[ \t]*(?:import|export)\s+type\b[^'";]*?\bfrom\s*['"][^'"]+['"]/gm;
const IMPORTS = [
  /^[ \t]*(?:import|export)\b[^'";]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^[ \t]*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\s*\(\s*(?:\/\*.*?\*\/\s*)?['"]([^'"]+)['"]/g,
];
const OWN_ENDING = '${import.meta.url.slice(-3)}';
const NAMED_FILES = /['"`]((?:\.{1,2}\/)*[\w@][\w@./-]*\.\w+)['"`]/g;
const NAMED_BY_URL = /\bnew URL\(\s*['"`]([^'"`]+)['"`]\s*,\s*(?:import\.meta\.url|`file:)/g;
const NAMED_BY_PARTS = /\bimport\.meta\.dirname((?:,\s*['"][^'"]+['"])+)/g;

/**
 * @param root folder of the workspace, a git checkout
 * @returns the imported files by file, each a path from `root` with forward slashes
 */
export function readImportGraph(root) {
  const files = listFiles(root);
  const places = placesOf(files);
  const entries = readEntries(root, files);
  return new Map(
    [...files].map((file) => {
      if (!SOURCE.test(file)) return [file, new Set()];
      return [file, importedBy(file, readFileSync(path.join(root, file), 'utf8'), { files, places, entries })];
    }),
  );
}

/**
 * The files that reach one of `targets`, with the smallest number of imports between them: 0 for a target itself.
 * @param graph as `readImportGraph` gives it
 */
export function distancesTo(graph, targets) {
  const importers = new Map();
  for (const [file, imported] of graph) {
    for (const target of imported) importers.set(target, [...(importers.get(target) ?? []), file]);
  }
  const distances = new Map([...targets].map((target) => [target, 0]));
  for (const [file, distance] of distances) {
    for (const importer of importers.get(file) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  return distances;
}

/** Files that git tracks or would track. */
function listFiles(root) {
  const { stdout, status, stderr } = spawnSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 100_000_000,
    },
  );
  if (status !== 0) throw new Error(`The files of '${root}' cannot be listed: ${stderr}`);
  const deleted = spawnSync('git', ['ls-files', '-z', '--deleted'], { cwd: root, encoding: 'utf8' });
  const gone = new Set(deleted.stdout.split('\0'));
  return new Set(stdout.split('\0').filter((file) => file !== '' && !gone.has(file)));
}

/** Files by each folder that contains them. */
function placesOf(files) {
  const places = new Map();
  for (const file of files) {
    for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
      if (!places.has(folder)) places.set(folder, []);
      places.get(folder).push(file);
    }
  }
  return places;
}

/** Entries of the workspace's packages by the specifier that others import, and their `#…` imports by package folder. */
function readEntries(root, files) {
  const entries = new Map();
  for (const manifest of files) {
    if (!/^packages\/[^/]+\/package\.json$/.test(manifest)) continue;
    const folder = path.posix.dirname(manifest);
    const { name, exports = {}, imports = {} } = JSON.parse(readFileSync(path.join(root, manifest), 'utf8'));
    for (const [entry, file] of Object.entries(exports)) {
      if (typeof file === 'string') entries.set(path.posix.join(name, entry), path.posix.join(folder, file));
    }
    for (const [pattern, file] of Object.entries(imports)) {
      entries.set(`${folder} ${pattern.replace('*', '')}`, path.posix.join(folder, file));
    }
  }
  return entries;
}

function importedBy(file, text, { files, places, entries }) {
  // A file that is started as source and as built code names its neighbour with its own ending.
  const source = text.replace(IMPORTS_OF_TYPES, '').replaceAll(OWN_ENDING, path.extname(file));
  const folder = path.posix.dirname(file);
  const specifiers = IMPORTS.flatMap((pattern) => [...source.matchAll(pattern)].map(([, specifier]) => specifier));
  const named = [
    ...[NAMED_FILES, NAMED_BY_URL].flatMap((pattern) => [...source.matchAll(pattern)].map(([, name]) => name)),
    ...[...source.matchAll(NAMED_BY_PARTS)].map(([, parts]) => path.posix.join(...parts.match(/[^'",\s]+/g))),
  ].map((name) => path.posix.join(folder, name));
  const imported = [...specifiers.map((specifier) => resolve(specifier, file, entries)), ...named].flatMap((target) => {
    if (target === undefined) return [];
    if (files.has(target)) return [target];
    const inside = places.get(target.replace(/\/$/, '')) ?? [];
    return inside.length <= FILES_IN_A_NAMED_FOLDER ? inside : [];
  });
  return new Set(imported.filter((target) => target !== file));
}

/** @returns the path that a specifier names; `undefined` for a module from outside the workspace */
function resolve(specifier, file, entries) {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier);
  if (!specifier.startsWith('#')) return entries.get(specifier);
  const [, folder] = /^(packages\/[^/]+)\//.exec(file) ?? [];
  const [pattern, name] = /^(#[^/]+\/)(.*)$/.exec(specifier)?.slice(1) ?? [];
  return entries.get(`${folder} ${pattern}`)?.replace('*', name);
}
