/** The list of runs on a screen, while runs go on. */
import { stepOf } from '../../packages/orchestrator/bench/feed/stages.ts';
import type { FaceReport, FaceTask } from '../../packages/orchestrator/bench/feed/tasks.ts';
import { watchPaints } from './paint-watch.ts';
import { asPerson } from './person.ts';

const FIRST_ROWS_TIMEOUT_MS = 60_000;

/** @param task an address that leads to the list, signed in where that is needed */
export function watchScreen(
  executable: string,
  { address, warmUpS, seconds }: FaceTask & { readonly task: 'screen' },
): Promise<FaceReport> {
  return asPerson(executable, async (browser) => {
    const page = await browser.newPage();
    await page.addInitScript(watchPaints);
    await page.goto(address);
    await page.locator('a.run-row').first().waitFor({ timeout: FIRST_ROWS_TIMEOUT_MS });
    await page.waitForTimeout(warmUpS * 1_000);
    // What was painted so far: rows that appeared, on a page that was still loading.
    await page.evaluate(() => void (window.benchSteps.length = 0));
    await page.waitForTimeout(seconds * 1_000);
    const painted = await page.evaluate(() => window.benchSteps);
    const steps = painted.flatMap(({ href, text, at }) => {
      const step = stepOf(text);
      return step === null ? [] : [{ runId: href.slice('/runs/'.length), step, at }];
    });
    return { report: 'painted', steps, until: Date.now() };
  });
}
