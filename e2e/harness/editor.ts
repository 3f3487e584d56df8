/** A window of VS Code, used as a person uses it: by what can be seen and typed. */
import type { FrameLocator, Locator, Page } from 'playwright-core';
import type { WindowOptions } from './browser.ts';
import type { VscodeHost, VscodeHostOptions } from './vscode-host.ts';

export interface EditorOptions extends Omit<VscodeHostOptions, 'extensions'> {
  readonly window?: WindowOptions;
}

/** The workbench of a machine that is busy with other things. */
const START_TIMEOUT_MS = 60_000;
/** What the extension has to do with a server, that the server is doing meanwhile. */
const STEP_TIMEOUT_MS = 30_000;
/** A person who misses aims again. */
const AIM_TIMEOUT_MS = 3_000;

export class Editor {
  readonly host: VscodeHost;
  readonly page: Page;

  /** Opens the folder of the host; resolves when the extension's icon is in the activity bar. */
  static async open(host: VscodeHost, page: Page): Promise<Editor> {
    page.setDefaultTimeout(STEP_TIMEOUT_MS);
    const editor = new Editor(host, page);
    await page.goto(host.url(), { waitUntil: 'domcontentloaded', timeout: START_TIMEOUT_MS });
    await editor.icon.waitFor({ timeout: START_TIMEOUT_MS });
    return editor;
  }

  /** As by the browser's own button; resolves when the extension's icon is there again. */
  async reload(): Promise<void> {
    await this.page.reload({ waitUntil: 'domcontentloaded', timeout: START_TIMEOUT_MS });
    await this.icon.waitFor({ timeout: START_TIMEOUT_MS });
  }

  private constructor(host: VscodeHost, page: Page) {
    this.host = host;
    this.page = page;
  }

  /** Replaces the person's settings. */
  set(settings: Readonly<Record<string, unknown>>): Promise<void> {
    return this.host.writeSettings(settings);
  }

  /** The extension's place in the activity bar; its name tells the badge too. */
  get icon(): Locator {
    return this.page.getByRole('tab', { name: /^Autonomous/ });
  }

  /** Opens the extension's views in the side bar. */
  async openViews(): Promise<void> {
    if ((await this.icon.getAttribute('aria-expanded')) !== 'true') await this.icon.click();
    // Away from the icon, which otherwise tells about itself in every picture.
    await this.page.mouse.move(800, 500);
  }

  /** The side bar with all its views. */
  get views(): Locator {
    return this.page.locator('.part.sidebar');
  }

  /** A line of a tree. */
  line(name: RegExp | string): Locator {
    return this.page.getByRole('treeitem', { name });
  }

  /** A button of a welcome view, of a notification or in the status bar. */
  button(name: RegExp | string): Locator {
    return this.page.getByRole('button', { name });
  }

  /** The action that shows on a line when the pointer is over it; where news moves the line away, the pointer follows. */
  async actOn(line: Locator, action: RegExp | string): Promise<void> {
    const button = line.getByRole('button', { name: action });
    await persist(async () => {
      await line.hover();
      await button.click({ timeout: AIM_TIMEOUT_MS });
    });
  }

  /** An entry of the line's own menu. */
  async actOnMenu(line: Locator, action: string): Promise<void> {
    const entry = this.page.getByRole('menuitem', { name: action, exact: true });
    await persist(async () => {
      if (!(await entry.isVisible())) await line.click({ button: 'right' });
      await entry.click({ timeout: AIM_TIMEOUT_MS });
      // A menu that has just opened takes no click: it may be the one that it was opened with.
      await entry.waitFor({ state: 'hidden', timeout: AIM_TIMEOUT_MS });
    });
  }

  /** Presses a key until it had its effect: what it is meant for may not have the focus yet. */
  async press(key: string, effect: Locator): Promise<void> {
    await persist(async () => {
      await this.page.keyboard.press(key);
      await effect.waitFor({ timeout: AIM_TIMEOUT_MS });
    });
  }

  /** Runs a command by its title, from the palette. */
  async command(title: string): Promise<void> {
    // Not one that begins alike, or was used a moment ago.
    const named = new RegExp(`(?:^|: )${title.replaceAll(/[()[\]{}.*+?^$|\\]/g, String.raw`\$&`)}(?:,|$)`);
    const option = this.page.locator('.quick-input-list').getByRole('option', { name: named }).first();
    await persist(async () => {
      // A palette that is about to close takes no words.
      await this.page.keyboard.press('F1');
      await this.page.locator('.quick-input-widget input').first().fill(`>${title}`, { timeout: AIM_TIMEOUT_MS });
      await option.click({ timeout: AIM_TIMEOUT_MS });
    });
  }

  /** Answers what the palette asks for in its line of input. */
  async type(text: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input').first();
    await input.waitFor();
    await input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Takes what the palette proposes with these words, as it is: its line of input or its list. */
  async accept(words: string): Promise<void> {
    const step = this.page.locator('.quick-input-widget');
    await step
      .filter({ hasText: words })
      .or(step.filter({ has: this.page.getByPlaceholder(words) }))
      .waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Takes a choice that the palette offers. */
  async choose(option: RegExp | string): Promise<void> {
    await this.page.locator('.quick-input-list').getByRole('option', { name: option }).first().click();
  }

  /** A message of the extension, in the corner. */
  notification(text: RegExp | string): Locator {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: text });
  }

  /** The document of the web view that is in sight: the page keeps those of tabs behind it. */
  get webView(): FrameLocator {
    return this.page
      .locator('iframe.webview.ready')
      .filter({ visible: true })
      .contentFrame()
      .frameLocator('#active-frame');
  }
}

/** Again and again, for as long as a step may take. @throws as the last time */
async function persist(act: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + STEP_TIMEOUT_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}
