import type { FeedStatus } from '@autonomous/shared/client';
import { describe, expect, it } from 'vitest';
import { feedNews, RESUMING, sentence } from './connection-news.ts';

const offline: FeedStatus = { state: 'offline', reason: 'the connection was closed (1006)', retryInMs: 1 };
const connecting: FeedStatus = { state: 'connecting' };
const replaying: FeedStatus = { state: 'replaying', feedId: 'f', reset: false };
const live: FeedStatus = { state: 'live', feedId: 'f', position: 1 };
const OFFLINE = 'Offline: trying again… The connection was closed (1006). What you see may be old.';

describe('News of the connection', () => {
  it.each<[string, readonly FeedStatus[], string | null]>([
    ['nothing at the first connection', [connecting, replaying, live], null],
    ['that it is lost, and while it is tried again', [live, offline, connecting], OFFLINE],
    ['that it goes on', [live, offline, connecting, replaying], RESUMING],
    ['nothing once all is there again', [live, offline, connecting, replaying, live], null],
  ])('are %s', (_what, statuses, news) => {
    expect(statuses.reduce<string | null>(feedNews, null)).toBe(news);
  });

  it.each([
    ['no Autonomous server answers', 'No Autonomous server answers.'],
    ['Is it up?', 'Is it up?'],
    ['', ''],
  ])('have a reason as a sentence: %j', (reason, text) => {
    expect(sentence(reason)).toBe(text);
  });
});
