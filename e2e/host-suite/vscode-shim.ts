#!/usr/bin/env node
/**
 * Stands in for the executable of VS Code: takes the arguments that @vscode/test-electron passes, and runs the tests in
 * code-server's extension host behind Chromium. Exits as the extension host does: 0 when all passed.
 */
import { format } from 'node:util';
import { launchBrowser, openWindow } from '../harness/browser.ts';
import { findChromium } from '../harness/install.ts';
import { startVscodeHost } from '../harness/vscode-host.ts';

const TIMEOUT_MS = 180_000;
const TIMED_OUT = 124;
const INTERRUPTED = 130;
/** Variables that the tests are to see. */
const FOR_TESTS = /^(?:VSCODE_TEST_|E2E_|AUTONOMOUS_|NODE_V8_COVERAGE$|NO_COLOR$|FORCE_COLOR$)/;
/** What VS Code says about itself while it starts, the modules that were not built among it. */
const OF_THE_EDITOR =
  /^(?:(?:Error: )?(?:Could not locate the bindings|Cannot find module '\.\/build\/Release)|Ignoring fetching|Updating additional|\[?(?:Service Worker|AgentHost|AccountPolicy|reconnection)|Creating a socket|Resolv(?:ing|ed) connection|%c|\[)/;

const given = process.argv.slice(2);
const valuesOf = (name: string): string[] =>
  given.filter((arg) => arg.startsWith(`--${name}=`)).map((arg) => arg.slice(name.length + 3));
const [tests] = valuesOf('extensionTestsPath');
const executable = findChromium();
if (tests === undefined || executable === undefined) {
  process.stderr.write(tests === undefined ? 'Only tests of extensions are run here.\n' : 'There is no Chromium.\n');
  process.exit(2);
}
const folder = given.find((arg) => !arg.startsWith('-'));
const [extensions] = valuesOf('extensions-dir');
const host = await startVscodeHost({
  extensions: extensions ?? '/nonexistent',
  ...(folder === undefined ? {} : { folder }),
  env: Object.fromEntries(
    Object.entries(process.env).filter((pair): pair is [string, string] => FOR_TESTS.test(pair[0])),
  ),
  runsTests: true,
});
const browser = await launchBrowser(executable);
const { context, page } = await openWindow(browser);
const { promise: ended, resolve: end } = Promise.withResolvers<number>();
await context.exposeFunction('codeAutomationLog', (type: string, args: readonly unknown[]) => {
  const text = format(...args);
  if (process.env['E2E_VERBOSE'] === undefined && OF_THE_EDITOR.test(text)) return;
  (type === 'error' ? process.stderr : process.stdout).write(`${text}\n`);
});
await context.exposeFunction('codeAutomationExit', (code: number) => end(code));
const timer = setTimeout(() => end(TIMED_OUT), TIMEOUT_MS);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(INTERRUPTED));
await page.goto(
  host.url([
    ...valuesOf('extensionDevelopmentPath').map((file) => ['extensionDevelopmentPath', host.remote(file)] as const),
    ['extensionTestsPath', host.remote(tests)],
    ['skipWelcome', 'true'],
  ]),
);
const code = await ended;
clearTimeout(timer);
if (code === TIMED_OUT) process.stderr.write(`The tests did not end within ${TIMEOUT_MS / 1_000} s.\n`);
await browser.close();
await host.stop();
process.exit(code);
