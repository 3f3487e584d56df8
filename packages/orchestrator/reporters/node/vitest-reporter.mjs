/** Reporter of Vitest: runs in its main process, the code under test in workers. Added by `vitest-hook.cjs`. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRequire } from 'node:module';

const { session } = createRequire(import.meta.url)('./record.cjs');
const SETUP = fileURLToPath(new URL('./vitest-setup.mjs', import.meta.url));
const OUTCOMES = { pass: 'passed', fail: 'failed', skip: 'skipped', todo: 'skipped' };

export default class Reporter {
  #run = session('vitest');

  onInit(vitest) {
    const projects = vitest.projects ?? [];
    for (const { config } of [...projects, vitest]) {
      const files = config?.setupFiles;
      if (Array.isArray(files) && !files.includes(SETUP)) files.push(SETUP);
    }
  }

  /** Vitest 3 and later. */
  onTestRunEnd(modules, errors) {
    const files = modules.map((module) => module.task ?? module);
    this.#finish(files, errors);
  }

  /** Before. */
  onFinished(files = [], errors = []) {
    this.#finish(files, errors);
  }

  #finished = false;
  #finish(files, errors) {
    if (this.#finished) return;
    this.#finished = true;
    for (const file of files) this.#walk(file.tasks ?? [], file, []);
    if ((errors?.length ?? 0) === 0) this.#run.end();
  }

  #walk(tasks, file, parents) {
    for (const task of tasks) {
      const names = [...parents, task.name];
      if (task.type === 'suite') this.#walk(task.tasks ?? [], file, names);
      else {
        const outcome =
          OUTCOMES[task.result?.state] ?? (task.mode === 'skip' || task.mode === 'todo' ? 'skipped' : 'unfinished');
        const name = path.normalize(file.name ?? file.filepath ?? '');
        if (outcome !== 'unfinished') this.#run.test(names.join(' > '), name, outcome, file.filepath);
      }
    }
  }
}
