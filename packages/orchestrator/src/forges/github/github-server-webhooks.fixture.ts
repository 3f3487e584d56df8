/** Webhooks of the GitHub of tests: signed as GitHub signs them, and delivered once each. */
import { createHmac, randomUUID } from 'node:crypto';
import { nextId, type StandInRepository } from './github-server-state.fixture.ts';
import { type Places, repositoryView, userView } from './github-server-views.fixture.ts';

export interface Hook {
  readonly url: string;
  readonly secret: string;
  /** `*` means all. */
  readonly events: readonly string[];
}

export interface Delivery {
  /** `X-GitHub-Delivery`. */
  readonly id: string;
  readonly event: string;
  readonly action: string | null;
  readonly body: string;
  readonly hook: Hook;
  /** Status of the answer; `null` where there was none. */
  readonly status: number | null;
}

const DELIVERY_MS = 10_000;

export class Webhooks {
  readonly #hooks: { readonly id: number; readonly repository: StandInRepository; readonly hook: Hook }[] = [];
  readonly #deliveries: Delivery[] = [];
  readonly #places: () => Places;
  #sent: Promise<unknown> = Promise.resolve();

  constructor(places: () => Places) {
    this.#places = places;
  }

  /** Oldest first. */
  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }

  add(repository: StandInRepository, hook: Hook): number {
    const id = nextId();
    this.#hooks.push({ id, repository, hook });
    return id;
  }

  /** As GitHub lists them. */
  list(repository: StandInRepository): readonly object[] {
    return this.#hooks
      .filter((each) => each.repository === repository)
      .map(({ id, hook }) => {
        const last = this.#deliveries.findLast((each) => each.hook === hook);
        const code = last === undefined ? null : (last.status ?? 502);
        return {
          id,
          type: 'Repository',
          name: 'web',
          active: true,
          events: hook.events,
          config: { url: hook.url, content_type: 'json', insecure_ssl: '0', secret: '********' },
          last_response: { code, status: code === null ? 'unused' : 'active', message: null },
        };
      });
  }

  /** Delivers an event in the order in which events happen; nobody waits for it. */
  send(repository: StandInRepository, login: string, event: string, action: string | null, payload: object): void {
    const places = this.#places();
    const body = JSON.stringify({
      ...(action === null ? {} : { action }),
      ...payload,
      repository: repositoryView(repository, login, places),
      sender: userView(login, places),
    });
    for (const each of this.#hooks) {
      if (each.repository !== repository) continue;
      if (!each.hook.events.includes('*') && !each.hook.events.includes(event)) continue;
      const delivery = { id: randomUUID(), event, action, body, hook: each.hook };
      this.#sent = this.#sent.then(async () => this.#deliver(delivery, each.id));
    }
  }

  /** Delivers a delivery once more, with the same id. */
  async redeliver(delivery: Delivery): Promise<void> {
    await this.#deliver(delivery, 0);
  }

  /** Resolves when all that has happened is delivered. */
  async settled(): Promise<void> {
    await this.#sent;
  }

  async #deliver(delivery: Omit<Delivery, 'status'>, hookId: number): Promise<void> {
    const { hook, body, event, id } = delivery;
    const sign = (algorithm: string): string => createHmac(algorithm, hook.secret).update(body).digest('hex');
    const status = await fetch(hook.url, {
      method: 'POST',
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(DELIVERY_MS),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/0000000',
        'x-github-event': event,
        'x-github-delivery': id,
        'x-github-hook-id': String(hookId),
        ...(hook.secret === ''
          ? {}
          : { 'x-hub-signature': `sha1=${sign('sha1')}`, 'x-hub-signature-256': `sha256=${sign('sha256')}` }),
      },
    }).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.status;
      },
      () => null,
    );
    this.#deliveries.push({ ...delivery, status });
  }
}
