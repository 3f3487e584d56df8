/** XState as the server uses it, for custom workflows that have none of their own. */
export * from 'xstate';
