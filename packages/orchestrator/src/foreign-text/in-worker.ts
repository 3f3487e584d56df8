/** Pure functions of any module, carried out in the worker of `foreign-text.ts`. */
import { NeedsHuman } from '@autonomous/shared';
import { readForeignText } from './foreign-text.ts';

/**
 * The same function, carried out in the worker.
 * @param module `import.meta.url` of the module that exports the function by its own name
 * @param read takes and gives plain data
 * @param subject of the sentence when reading is given up, such as "The backlog"
 * @returns throws what `read` throws: a `NeedsHuman` as it is, `setup_failed` when reading is given up, else an `Error` with its message
 */
export function inWorker<Input extends readonly unknown[], Output>(
  module: string,
  read: (...input: Input) => Output,
  subject: string,
): (...input: Input) => Promise<Output> {
  return async (...input) => {
    const answer = await readForeignText('call', [module, read.name, input]);
    if (!answer.ok) throw new NeedsHuman('setup_failed', `${subject} ${answer.why}. Make it shorter, then retry.`);
    // The module's function of that name is `read`.
    return answer.value as Output;
  };
}
