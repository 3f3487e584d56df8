/**
 * Plays the journeys: the packaged extension in a real VS Code, and the dashboard, in Chromium against the real server.
 * Ends with `N passed, N failed[, N skipped]`; pictures of the screens lie in `e2e/screens`.
 *
 * Usage: npm run e2e [-- --only NAME[,NAME]] [--day DATE] [--vsix FILE] [--no-skips] [--once-more] [--at-once N] [--pictures]
 *   --day        a seventh of the journeys: all of them within seven days; the others are named
 *   --once-more  a journey that failed is played again, alone, and named in the last line
 *   --at-once    so many journeys are under way beside each other; 1 when absent
 *   --pictures   renews those that the READMEs show, too
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { shareOfDay } from '../tools/day-share.ts';
import { findChromium, installCodeServer, installTools, SCREENS } from './harness/install.ts';
import type { Journey } from './harness/stage.ts';

const JOURNEYS = path.join(import.meta.dirname, 'journeys');
const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    day: { type: 'string' },
    vsix: { type: 'string' },
    'no-skips': { type: 'boolean' },
    pictures: { type: 'boolean' },
    'once-more': { type: 'boolean' },
    'at-once': { type: 'string', default: '1' },
  },
});

const files = (await readdir(JOURNEYS)).filter((file) => file.endsWith('.ts')).sort();
const names = files.map((file) => path.basename(file, '.ts'));
const wanted = options.only?.split(',') ?? names;
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  say(`There is no journey ${unknown.join(', ')}; there are ${names.join(', ')}.`);
  process.exit(64);
}

const chosen = options.day === undefined ? wanted : shareOfDay(wanted, options.day);
const leftOut = wanted.filter((name) => !chosen.includes(name));
if (leftOut.length > 0) say(`played on another day than ${options.day}: ${leftOut.join(', ')}`);

const atOnce = Number(options['at-once']);
if (!Number.isInteger(atOnce) || atOnce < 1) {
  say(`--at-once is '${options['at-once']}' and must be a whole number from 1.`);
  process.exit(64);
}

/** Folder of the packaged extension, and of the server's package that it installs. */
let packed = '';
const tally = { passed: 0, failed: 0, skipped: [] as string[], atSecond: [] as string[] };
const chromium = findChromium();
if (chromium === undefined) {
  say('skipped all: there is no Chromium here (Debian: apt-get install chromium; CHROMIUM names one elsewhere).');
  tally.skipped.push(...chosen);
} else {
  try {
    await playAll(chromium);
  } catch (error) {
    // Nothing could be played: the package was not made, say.
    tally.failed += 1;
    say(`failed   ${error instanceof Error ? error.message : String(error)}`);
  }
}
const skipped = tally.skipped.length > 0 ? `, ${tally.skipped.length} skipped (${tally.skipped.join(', ')})` : '';
const unsteady = tally.atSecond.length > 0 ? `, at the second try: ${tally.atSecond.join(', ')}` : '';
say(`${tally.passed} passed, ${tally.failed} failed${skipped}${unsteady}`);
process.exitCode = tally.failed > 0 || (options['no-skips'] === true && tally.skipped.length > 0) ? 1 : 0;

async function playAll(executable: string): Promise<void> {
  installTools();
  installCodeServer();
  // Now that it is there.
  const { launchBrowser } = await import('./harness/browser.ts');
  const { installVsix } = await import('./harness/vscode-host.ts');
  const { packageExtension } = await import('../release/package-extension.ts');
  const vsix = options.vsix === undefined ? (await packageExtension(say)).vsix : path.resolve(options.vsix);
  packed = path.dirname(vsix);
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-e2e-'));
  await forgetPictures();
  const browser = await launchBrowser(executable);
  try {
    const extensions = await installVsix(vsix, folder);
    const mayFail = options['once-more'] === true;
    const left = [...chosen];
    const again: Journey[] = [];
    const playSome = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        // The path is one that was listed above; the module is ours.
        const module = (await import(pathToFileURL(path.join(JOURNEYS, `${name}.ts`)).href)) as { journey: Journey };
        if (!(await play(module.journey, browser, extensions, mayFail)) && mayFail) again.push(module.journey);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, playSome));
    // Alone: it may have been the others that were in its way.
    for (const journey of again) {
      if (await play(journey, browser, extensions, false)) tally.atSecond.push(journey.name);
    }
  } finally {
    await browser.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
  say(`pictures: ${path.relative(process.cwd(), SCREENS)}`);
}

/** Those of an earlier time, of what is played now. */
async function forgetPictures(): Promise<void> {
  const kept = await readdir(SCREENS).catch(() => []);
  const isOld = (file: string): boolean =>
    chosen.some((name) => new RegExp(`^${name}-(?:\\d\\d-|failed\\.)`).test(file));
  for (const file of kept.filter(isOld)) await rm(path.join(SCREENS, file));
}

/**
 * @param mayFail a failure is told and does not count
 * @returns whether it is done with: passed or skipped
 */
async function play(journey: Journey, browser: Browser, extensions: string, mayFail: boolean): Promise<boolean> {
  const { Skipped, Stage } = await import('./harness/stage.ts');
  const stage = new Stage(browser, extensions, packed, journey.name, options.pictures === true);
  const startedAt = performance.now();
  const took = (): string => `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
  try {
    const figure = await journey.play(stage);
    await stage.checkStrayRequests();
    tally.passed += 1;
    say(`passed   ${journey.name} (${took()})${typeof figure === 'string' ? `: ${figure}` : ''}`);
    return true;
  } catch (error) {
    if (error instanceof Skipped) {
      tally.skipped.push(journey.name);
      say(`skipped  ${journey.name}: ${error.message}`);
      return true;
    }
    if (!mayFail) tally.failed += 1;
    say(
      `${mayFail ? 'once more' : 'failed  '} ${journey.name} (${took()})\n${indent(error instanceof Error ? (error.stack ?? error.message) : String(error))}`,
    );
    say(`    its logs: ${path.relative(process.cwd(), await stage.keepFailure())}`);
    return false;
  } finally {
    await stage.end();
  }
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
