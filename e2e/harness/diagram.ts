/** Whether a diagram shows all that it has. */
import type { Locator } from 'playwright-core';

/** @throws when a node of it lies, in part or wholly, where the picture has ended already */
export async function checkDiagram(diagram: Locator): Promise<void> {
  await diagram.waitFor();
  const cut = await diagram.evaluate((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('.node')]
      .filter((node) => {
        const { left, right, top, bottom } = node.getBoundingClientRect();
        return left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1;
      })
      .map((node) => node.textContent.trim());
  });
  if (cut.length > 0) throw new Error(`The diagram is cut off at ${cut.join(', ')}`);
}
