/**
 * Passed checks of code trees, which this server made itself, kept under its data: a tree that was checked in the same
 * environment before is not checked again, whichever run asks.
 */
import type { CommandEvidence } from '@autonomous/shared';
import type { TestReport } from '../../project-analysis/test-report.ts';
import { KeptEntries } from './kept-entries.ts';

/** How the checks of a code tree ended. */
export interface ChecksOutcome {
  readonly command: CommandEvidence;
  readonly sandbox: string;
  /** Milliseconds until the command began: checkout, install step, copies, and waiting for those of other runs. */
  readonly preparedMs: number;
  /** `null` where no runner reported. */
  readonly report: TestReport | null;
  /** Modules that Python finds outside of the project; empty where no runner of Python ran. */
  readonly installed: readonly string[];
}

interface CheckedTree {
  readonly outcome: ChecksOutcome;
  /** The run that checked it. */
  readonly runId: string;
}

export class CheckedTrees {
  readonly #entries: KeptEntries<CheckedTree>;

  /** @param folder absolute; made when it does not exist */
  constructor(folder: string) {
    this.#entries = new KeptEntries(folder);
  }

  find(key: string): Promise<CheckedTree | null> {
    return this.#entries.read(key);
  }

  /** Keeps an outcome that shows by itself that the tree is sound. All other outcomes are computed again each time. */
  async keep(key: string, checked: CheckedTree): Promise<void> {
    const { command, sandbox, report } = checked.outcome;
    if (command.exitCode !== 0 || sandbox === 'none') return;
    const { finished = true, replaced, rewritten = [] } = report?.count ?? {};
    if (!finished || replaced !== undefined || rewritten.length > 0) return;
    await this.#entries.write(key, checked);
  }
}
