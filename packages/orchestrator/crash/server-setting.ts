/** Settings that the sweep passes to a server in addition to its configuration. */
import type { ColleaguesCommit } from './scenario.ts';

export interface ServerSetting {
  /** File that the server writes down its life in. */
  readonly ledger: string;
  /** Name of the boundary at which it ends itself; `null` for none. */
  readonly killAt: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Commits to the remote's `main` just before an effect, once. */
  readonly colleague?: ColleaguesCommit & { readonly remote: string };
  /** In bubblewrap, or on the machine itself. */
  readonly sandboxed: boolean;
}
