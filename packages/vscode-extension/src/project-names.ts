/** Names of the server's projects, asked for when a run names one that is not known. */
import type { Project, RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';

export interface ProjectNames {
  /** By id. */
  readonly names: ReadonlyMap<string, string>;
  /** All projects as the server has them now. */
  load(client: Pick<Client, 'listProjects'>): Promise<readonly Project[]>;
  /** Loads where one of these runs belongs to a project that is not known. Failures are said to `onFailure` alone. */
  know(runs: Iterable<RunView>, client: Pick<Client, 'listProjects'> | null): void;
}

export function createProjectNames(onChange: () => void, onFailure: (error: unknown) => void): ProjectNames {
  const names = new Map<string, string>();
  /** Asked for once: a project that the server does not know either keeps its id. */
  const asked = new Set<string>();
  const load = async (client: Pick<Client, 'listProjects'>): Promise<readonly Project[]> => {
    const projects: Project[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listProjects({ limit: 200, cursor });
      projects.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    for (const { id, name } of projects) {
      names.set(id, name);
      asked.add(id);
    }
    onChange();
    return projects;
  };
  return {
    names,
    load,
    know(runs, client) {
      if (client === null) return;
      const unknown = new Set([...runs].map(({ projectId }) => projectId).filter((id) => id !== '' && !asked.has(id)));
      if (unknown.size === 0) return;
      for (const id of unknown) asked.add(id);
      load(client).catch((error: unknown) => {
        for (const id of unknown) asked.delete(id);
        onFailure(error);
      });
    },
  };
}
