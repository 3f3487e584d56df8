/**
 * Frames of an origin of their own, in which programs read what agents wrote: no access to the page, no network, no way to move
 * the page elsewhere. What hangs there is ended by taking the frame away.
 */

/** The frame loads several megabytes of program, on a machine that may be busy. */
export const MAX_START_MS = 120_000;

export interface SandboxedFrame<Request, Reply> {
  /** @returns `null` where no such reply came in time */
  readonly ask: (request: Request, isReply: (reply: Reply) => boolean, maxMs: number) => Promise<Reply | null>;
  end(): void;
}

export interface FrameParts<Reply> {
  /** As one text. */
  readonly program: string;
  /** By which the page's policy lets the program run. */
  readonly nonce: string;
  readonly page: Document;
  readonly title: string;
  /** Recognises the program's first reply. */
  readonly isReady: (reply: Reply) => boolean;
}

/** Loads the program it is sent, once; it can load nothing else, from anywhere. */
const frameHtml = (nonce: string): string => `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'">
<title>Drawing</title></head><body><script nonce="${nonce}">
addEventListener('message', ({ data, source }) => {
  if (source !== parent) return;
  const script = document.createElement('script');
  script.nonce = '${nonce}';
  script.textContent = data;
  document.head.append(script);
}, { once: true });
parent.postMessage({ kind: 'loaded' }, '*');
</script></body></html>`;

/** @throws {Error} when the program does not start in time */
export async function openFrame<Request, Reply>(parts: FrameParts<Reply>): Promise<SandboxedFrame<Request, Reply>> {
  const { program, nonce, page, title, isReady } = parts;
  const element = page.createElement('iframe');
  // Scripts and nothing else: no origin of the page, no forms, no windows, no way to move the page elsewhere.
  element.setAttribute('sandbox', 'allow-scripts');
  element.setAttribute('aria-hidden', 'true');
  element.tabIndex = -1;
  element.title = title;
  element.className = 'drawing-room';
  element.srcdoc = frameHtml(nonce);
  const ended = new AbortController();
  const heard = <Heard>(isReply: (reply: Heard) => boolean, maxMs: number): Promise<Heard | null> =>
    new Promise((resolve) => {
      const settle = (reply: Heard | null): void => {
        clearTimeout(timer);
        window.removeEventListener('message', onMessage);
        resolve(reply);
      };
      const onMessage = ({ data, source }: MessageEvent): void => {
        if (source !== element.contentWindow || typeof data !== 'object' || data === null) return;
        // From our own frame; whatever it says is read with care, since foreign content is drawn there.
        if (isReply(data as Heard)) settle(data as Heard);
      };
      const timer = setTimeout(() => settle(null), maxMs);
      ended.signal.addEventListener('abort', () => settle(null), { once: true });
      window.addEventListener('message', onMessage);
    });
  const post = (message: Request | string): void => element.contentWindow?.postMessage(message, '*');
  const end = (): void => {
    ended.abort();
    element.remove();
  };

  const loaded = heard<{ readonly kind: string }>(({ kind }) => kind === 'loaded', MAX_START_MS);
  page.body.append(element);
  await loaded;
  const ready = heard(isReady, MAX_START_MS);
  post(program);
  if ((await ready) === null) {
    end();
    throw new Error('the frame that it is drawn in did not start');
  }
  return {
    ask(request, isReply, maxMs) {
      const reply = heard(isReply, maxMs);
      post(request);
      return reply;
    },
    end,
  };
}
