/** What a journey is played on: servers, editors and windows that are taken down after it, and pictures of them. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { openWindow, type Window, type WindowOptions } from './browser.ts';
import { Editor, type EditorOptions } from './editor.ts';
import { README_PICTURES, SCREENS } from './install.ts';
import { Server, type ServerOptions } from './server.ts';
import { startVscodeHost } from './vscode-host.ts';

/** One thing that people do, from its beginning to its end. */
export interface Journey {
  /** In kebab-case; the file's own. */
  readonly name: string;
  /**
   * @returns a figure that is worth a word, if there is one
   * @throws what did not come as a person would have seen it, or {@link Skipped}
   */
  play(stage: Stage): Promise<string | void>;
}

const MAX_PICTURE_BYTES = 150_000;
const LOOKS_FOR_ANSWERS = 20;
const LOOK_MS = 250;

/** This machine cannot play the journey; the message says what it lacks. */
export class Skipped extends Error {}

export class Stage {
  readonly #browser: Browser;
  readonly #extensions: string;
  readonly #packed: string;
  readonly #journey: string;
  readonly #renewsReadme: boolean;
  readonly #windows: Window[] = [];
  readonly #endings: (() => Promise<void>)[] = [];
  /** Logs of what runs here, for who looks into a failure. */
  readonly #logs: (() => Promise<string>)[] = [];
  #pictures = 0;

  /**
   * @param extensions where the packaged extension is installed
   * @param packed folder with the packaged extension and the tarball of the server that it names
   * @param renewsReadme pictures for the READMEs are taken, too: each time they are a little different
   */
  constructor(browser: Browser, extensions: string, packed: string, journey: string, renewsReadme = false) {
    this.#renewsReadme = renewsReadme;
    this.#browser = browser;
    this.#extensions = extensions;
    this.#packed = packed;
    this.#journey = journey;
  }

  async startServer(options?: ServerOptions): Promise<Server> {
    const server = await Server.start(options);
    this.#endings.push(() => server.stop());
    this.#logs.push(async () => server.log());
    return server;
  }

  /** A window of VS Code with the packaged extension in it. */
  async openEditor(options: EditorOptions = {}): Promise<Editor> {
    const host = await startVscodeHost({ ...options, extensions: this.#extensions });
    this.#endings.push(() => host.stop());
    this.#logs.push(() => host.log());
    const { page } = await this.openWindow(options.window);
    return Editor.open(host, page);
  }

  /** Tarball of the server's package that the packaged extension installs. @throws when it was packed without one */
  async serverPackage(): Promise<{ readonly tarball: string; readonly version: string }> {
    const folder = (await readdir(this.#extensions)).find((name) => /^autonomous\.autonomous-\d/.test(name));
    const text = await readFile(path.join(this.#extensions, folder ?? '', 'server.json'), 'utf8');
    // The extension's own file.
    const { name, version } = JSON.parse(text) as { readonly name: string; readonly version: string };
    return { tarball: path.join(this.#packed, `${name}-${version}.tgz`), version };
  }

  /** Something of the journey's own is taken down with it. */
  atEnd(ending: () => Promise<void>): void {
    this.#endings.push(ending);
  }

  /** An empty window of the browser. */
  async openWindow(options?: WindowOptions): Promise<Window> {
    const window = await openWindow(this.#browser, options);
    this.#windows.push(window);
    return window;
  }

  /** Keeps what a window shows as `<journey>-<nn>-<name>.png`. */
  async picture(page: Page, name: string): Promise<void> {
    this.#pictures += 1;
    await mkdir(SCREENS, { recursive: true });
    const number = String(this.#pictures).padStart(2, '0');
    // What moves once more after it has appeared, such as a toast, has come to rest by then.
    await page.waitForTimeout(300);
    await page.screenshot({ path: path.join(SCREENS, `${this.#journey}-${number}-${name}.png`) });
  }

  /** Takes a picture that the READMEs show, where they are to be renewed. @throws when it is larger than a page should load */
  async readmePicture(page: Page, name: string): Promise<void> {
    if (!this.#renewsReadme) return;
    await mkdir(README_PICTURES, { recursive: true });
    // A diagram is drawn anew in other colours.
    await page.waitForTimeout(500);
    const picture = await page.screenshot({ path: path.join(README_PICTURES, `${name}.png`) });
    if (picture.length > MAX_PICTURE_BYTES) throw new Error(`The picture ${name} has ${picture.length} bytes.`);
  }

  /**
   * Keeps pictures of all windows, what the pages complained of and all logs.
   * @returns the file of the latter two
   */
  async keepFailure(): Promise<string> {
    for (const [index, { page }] of this.#windows.entries())
      await this.picture(page, `failed-window-${index + 1}`).catch(() => undefined);
    const complaints = this.#windows.flatMap((window) => window.complaints());
    const logs = await Promise.all(this.#logs.map((log) => log()));
    const file = path.join(SCREENS, `${this.#journey}-failed.log`);
    await mkdir(SCREENS, { recursive: true });
    await writeFile(file, [...complaints, ...logs].join('\n---\n'));
    return file;
  }

  /** @throws when a page asked for anything outside of this machine */
  async checkStrayRequests(): Promise<void> {
    const strayNow = (): string[] => this.#windows.flatMap((window) => window.strayRequests());
    let stray = strayNow();
    // What a service worker is about to answer has not left yet.
    for (let look = 0; stray.length > 0 && look < LOOKS_FOR_ANSWERS; look += 1) {
      await delay(LOOK_MS);
      stray = strayNow();
    }
    if (stray.length > 0) throw new Error(`Requests left this machine:\n  ${stray.join('\n  ')}`);
  }

  /** Takes everything down, the last first. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#windows.map((window) => window.close()));
    for (const ending of this.#endings.toReversed()) await ending();
  }
}
