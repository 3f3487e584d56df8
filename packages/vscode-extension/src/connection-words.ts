/** The state of the connection in words: beside a view's title, in a panel, at the head of the menu. */
import { offlineNews, RESUMING, sentence } from '@autonomous/ui';
import type { ConnectionState } from './connection.ts';

/** A few words beside a title; `undefined` while all is well. */
export function connectionBrief(state: ConnectionState): string | undefined {
  switch (state.kind) {
    case 'offline':
      return state.retryAt === null ? 'Offline' : 'Offline: trying again…';
    case 'resuming':
      return RESUMING;
    case 'signedOut':
      return 'Signed out';
    case 'polling':
      return 'Asking every few seconds';
    case 'unconfigured':
    case 'connecting':
    case 'live':
      return undefined;
    default:
      return state satisfies never;
  }
}

/** Returns the news of the connection for panels; `null` while it works. */
export function connectionNews(state: ConnectionState): string | null {
  switch (state.kind) {
    case 'offline':
      return state.retryAt === null ? `Offline. ${sentence(state.reason)}` : offlineNews(state.reason);
    case 'resuming':
      return RESUMING;
    case 'signedOut':
      return `Signed out. ${sentence(state.reason)}`;
    case 'polling':
      return 'Live updates cannot be had: asking every few seconds.';
    case 'unconfigured':
      return 'No server is connected.';
    case 'connecting':
    case 'live':
      return null;
    default:
      return state satisfies never;
  }
}

/** One line, all being well or not. */
export function connectionLine(state: ConnectionState): string {
  switch (state.kind) {
    case 'unconfigured':
      return 'No server is connected.';
    case 'live':
      return `Connected to ${state.url}`;
    case 'connecting':
      return `Connecting to ${state.url}…`;
    case 'resuming':
      return `${state.url}: ${RESUMING}`;
    case 'signedOut':
    case 'polling':
    case 'offline':
      return `${state.url}: ${sentence(state.reason)}`;
    default:
      return state satisfies never;
  }
}
