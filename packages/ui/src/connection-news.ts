/** Messages about the connection, in the same words on every screen. None while it works. */
import type { FeedStatus } from '@autonomous/shared/client';

/** The server answers again, and what was missed is being fetched; of a run: it is taken up again. */
export const RESUMING = 'Resuming…';

/** A reason as it came, made a sentence: `The connection was closed (1006).` */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const end = /[.!?…]$/.test(trimmed) ? '' : '.';
  return trimmed === '' ? '' : `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${end}`;
}

export function offlineNews(reason: string): string {
  return `Offline: trying again… ${sentence(reason)} What you see may be old.`;
}

export function pollingNews(reason: string): string {
  return `No WebSocket gets through to the server (${reason.trim().replace(/\.$/, '')}): it is asked every few seconds instead.`;
}

/**
 * Returns the news of the connection by the feed's own status, when nothing else is known of the server.
 * @param before the present news: an attempt that is under way changes nothing
 */
export function feedNews(before: string | null, status: FeedStatus | { readonly state: 'idle' }): string | null {
  switch (status.state) {
    case 'offline':
      return offlineNews(status.reason);
    case 'idle':
    case 'connecting':
      return before;
    case 'replaying':
      return before === null ? null : RESUMING;
    case 'live':
    case 'polling':
      return null;
    default:
      return status satisfies never;
  }
}
