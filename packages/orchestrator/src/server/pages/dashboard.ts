/**
 * The dashboard: one page for all its addresses, and the few files that it loads. They hold nothing of any run, so that
 * anybody may have them; what the page shows it asks for with the browser's session.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { RECENT_RUNS } from '@autonomous/shared/client';
import { startCommand } from '../start-command.ts';

/**
 * One script runs, by its nonce, and what it hands to the frame that diagrams are drawn in, which is under the same policy.
 * All else comes from here alone. Mermaid and the widgets write styles into the page.
 */
export function dashboardPolicy(nonce: string): string {
  return `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
}

/**
 * Addresses of the page and of its files, as a request line may write them: no dots but the one in a gate's id and those in the id
 * of an item of a roadmap, no encodings, nothing that a router could take for another path.
 */
const PAGE =
  /^\/(?:launch|setup|metrics(?:\/\d{1,2}(?:\/[\w-]+(?:\/[\w-]+)?)?)?|roadmap(?:\/[\w-]+(?:\/[\w-]+(?:\.[\w-]+){0,9})?)?|runs\/[\w-]+(?:\/[\w-]+(?:\/[\w-]+(?:\.\d+)?)?)?|explorations\/[\w-]+)?$/;
/** The same for the router. */
export const DASHBOARD_PAGES = [
  '/',
  '/launch',
  '/setup',
  '/metrics',
  '/metrics/:days',
  '/metrics/:days/:project',
  '/metrics/:days/:project/:workflow',
  '/roadmap',
  '/roadmap/:project',
  '/roadmap/:project/:item',
  '/runs/:id',
  '/runs/:id/:tab',
  '/runs/:id/:tab/:entry',
  '/explorations/:id',
];
const FILE = /^\/assets\/([0-9a-f]{16})\/([a-z-]+\.[a-z]+)$/;

const TYPES: Readonly<Record<string, string>> = {
  'app.js': 'text/javascript; charset=utf-8',
  'lazy-screens.js': 'text/javascript; charset=utf-8',
  'runtime.js': 'text/javascript; charset=utf-8',
  'diagrams.js': 'text/javascript; charset=utf-8',
  'pdfs.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'theme.css': 'text/css; charset=utf-8',
  'codicon.css': 'text/css; charset=utf-8',
  'codicon.ttf': 'font/ttf',
  'icon.svg': 'image/svg+xml',
  'manifest.webmanifest': 'application/manifest+json',
};

/** Names of the files in the folder of a build. */
export const DASHBOARD_FILES: readonly string[] = Object.keys(TYPES);

export interface DashboardFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly isGzip: boolean;
}

export interface Dashboard {
  /**
   * The page, for every one of its addresses.
   * @param nonce of this load, base64, as its policy names it
   * @param isSignedIn whether it is given to a browser with a session
   * @param path of the page's address
   */
  page(nonce: string, isSignedIn: boolean, path: string): Promise<string>;
  /** @returns `null` for what is no file of the dashboard as it is now */
  file(path: string, takesGzip: boolean): Promise<DashboardFile | null>;
}

/** True for an address of the page itself, where a browser may be sent. */
export function isPagePath(path: string): boolean {
  return PAGE.test(path);
}

/** The page at an address that ends in a slash too many, as people write them; `null`: there is none. */
export function pageBeforeSlash(path: string): string | null {
  const page = path.replace(/\/$/, '');
  return page !== path && PAGE.test(page) ? page : null;
}

/** True for an address of a file that the page loads. */
export function isDashboardFile(path: string): boolean {
  return FILE.test(path);
}

/** True for what anybody may read: see above. */
export function isDashboardPath(path: string): boolean {
  return PAGE.test(path) || FILE.test(path) || pageBeforeSlash(path) !== null;
}

/**
 * @param folder what `packages/ui` was built to
 * @returns `null` where it was not built
 */
export function openDashboard(folder: string): Dashboard | null {
  if (!existsSync(join(folder, 'app.js'))) return null;
  // Read once and for all: files of two builds do not fit each other.
  let files: Promise<Files> | undefined;
  const read = (): Promise<Files> => (files ??= readFiles(folder));
  return {
    page: async (nonce, isSignedIn, path) => pageOf((await read()).version, nonce, isSignedIn, path),
    async file(path, takesGzip) {
      const [, version, name = ''] = FILE.exec(path) ?? [];
      if (version === undefined) return null;
      const found = await read();
      const file = found.byName.get(name);
      if (version !== found.version || file === undefined) return null;
      const type = TYPES[name] ?? 'application/octet-stream';
      return takesGzip ? { body: file.gzip, type, isGzip: true } : { body: file.plain, type, isGzip: false };
    },
  };
}

interface Files {
  /** Another one with each build: addresses with it may be kept for ever. */
  readonly version: string;
  readonly byName: ReadonlyMap<
    string,
    { readonly plain: Uint8Array<ArrayBuffer>; readonly gzip: Uint8Array<ArrayBuffer> }
  >;
}

async function readFiles(folder: string): Promise<Files> {
  const all = await Promise.all(
    DASHBOARD_FILES.map(async (name) => {
      const plain = await readFile(join(folder, name));
      return { name, plain, gzip: await promisify(gzip)(plain) };
    }),
  );
  const hash = createHash('sha256');
  for (const { name, plain } of all) hash.update(name).update(plain);
  return {
    version: hash.digest('hex').slice(0, 16),
    byName: new Map(all.map(({ name, plain, gzip: packed }) => [name, { plain, gzip: packed }])),
  };
}

/** Requests with which every screen begins, preloaded before the script is loaded. They must equal the client's requests. */
const EARLY: readonly string[] = RECENT_RUNS.map((filter) => {
  const query = Object.entries(filter).map(([key, value]) => `${key}=${value}`);
  return `/api/runs?${query.join('&')}`;
});

function pageOf(version: string, nonce: string, isSignedIn: boolean, path: string): string {
  const at = (name: string): string => `/assets/${version}/${name}`;
  const early = EARLY.map(
    (asked) => `<link rel="preload" as="fetch" crossorigin="anonymous" href="${asked.replaceAll('&', '&amp;')}">`,
  );
  // Without this, imports of `app.js` are requested only after it is loaded. The list of runs needs no other screen.
  const imported = isSignedIn && path === '/' ? ['runtime.js'] : ['runtime.js', 'lazy-screens.js'];
  const preloads = imported.map((name) => `<link rel="modulepreload" nonce="${nonce}" href="${at(name)}">`);
  const [program, demo] = [startCommand().program, startCommand().demo].map(inAttribute);
  return `<!doctype html>
<html lang="en" data-session="${isSignedIn ? 'open' : 'none'}" data-program="${program}" data-demo="${demo}">
<head>
<meta charset="utf-8">
${isSignedIn ? early.join('\n') : ''}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="theme-color" content="#f6f7f9" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#1d2128" media="(prefers-color-scheme: dark)">
<title>Autonomous</title>
<link rel="icon" type="image/svg+xml" href="${at('icon.svg')}">
<link rel="manifest" href="${at('manifest.webmanifest')}">
<link rel="stylesheet" href="${at('theme.css')}">
<link rel="stylesheet" href="${at('codicon.css')}" id="vscode-codicon-stylesheet">
<link rel="stylesheet" href="${at('app.css')}">
${preloads.join('\n')}
<script type="module" nonce="${nonce}" src="${at('app.js')}"></script>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript. Without it, there is the command line: <code>${startCommand().program} --help</code>.</noscript></div>
</body>
</html>
`;
}

function inAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}
