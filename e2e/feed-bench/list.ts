/** The list of many runs, opened as somebody does who is signed in. */
import type { BrowserContext } from 'playwright-core';
import type { FaceReport, FaceTask } from '../../packages/orchestrator/bench/feed/tasks.ts';
import { watchPaints } from './paint-watch.ts';
import { asPerson } from './person.ts';

/** Chromium keeps compiled scripts of what it has loaded twice before. */
const VISITS_BEFORE = 2;

export async function openList(
  executable: string,
  { links, address, visits }: FaceTask & { readonly task: 'list' },
): Promise<FaceReport> {
  const firstMs: number[] = [];
  const againMs: number[] = [];
  for (const [index, link] of links.entries()) {
    await asPerson(executable, async (browser) => {
      await browser.addInitScript(watchPaints);
      // Signs in without loading anything of the page.
      if (link !== null) await browser.request.get(link, { maxRedirects: 0 });
      firstMs.push(await open(browser, address));
      if (index < links.length - 1) return;
      for (let visit = 1; visit < VISITS_BEFORE; visit++) await open(browser, address);
      for (let visit = 0; visit < visits; visit++) againMs.push(await open(browser, address));
    });
  }
  return { report: 'listed', firstMs, againMs };
}

/** In a tab of its own. @returns milliseconds from the navigation to the first painted rows */
async function open(browser: BrowserContext, address: string): Promise<number> {
  const page = await browser.newPage();
  await page.goto(address, { waitUntil: 'commit' });
  const handle = await page.waitForFunction(() => window.benchFirstRowsMs, undefined, { polling: 100 });
  const ms = await handle.jsonValue();
  await page.close();
  if (ms === undefined) throw new Error('No row was painted.');
  return ms;
}
