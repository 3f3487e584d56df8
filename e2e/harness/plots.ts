/** Plots are pictures: what can be told of them is that something was drawn, and how wide. */
import type { FrameLocator, Page } from 'playwright-core';

/** @throws where one of so many plots is empty, or wider than its place */
export async function checkPlots(place: Page | FrameLocator, count: number): Promise<void> {
  const plots = place.locator('.plot canvas');
  await plots.nth(count - 1).waitFor();
  const found = await plots.evaluateAll((canvases) =>
    canvases.map((element) => {
      // Only canvases were looked for.
      const canvas = element as HTMLCanvasElement;
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
      const colours = new Set<number>();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255)
          colours.add((data[at] ?? 0) * 65_536 + (data[at + 1] ?? 0) * 256 + (data[at + 2] ?? 0));
      }
      const figure = canvas.closest('.plot');
      return {
        title: figure?.querySelector('h2')?.textContent ?? '',
        colours: colours.size,
        fits: canvas.getBoundingClientRect().right <= (figure?.getBoundingClientRect().right ?? 0),
      };
    }),
  );
  const faults = found.filter(({ colours, fits }) => colours < 2 || !fits);
  if (found.length !== count || faults.length > 0) {
    throw new Error(`Of ${count} plots ${found.length} are there; not well drawn: ${JSON.stringify(faults)}`);
  }
}
