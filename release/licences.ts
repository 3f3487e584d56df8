/** Licences of the code that a package carries: only known ones without copyleft, and their texts go with the package. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ROOT } from './facts.ts';

/** Name of the file with all licence texts, in each package. */
export const NOTICES = 'THIRD-PARTY-NOTICES.txt';

/** SPDX identifiers. MPL, LGPL, GPL and everything unknown is refused. */
const ACCEPTED: ReadonlySet<string> = new Set([
  '0BSD',
  'AFL-2.1',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'CC-BY-4.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);
const TEXT_FILE = /^(?:licen[cs]e|copying|notice)(?:[-.][\w.-]*)?$/i;
/** By their licence files, where the manifest names none. */
const BY_TEXT: Readonly<Record<string, string>> = { khroma: 'MIT' };
/** Code inside of a package that has a licence of its own. */
const INSIDE: Readonly<Record<string, string>> = {
  'better-sqlite3': 'The binaries contain SQLite, which is in the public domain (https://sqlite.org/copyright.html).',
  unpdf:
    'It contains PDF.js of the Mozilla Foundation under the Apache License 2.0 (https://github.com/mozilla/pdf.js).',
};

export interface Carried {
  readonly name: string;
  readonly version: string;
  /** SPDX expression of its manifest; `null` where it has none. */
  readonly license: string | null;
  /** Its licence files, one after the other; empty where it has none. */
  readonly text: string;
}

/** @param folders absolute folders of packages; several of the same name and version count once */
export async function readCarried(folders: readonly string[]): Promise<readonly Carried[]> {
  const all = await Promise.all(folders.map(readOne));
  const unique = new Map(all.map((one) => [`${one.name}@${one.version}`, one]));
  return [...unique.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Packages that the build of a workspace package lists as carried. */
export async function listedBy(name: 'ui' | 'vscode-extension'): Promise<string[]> {
  const folder = path.join(ROOT, 'packages', name, 'dist');
  // Written by the build's own tools/carried-packages.mjs.
  const listed = JSON.parse(await readFile(path.join(folder, 'carried-packages.json'), 'utf8')) as readonly string[];
  return listed.map((relative) => path.resolve(folder, relative));
}

/**
 * All licence texts in one.
 * @throws {Error} naming each package whose licence is unknown, missing or copyleft
 */
export function noticesOf(carried: readonly Carried[]): string {
  const refused = carried.filter(({ license }) => license === null || !isAccepted(license));
  if (refused.length > 0) {
    const list = refused.map(({ name, version, license }) => `${name}@${version}: ${license ?? 'no licence'}`);
    throw new Error(
      `Code with these licences may not be carried:\n  ${list.join('\n  ')}\nRemove the dependency, or accept its licence in release/licences.ts.`,
    );
  }
  const parts = carried.map(({ name, version, license, text }) =>
    [`${name} ${version} (${license})`, INSIDE[name], text === '' ? 'The package has no licence file.' : text]
      .filter((part) => part !== undefined)
      .join('\n\n'),
  );
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  return `This package contains code of the following packages.${rule}${parts.join(rule)}\n`;
}

/** `A OR B` needs one accepted licence, `A AND B` both; parentheses do not mix the two. */
export function isAccepted(expression: string): boolean {
  const alternatives = expression.replace(/[()]/g, '').split(' OR ');
  return alternatives.some((each) => each.split(' AND ').every((id) => ACCEPTED.has(id.trim())));
}

async function readOne(folder: string): Promise<Carried> {
  // A published manifest; what it lacks is refused by `noticesOf`.
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string | { readonly type?: string };
  };
  const { name, version, license } = manifest;
  const files = (await readdir(folder)).filter((file) => TEXT_FILE.test(file)).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
  return {
    name,
    version,
    license: (typeof license === 'string' ? license : license?.type) ?? BY_TEXT[name] ?? null,
    text: texts.map((text) => text.trim()).join('\n\n'),
  };
}
