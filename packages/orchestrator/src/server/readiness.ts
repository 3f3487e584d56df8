/** Whether the server can carry out runs, and what is missing. */
import type { Readiness } from '@autonomous/shared';
import type { EventStore } from '../event-store/event-store.ts';
import type { SandboxProvider } from '../sandboxes/sandbox.ts';
import { startCommand } from './start-command.ts';

export interface ReadinessSources {
  readonly store: Pick<EventStore, 'lastPosition'>;
  readonly sandboxes: Pick<SandboxProvider, 'availability' | 'name'>;
  /** Why nothing can be stored now, in words; `null` while storing works. */
  readonly whyNotStorable: () => Promise<string | null>;
  /** Why the disk has too little room for what runs do, in words; `null` while it has enough. */
  readonly whyNoRoom: () => Promise<string | null>;
  /** Why git cannot be started, with the way out; `null` where it can. */
  readonly whyNoGit: () => Promise<string | null>;
  /** Damage that was found in the database's file since the start; `null` when none was. */
  readonly damage: () => string | null;
  readonly record: {
    /** Sentences about runs and events that the record in git has and the database does not. */
    readonly notices: () => readonly string[];
  };
}

const DAMAGED = 'The database has damaged pages. The log names them; restore a copy.';
const BEHIND_GIT = `Git has runs or events that the database does not have, or could not be asked. The log, the notices of projects and "${startCommand().program} doctor" name them.`;

export async function readinessOf({
  store,
  sandboxes,
  whyNotStorable,
  whyNoRoom,
  whyNoGit,
  damage,
  record,
}: ReadinessSources): Promise<Readiness> {
  const sandbox = await sandboxes.availability();
  const position = await store.lastPosition().then(
    (last) => ({ ok: true, detail: `${last} events` }),
    (error: unknown) => ({ ok: false, detail: error instanceof Error ? error.message : String(error) }),
  );
  const fault = await whyNotStorable();
  const shortage = await whyNoRoom();
  const noGit = await whyNoGit();
  const checks = [
    { name: 'database', ...position },
    { name: 'storage', ok: fault === null, detail: fault ?? 'steps of runs can be stored' },
    {
      name: `sandbox (${sandboxes.name})`,
      ok: sandbox.ok,
      detail: sandbox.ok ? sandbox.detail : `${sandbox.reason}. ${sandbox.remedy}`,
    },
    ...(noGit === null ? [] : [{ name: 'git', ok: false, detail: noGit }]),
    ...(shortage === null ? [] : [{ name: 'disk space', ok: false, detail: shortage }]),
    ...(damage() === null ? [] : [{ name: 'database file', ok: false, detail: DAMAGED }]),
    // Anybody may read this: no project and no run is named.
    ...(record.notices().length === 0 ? [] : [{ name: 'record in git', ok: false, detail: BEHIND_GIT }]),
  ];
  // Without a sandbox or room for one runs pause, which the server still has to tell people.
  return { ready: position.ok && fault === null && noGit === null, checks };
}
