/** What the packaged extension holds, and whether all of that is meant to be published. */
import { builtinModules } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';

const MIN_ICON_PX = 128;
/** Files that vsce names in its own way. */
const OF_EVERY_PACKAGE = [
  '[Content_Types].xml',
  'extension.vsixmanifest',
  'extension/package.json',
  'extension/server.json',
  'extension/THIRD-PARTY-NOTICES.txt',
  'extension/readme.md',
  'extension/changelog.md',
  'extension/LICENSE.txt',
];
const TEXT = /\.(?:c?js|mjs|json|css|html|md|svg|txt|xml|vsixmanifest)$/;
/** What the manifest does not name: the screens, and the icons of their tabs. */
const OURS = [
  'extension/dist/webview/app.js',
  'extension/dist/webview/app.css',
  'extension/dist/webview/codicon.css',
  'extension/dist/webview/codicon.ttf',
  'extension/media/panel-dark.svg',
  'extension/media/panel-light.svg',
];

const REQUIRED: readonly string[] = [...OF_EVERY_PACKAGE, ...OURS];

export type Contents = ReadonlyMap<string, Buffer>;

interface Manifest {
  readonly name?: string;
  readonly publisher?: string;
  readonly license?: string;
  readonly icon?: string;
  readonly main?: string;
  readonly repository?: object;
  readonly engines?: { readonly vscode?: string };
  readonly activationEvents?: readonly string[];
}

/** What should not be published as it is; nothing when all is well. */
export function findFaults(contents: Contents): string[] {
  const manifest = JSON.parse(contents.get('extension/package.json')?.toString() ?? '{}') as Manifest;
  const named = filesNamedBy(manifest, contents);
  return [
    ...faultsOfManifest(manifest, contents),
    ...REQUIRED.filter((file) => !contents.has(file)).map((file) => `${file} is missing`),
    ...named.missing.map((file) => `${file} is named by package.json and missing`),
    ...[...contents].flatMap(([file, content]) => [
      ...(REQUIRED.includes(file) || named.present.has(file) ? [] : [`${file} does not belong into the package`]),
      ...faultsOfFile(file, content),
    ]),
  ];
}

function faultsOfManifest(manifest: Manifest, contents: Contents): string[] {
  const faults: string[] = [];
  for (const field of ['name', 'publisher', 'license', 'icon', 'main', 'repository'] as const)
    if (manifest[field] === undefined) faults.push(`package.json has no ${field}`);
  if (!/^\^\d+\.\d+\.\d+$/.test(manifest.engines?.vscode ?? ''))
    faults.push('package.json does not say from which VS Code on it works');
  if (manifest.activationEvents?.includes('*')) faults.push('it is activated before VS Code has started');
  const icon = contents.get(`extension/${manifest.icon}`);
  if (icon !== undefined) {
    const size = pngSize(icon);
    if (size === undefined || size.width < MIN_ICON_PX || size.width !== size.height)
      faults.push(`${manifest.icon} is no square PNG of ${MIN_ICON_PX} pixels or more`);
  }
  return faults;
}

/** Every text of the manifest that looks like the path of a file, such as the icon of a command. */
function filesNamedBy(manifest: Manifest, contents: Contents): { present: Set<string>; missing: string[] } {
  const present = new Set<string>();
  const missing: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string' && /^(?:\.\/)?[\w-]+\/[\w./-]+\.[a-z]{2,4}$/.test(value)) {
      const file = path.posix.join('extension', value);
      if (contents.has(file)) present.add(file);
      else missing.push(file);
    } else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) visit(inner);
    }
  };
  visit(manifest);
  return { present, missing };
}

function faultsOfFile(file: string, content: Buffer): string[] {
  if (!TEXT.test(file)) return [];
  const text = content.toString();
  const faults: string[] = [];
  if (/^\/\/# sourceMappingURL=/m.test(text)) faults.push(`${file} names a source map`);
  const folder = [path.resolve(import.meta.dirname, '..'), homedir()].find(
    (name) => name.length > 1 && text.includes(`${name}/`),
  );
  if (folder !== undefined) faults.push(`${file} holds a path of this machine: ${folder}`);
  if (file.endsWith('.js') || file.endsWith('.cjs')) {
    for (const [, name = ''] of text.matchAll(/\brequire\("([\w@][\w@./:-]*)"\)/g))
      if (name !== 'vscode' && !builtinModules.includes(name.replace(/^node:/, '')) && !OPTIONAL.has(name))
        faults.push(`${file} needs ${name}, which is not in the package`);
  }
  return faults;
}

/** The WebSocket library is faster with these, and goes without. */
const OPTIONAL: ReadonlySet<string> = new Set(['bufferutil', 'utf-8-validate']);

function pngSize(file: Buffer): { width: number; height: number } | undefined {
  if (file.length < 24 || file.toString('latin1', 1, 4) !== 'PNG') return undefined;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}
