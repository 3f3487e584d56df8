/** What runs inside of a page of the bench: it notes when rows and their steps were painted. Sent to the page as text. */

export interface PaintedStep {
  readonly href: string;
  readonly text: string;
  readonly at: number;
}

declare global {
  interface Window {
    /** Milliseconds from the navigation to the first painted rows; absent until then. */
    benchFirstRowsMs?: number;
    benchSteps: PaintedStep[];
  }
}

/** Self-contained: nothing outside of it is there in a page. */
export function watchPaints(): void {
  window.benchSteps = [];
  const shown = new Map<string, string>();
  let isDue = false;

  // A message that a frame's callback posts comes after that frame was handed on to be shown.
  const painted = new MessageChannel();
  let waiting: (() => void)[] = [];
  painted.port1.addEventListener('message', () => {
    const now = waiting;
    waiting = [];
    for (const note of now) note();
  });
  painted.port1.start();

  const look = (): void => {
    isDue = false;
    const changed: { href: string; text: string }[] = [];
    for (const row of document.querySelectorAll('a.run-row')) {
      const href = row.getAttribute('href') ?? '';
      const text = row.querySelector('.facts span')?.textContent ?? '';
      if (shown.get(href) === text || row.getBoundingClientRect().top >= window.innerHeight) continue;
      shown.set(href, text);
      changed.push({ href, text });
    }
    if (changed.length === 0) return;
    waiting.push(() => {
      window.benchFirstRowsMs ??= performance.now();
      const at = performance.timeOrigin + performance.now();
      for (const step of changed) window.benchSteps.push({ ...step, at });
    });
    painted.port2.postMessage(null);
  };
  // The screens change the page in a task; all that is done before the next frame is painted with it.
  new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(look);
  }).observe(document, { subtree: true, childList: true, characterData: true });
}
