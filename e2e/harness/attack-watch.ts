/** Watches what a hostile text gets done in a window: scripts that ran, requests that were made, what the policies stopped. */
import assert from 'node:assert/strict';
import type { BrowserContext, Frame, Page, Request } from 'playwright-core';
import { isStoppedByPolicy } from './browser.ts';

/** What a script of an attacker would set, in any frame. */
const MARK = 'PWN';

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

  /** @throws when a script of the text ran, or anything was asked for that is not the page’s own and no data in itself */
  async check(what: string, isOwn: (address: string) => boolean): Promise<void> {
    for (const frame of this.#page.frames()) {
      const found = await ranIn(frame);
      assert.equal(found, null, `${what}: a script ran in ${frame.url().slice(0, 100)}: ${found}`);
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

async function ranIn(frame: Frame): Promise<string | null> {
  // A frame that is just being taken away has nothing to say.
  const found = await frame
    .evaluate(`JSON.stringify({ mark: typeof ${MARK} === 'undefined' ? null : String(${MARK}), called: wasCalled })`)
    .catch(() => null);
  if (typeof found !== 'string') return null;
  const { mark, called } = JSON.parse(found) as { readonly mark: string | null; readonly called: boolean };
  return called ? 'callMe was called' : mark;
}
