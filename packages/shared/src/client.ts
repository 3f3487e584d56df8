/** For clients of the server: the HTTP client, the feed, the stores over them, and the words for what is refused. */
export * from './api/api-error.ts';
export * from './api/client.ts';
export type { Backoff } from './api/backoff.ts';
export type { WebSocketConstructor, WebSocketLike } from './api/feed-client.ts';
export type { FeedOptions, FeedStatus } from './api/feed-options.ts';
export { MAX_JSON_BYTES, parseJsonBytes, readBytes } from './api/request-body.ts';
export type { ApiOptions } from './api/routes.ts';
export * from './gates/decision-keys.ts';
export * from './gates/refusal.ts';
export * from './run-store.ts';
export * from './workflows/workflow-catalog.ts';
