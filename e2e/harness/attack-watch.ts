/**
 * Watches what a hostile text gets done in a window: scripts that ran, requests that were made, links to commands, and marks
 * that turn the letters of our own words round.
 */
import assert from 'node:assert/strict';
import type { BrowserContext, Frame, Page, Request } from 'playwright-core';
import { isStoppedByPolicy } from './browser.ts';

/** What a script of an attacker would set, in any frame. */
const MARK = 'PWN';
/** The command that the links of {@link file://./hostile-words.ts} name. */
const COMMAND = 'workbench.action.terminal.new';

export class AttackWatch {
  readonly #page: Page;
  readonly #requests = new Set<Request>();
  readonly #dialogs: string[] = [];

  /** To be made before the page is opened. */
  static async over(page: Page): Promise<AttackWatch> {
    await markCalls(page.context());
    return new AttackWatch(page);
  }

  private constructor(page: Page) {
    this.#page = page;
    page.context().on('request', (request) => void this.#requests.add(request));
    // Web views name their files by a host that does not exist; their service worker has them.
    page.context().on('response', (response) => {
      if (response.fromServiceWorker()) this.#requests.delete(response.request());
    });
    page.context().on('requestfailed', (request) => {
      if (isStoppedByPolicy(request)) this.#requests.delete(request);
    });
    page.on('dialog', (dialog) => {
      this.#dialogs.push(dialog.message());
      void dialog.dismiss();
    });
  }

  /**
   * @throws when a script of the text ran, anything was asked for that is not the page’s own and no data in itself, a link
   *   leads to a command, or what is seen holds what is not to be seen
   */
  async check(what: string, isOwn: (address: string) => boolean): Promise<void> {
    const found = await Promise.all(this.#page.frames().map((frame) => foundIn(frame)));
    for (const { address, mark, called, links, unseen } of found.filter((each) => each !== null)) {
      const where = `${what}, in ${address.slice(0, 100)}`;
      assert.equal(mark, null, `${where}: a script ran`);
      assert.equal(called, false, `${where}: a function of the page was called`);
      assert.deepEqual(links, [], `${where}: a link leads to a command`);
      assert.deepEqual(unseen, [], `${where}: characters that are not to be seen`);
    }
    assert.deepEqual(this.#dialogs, [], what);
    const stray = [...this.#requests]
      .map((request) => request.url())
      .filter((address) => !/^(?:data|blob|about):/.test(address) && !isOwn(address));
    assert.deepEqual(stray, [], `${what}: requests left the page`);
  }
}

async function markCalls(context: BrowserContext): Promise<void> {
  // `click node call PWN()` calls a function of the page: there is one, so that a call would be seen.
  await context.addInitScript(
    `globalThis.wasCalled = false; Object.defineProperty(globalThis, 'callMe', { value() { globalThis.wasCalled = true; } });`,
  );
}

interface Found {
  readonly address: string;
  readonly mark: string | null;
  readonly called: boolean;
  readonly links: readonly string[];
  readonly unseen: readonly string[];
}

async function foundIn(frame: Frame): Promise<Found | null> {
  // A frame that is just being taken away has nothing to say.
  return frame
    .evaluate(
      ([name, command]) => {
        const page = globalThis as unknown as Readonly<Record<string, unknown>>;
        const text = document.body.innerText;
        return {
          address: location.href,
          mark: page[name] === undefined ? null : String(page[name]),
          called: page['wasCalled'] === true,
          links: [...document.querySelectorAll('a')]
            .map((link) => `${link.getAttribute('href') ?? ''} ${link.dataset['href'] ?? ''}`)
            .filter((address) => address.includes(command)),
          unseen: [...text.matchAll(/.{0,40}[\u001b\u202a-\u202e\u2066-\u2069].{0,20}/g)].map(([around]) => around),
        };
      },
      [MARK, COMMAND] as const,
    )
    .catch(() => null);
}
