/** Looks into the folder of a package for what must not be published. */
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { findSecrets } from '../packages/orchestrator/src/secrets/secrets.ts';
import { ROOT } from './facts.ts';

const TEXT = /\.(?:[cm]?js|json|css|html|md|svg|txt|ts|sql|ya?ml|py|sh|webmanifest)$/;
const UNWANTED: readonly (readonly [RegExp, string])[] = [
  // The skeleton of `workflow new` is a source.
  [/^(?!skeleton\/).*(?<!\.d)\.[cm]?tsx?$/, 'is a source'],
  [/\.map$/, 'is a source map'],
  [/\.(?:test|contract|fixture)\./, 'is of the tests'],
  [
    /(?:^|\/)(?:\.env[^/]*|\.npmrc|\.git|\.gitignore|\.stamp|\.DS_Store|[^/]*\.tsbuildinfo|node_modules)(?:\/|$)/,
    'is of the workspace',
  ],
  [/\.(?:pem|key|p12|tgz|vsix|db)$/, 'is of another kind'],
];
/** The key of AWS's own documents, which a library that looks for secrets passes over. */
const EXAMPLE_KEY = /AKIAIOSFODNN7EXAMPLE/;
/** The first line of a private key with nothing behind it, by which libraries tell its kind. */
const KIND_OF_KEY = /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----["'`]/;
const CONTENT_OF_KEY = /[A-Za-z0-9+/=]{40}/;
/** The demo's project has tests of its own. */
const MEANT = /^demo\/project\/test\/[\w-]+\.test\.js$/;

export interface ContentRules {
  /** Files and folders that the package has at its top, and no others. */
  readonly top: readonly string[];
  /** Registry that packages are installed from here; its host is published nowhere unless it is npm's own. */
  readonly registry: string;
}

/** @returns a sentence for each fault; empty when the folder can be published */
export async function findContentFaults(folder: string, { top, registry }: ContentRules): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ entry, file: path.relative(folder, path.join(entry.parentPath, entry.name)) }))
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const there = new Set(files.map(({ file }) => file.split(path.sep)[0] ?? ''));
  const faults = [
    ...top.filter((name) => !there.has(name)).map((name) => `${name} is missing`),
    ...[...there].filter((name) => !top.includes(name)).map((name) => `${name} does not belong into the package`),
  ];
  const names = machineNames(folder, registry);
  for (const { entry, file } of files) {
    if (!entry.isFile()) faults.push(`${file} is no plain file`);
    else faults.push(...(await faultsOf(folder, file, names)));
  }
  return faults;
}

async function faultsOf(folder: string, file: string, names: readonly string[]): Promise<string[]> {
  const faults = MEANT.test(file)
    ? []
    : UNWANTED.filter(([pattern]) => pattern.test(file)).map(([, fault]) => `${file} ${fault}`);
  if (!TEXT.test(file)) return faults;
  const text = await readFile(path.join(folder, file), 'utf8');
  if (/^\/\/# sourceMappingURL=(?!data:)/m.test(text)) faults.push(`${file} names a source map`);
  faults.push(
    ...names.filter((name) => text.includes(name)).map((name) => `${file} holds a name of this machine: ${name}`),
  );
  const lines = text.split('\n');
  for (const { rule, line } of findSecrets(text))
    if (!isKnown(lines[line - 1] ?? '')) faults.push(`${file} holds a secret (${rule}, line ${line})`);
  return faults;
}

/** Text of a library that only looks like a secret. */
function isKnown(line: string): boolean {
  return EXAMPLE_KEY.test(line) || (KIND_OF_KEY.test(line) && !CONTENT_OF_KEY.test(line));
}

function machineNames(folder: string, registry: string): string[] {
  const host = URL.parse(registry)?.hostname ?? '';
  const isPublic = host === '' || host === 'registry.npmjs.org';
  // A folder such as /root or /source also stands in programs that mean every machine.
  const folders = [ROOT, folder, homedir()].filter((name) => name.split(path.sep).length > 2);
  return [...folders.map((name) => `${name}/`), ...(isPublic ? [] : [host])];
}
