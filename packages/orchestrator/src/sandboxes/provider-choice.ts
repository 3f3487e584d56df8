/** Chooses the sandbox provider that the server's configuration names. */
import { createBubblewrapProvider } from './bubblewrap/bubblewrap.ts';
import { createE2bProvider, type E2bOptions } from './e2b/e2b.ts';
import type { SandboxProvider } from './sandbox.ts';

export type SandboxSettings =
  | { readonly provider: 'bubblewrap'; readonly programs?: readonly string[] }
  | { readonly provider: 'e2b'; readonly e2b: Omit<E2bOptions, 'server' | 'pauseAfterMs'> };

export interface ServerFacts {
  /** Tells this server from others that use the same E2B team. */
  readonly server: string;
  /** Absolute; commands never see it. */
  readonly dataFolder: string;
}

export function createSandboxProvider(settings: SandboxSettings, { server, dataFolder }: ServerFacts): SandboxProvider {
  switch (settings.provider) {
    case 'bubblewrap':
      return createBubblewrapProvider({ hiddenFolders: [dataFolder], programs: settings.programs ?? [] });
    case 'e2b':
      return createE2bProvider({ ...settings.e2b, server });
    default:
      return settings satisfies never;
  }
}
