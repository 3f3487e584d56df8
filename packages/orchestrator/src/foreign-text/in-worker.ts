/** Pure functions of any module, carried out in the worker of `foreign-text.ts`. */
import { NeedsHuman } from '@autonomous/shared';
import { readForeignText } from './foreign-text.ts';

type Functions = Readonly<Record<string, (...input: never[]) => unknown>>;

/** The same functions, each with a promise of what it gives. */
export type InWorker<All extends Functions> = {
  readonly [Name in keyof All]: (...input: Parameters<All[Name]>) => Promise<ReturnType<All[Name]>>;
};

/**
 * The same functions, carried out in the worker. The module has to be an entry of the package (`release/server-package.ts`).
 * @param module `import.meta.url` of the module that exports the functions by these names
 * @param subject of the sentence when reading is given up, such as "The backlog"
 * @param functions take and give plain data
 * @returns each throws what its function throws: of a `NeedsHuman` its reason and message, `setup_failed` when reading is given up, else
 *   an `Error` with the message
 */
export function inWorker<All extends Functions>(module: string, subject: string, functions: All): InWorker<All> {
  const called = Object.keys(functions).map((name) => [
    name,
    async (...input: readonly unknown[]) => {
      const answer = await readForeignText('call', [module, name, input]);
      if (answer.ok) return answer.value;
      throw new NeedsHuman('setup_failed', `${subject} ${answer.why}. Make it shorter, then retry.`);
    },
  ]);
  // Each takes and gives what the function of its name does.
  return Object.fromEntries(called) as InWorker<All>;
}
