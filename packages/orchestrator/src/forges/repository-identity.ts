/**
 * Repositories by the id that their forge gave them, not by their name: who takes the old name of a renamed repository gets
 * nothing of the projects that were made for the renamed one. The id is learnt at the first look.
 */
import { NeedsHuman } from '@autonomous/shared';
import type { Forge, ForgeRepository, RepositoryFacts } from './forge.ts';

/** Ids by project, as they are kept. */
export interface KnownRepositories {
  read(projectId: string): Promise<string | null>;
  keep(projectId: string, repositoryId: string): Promise<void>;
}

/** Name of the mark that keeps the id of a project's repository. */
export function markOfRepository(projectId: string): string {
  return `forge.repository/${projectId}`;
}

/** A forge whose repositories refuse every call for a project that was made for another one of the same name. */
export function identifiedForge(forge: Forge, known: KnownRepositories): Forge {
  return {
    ...forge,
    repository(name, signal, projectId) {
      const repository = forge.repository(name, signal);
      if (projectId === undefined) return repository;
      const facts = async (): Promise<RepositoryFacts> => {
        const found = await repository.facts();
        await assertSame(known, projectId, found);
        return found;
      };
      return { ...afterEach(repository, facts), facts };
    },
  };
}

/** Each call is made once `first` has succeeded, which is asked once for all of them. */
function afterEach(repository: ForgeRepository, first: () => Promise<unknown>): ForgeRepository {
  let asked: Promise<unknown> | null = null;
  const before = (): Promise<unknown> =>
    (asked ??= first().catch((error: unknown) => {
      asked = null;
      throw error;
    }));
  const calls = Object.entries(repository as unknown as Record<string, (...args: readonly unknown[]) => unknown>);
  const waiting = calls.map(([name, call]) => [
    name,
    async (...args: readonly unknown[]) => {
      await before();
      return call(...args);
    },
  ]);
  // Each method takes and gives what the one of the same name does.
  return Object.fromEntries(waiting) as ForgeRepository;
}

/** @throws {NeedsHuman} `repository_replaced` */
async function assertSame(
  known: KnownRepositories,
  projectId: string,
  { id, owner, name, renamedFrom }: RepositoryFacts,
): Promise<void> {
  const before = await known.read(projectId);
  if (before === null) await known.keep(projectId, id);
  if (before === null || before === id) return;
  throw new NeedsHuman(
    'repository_replaced',
    `${renamedFrom ?? `${owner}/${name}`} is another repository than the one that this project was made for: that one was renamed, transferred or removed, and somebody made a new one under its name. Nothing is read from the new one or sent to it. Make a project of another name for the address that is right, then start the work there; cancel this run, or retry once the first repository has its name again`,
  );
}
