/** What axe-core finds on a page that keeps people out of it. */
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const GRAVE: ReadonlySet<string> = new Set(['serious', 'critical']);

/**
 * @param page or the frame of a web view, which is looked at alone
 * @throws with each serious or critical finding, and where it is
 */
export async function checkAccessibility(page: Pick<Page, 'evaluate'>, screen: string): Promise<void> {
  // By the debugger: the page's own policy lets in no script of ours.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  const findings = violations
    .filter(({ impact }) => GRAVE.has(impact ?? ''))
    .map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => `    ${html.slice(0, 200)}`).join('\n')}`);
  if (findings.length > 0) throw new Error(`${screen} keeps people out:\n  ${findings.join('\n  ')}`);
}
