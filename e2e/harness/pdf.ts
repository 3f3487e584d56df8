/** Looks at a PDF beside the overview of a run. */
import assert from 'node:assert/strict';
import type { Frame, FrameLocator, Page } from 'playwright-core';

const PAPER = [255, 255, 255];

/**
 * Shows the PDF.
 * @param words stand on one of its pages
 * @throws when its first page is white alone
 */
export async function checkPdf(place: Page | FrameLocator | Frame, words: string): Promise<void> {
  await place.getByRole('radio', { name: 'PDF' }).check();
  const page = place.locator('.pdf-page canvas').first();
  await page.waitFor();
  await place.getByRole('region', { name: 'Pages of the PDF' }).getByText(words).first().waitFor();
  const isDrawn = await page.evaluate((element, white) => {
    // Only canvases were looked for.
    const canvas = element as HTMLCanvasElement;
    const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
    return canvas.width > 100 && data.some((value, at) => at % 4 !== 3 && value !== white[at % 4]);
  }, PAPER);
  assert.ok(isDrawn, 'the first page of the PDF is blank');
}
