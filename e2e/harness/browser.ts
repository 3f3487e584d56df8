/** Chromium as a person's browser, which reaches this machine and nothing else, and tells what it tried. */
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core';

export const FLAGS = [
  // Names do not resolve: a request that leaves loopback fails, and is told.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
  // Its own sandbox wants a user that is not root.
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];
/** The host by which web views name files of an extension. */
const OF_WEB_VIEWS = /^https:\/\/[^/]+\.vscode-resource\.vscode-cdn\.net\//;
export const SIZE = { width: 1280, height: 800 };

export interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Addresses outside of this machine that were asked for and that no service worker answered. */
  strayRequests(): readonly string[];
  /** What the page itself reported: errors of its scripts and of its console. */
  complaints(): readonly string[];
  close(): Promise<void>;
}

export interface WindowOptions {
  readonly size?: { readonly width: number; readonly height: number };
  readonly colorScheme?: 'dark' | 'light';
  readonly forcedColors?: 'active';
}

/** One process for all windows. */
export function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: FLAGS,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}

/** A window with storage of its own. */
export async function openWindow(browser: Browser, options: WindowOptions = {}): Promise<Window> {
  const { size, ...look } = options;
  const context = await browser.newContext({ viewport: size ?? SIZE, reducedMotion: 'reduce', ...look });
  const stray = new Set<Request>();
  const complaints: string[] = [];
  context.on('request', (request) => {
    if (leavesLoopback(request.url())) stray.add(request);
  });
  // Web views name their files by a host that does not exist; their service worker has them.
  context.on('response', (response) => {
    if (response.fromServiceWorker()) stray.delete(response.request());
  });
  // What a page's own policy has stopped was asked for and never sent.
  context.on('requestfailed', (request) => {
    if (isStoppedByPolicy(request)) stray.delete(request);
  });
  context.on('weberror', (error) => void complaints.push(String(error.error())));
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  // Those that were under way when the web view was closed, or its window loaded anew, went nowhere.
  context.on('requestfailed', (request) => {
    if (request.failure()?.errorText === 'net::ERR_ABORTED' && OF_WEB_VIEWS.test(request.url())) stray.delete(request);
  });
  const page = await context.newPage();
  page.on('websocket', (socket) => {
    if (leavesLoopback(socket.url())) complaints.push(`a WebSocket to ${socket.url()}`);
  });
  return {
    page,
    context,
    strayRequests: () => [...new Set([...stray].map((request) => request.url()))],
    complaints: () => [...new Set(complaints)],
    close: () => context.close(),
  };
}

/** True for a request that has failed since the policy of its page does not let it out. */
export function isStoppedByPolicy(request: Request): boolean {
  return /^(?:csp|net::ERR_BLOCKED_BY_CSP)$/.test(request.failure()?.errorText ?? '');
}

function leavesLoopback(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return /^(?:https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1' && hostname !== 'localhost';
}
