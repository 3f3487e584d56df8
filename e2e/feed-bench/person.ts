/** A browser as a person has it: with a profile on the disk, which keeps what it has loaded. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { FLAGS, SIZE } from '../harness/browser.ts';

/** The browser and its profile end with what is done. */
export async function asPerson<Result>(
  executablePath: string,
  act: (browser: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const profile = await mkdtemp(path.join(tmpdir(), 'bench-feed-profile-'));
  try {
    const browser = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS, viewport: SIZE });
    try {
      return await act(browser);
    } finally {
      await browser.close();
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
