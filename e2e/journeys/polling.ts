/** A dashboard behind a proxy that lets no WebSocket through, until it does: the same runs, the same decisions, nothing twice. */
import assert from 'node:assert/strict';
import { DEMO_REQUEST } from '../harness/server.ts';
import { startProxy } from '../harness/proxy.ts';
import type { Journey } from '../harness/stage.ts';

export const journey: Journey = {
  name: 'polling',
  async play(stage) {
    const server = await stage.startServer();
    const proxy = await startProxy(server.url);
    try {
      const { page } = await stage.openWindow();
      page.setDefaultTimeout(30_000);
      const link = new URL(await server.client.createSignInLink());
      await page.goto(`${proxy.url}${link.pathname}${link.search}`);
      const banner = page.getByText('No WebSocket gets through to the server');
      await banner.waitFor();
      await page.getByText('No runs yet').waitFor();
      await stage.picture(page, 'asked-instead');

      // What happens elsewhere is seen here all the same.
      const { id } = await server.launch();
      await page.getByRole('link', { name: DEMO_REQUEST }).click();
      await page.locator('.diagram svg').first().waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      const question = page.getByRole('heading', { name: 'Which OAuth providers shall people sign in with?' });
      await question.waitFor();

      // Somebody else answers while this page hears of nothing: what it sends is refused, and taken back with the reason.
      await page.route('**/api/events*', (route) => route.abort());
      const offline = page.getByRole('status').filter({ hasText: 'Offline: trying again…' });
      await offline.waitFor();
      const [gate] = await server.client.listGates(id);
      await server.client.decideGate(gate?.id ?? '', { decision: 'answer', response: 'Google and GitHub' });
      await page.getByRole('radio', { name: 'Google and GitHub' }).click();
      await page.getByRole('button', { name: 'Answer' }).click();
      await page.getByText(/is decided: Question answered by local.*Yours was not accepted/).waitFor();
      await question.waitFor({ state: 'detached' });
      await stage.picture(page, 'somebody-was-first');
      await page.unroute('**/api/events*');

      proxy.letsWebSocketThrough = true;
      await banner.waitFor({ state: 'detached' });
      await offline.waitFor({ state: 'detached' });
      await page.getByText(/^Merged into main/).waitFor({ timeout: 90_000 });
      const polls = (): number => proxy.asked.filter((path) => path.startsWith('/api/events')).length;
      const before = polls();
      // Two intervals of the client: whoever hears of everything asks no more.
      await page.waitForTimeout(7_000);
      assert.equal(polls(), before, 'the server is still asked although the WebSocket works');
      await stage.picture(page, 'live-again');
    } finally {
      await proxy.stop();
    }
  },
};
