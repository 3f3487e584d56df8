import { describe, expect, it } from 'vitest';
import type { ConnectionState } from './connection.ts';
import { connectionBrief, connectionLine, connectionNews } from './connection-words.ts';

const url = 'http://127.0.0.1:1';
const reason = 'the connection was closed (1006)';

describe('Of a connection', () => {
  it.each<[ConnectionState, string | undefined, string | null]>([
    [{ kind: 'unconfigured' }, undefined, 'No server is connected.'],
    [{ kind: 'connecting', url }, undefined, null],
    [{ kind: 'live', url }, undefined, null],
    [{ kind: 'resuming', url }, 'Resuming…', 'Resuming…'],
    [{ kind: 'signedOut', url, reason: 'no token' }, 'Signed out', 'Signed out. No token.'],
    [
      { kind: 'polling', url, reason },
      'Asking every few seconds',
      'Live updates cannot be had: asking every few seconds.',
    ],
    [{ kind: 'offline', url, reason, retryAt: null }, 'Offline', 'Offline. The connection was closed (1006).'],
    [
      { kind: 'offline', url, reason, retryAt: 1 },
      'Offline: trying again…',
      'Offline: trying again… The connection was closed (1006). What you see may be old.',
    ],
  ])('that is %j is said', (state, brief, news) => {
    expect(connectionBrief(state)).toBe(brief);
    expect(connectionNews(state)).toBe(news);
    expect(connectionLine(state)).toMatch(/^[A-Z].*|^http.*[.…]$/);
  });
});
