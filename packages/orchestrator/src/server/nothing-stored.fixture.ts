import type { ServerOptions } from './http-server.ts';

/** A store that knows nothing and forgets everything, for what never comes to it. */
export const nothingStored: ServerOptions['store'] = {
  recall: async () => null,
  recallStep: async () => null,
  remember: async () => {},
  getMark: async () => null,
  setMark: async () => {},
  findSession: async () => null,
  beginSession: async () => {},
  renewSession: async () => {},
  endSessions: async () => 0,
};
