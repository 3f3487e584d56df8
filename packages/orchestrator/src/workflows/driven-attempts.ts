/** Drives a run of attempts for tests, with outcomes of the activities that all such runs have. */
import type { JsonObject } from '@autonomous/shared';
import { type DrivenRequest, DrivenRun, drivenStart } from './driven-run.ts';
import type { WorkflowValue } from './complete-workflow.ts';

/**
 * Starts a run of a workflow that `attemptWorkflow` made.
 * @throws {InvalidRequest} with every fault of the workflow, or of the input
 */
export function driveAttempts(workflow: WorkflowValue, request: DrivenRequest = {}): DrivenAttempts {
  const { definition, start } = drivenStart(workflow, request);
  return new DrivenAttempts(definition).begin(start);
}

/** A run of attempts that is driven by hand. Attempts are counted from 1, over all units. */
export class DrivenAttempts extends DrivenRun {
  /** Ends the preparation, with a project whose tests are run by `npm test`. */
  prepared(): this {
    return this.ended('prepare', {
      baseCommit: 'base',
      config: this.view?.config ?? null,
      notices: [],
      excludePaths: [],
      setup: null,
      test: { command: 'npm test', source: 'package.json' },
      autoRetry: true,
    }); // The configuration of a run is JSON.
  }

  /** The request that the child run of an attempt under way was given. */
  requestOf(number: number): string {
    return String(this.inputOf(`attempt-${number}`)['request']);
  }

  /** The child run of an attempt ends with a result, which is not merged yet. */
  completed(number: number): this {
    return this.ended(`attempt-${number}`, {
      runId: `child-${number}`,
      status: 'completed',
      branch: `autonomous/child-${number}`,
      baseCommit: 'base',
      headCommit: `child-${number}`,
      codeTree: `tree-${number}`,
      output: null,
    });
  }

  /** An attempt is merged. The head of the run is then `merged-` and its number. */
  merged(number: number): this {
    return this.completed(number)
      .ended('integrateChild', { commit: 'merge', codeTree: `merged-tree-${number}`, fastForward: true })
      .ended('mergeChild', { commit: `merged-${number}`, codeTree: `merged-tree-${number}` });
  }

  /** An attempt comes to nothing. @param hint for the next attempt. Default: the same as `why` */
  failed(number: number, why: string, hint: string = why): this {
    return this.#rested(number, 'unfinished', { why, hint });
  }

  /** The agent of an attempt changes no file. */
  unchanged(number: number): this {
    const why = 'the agent changed no file';
    return this.#rested(number, 'untouched', { why, hint: why });
  }

  /** The child run of an attempt waits for a person. */
  asks(number: number, why: string): this {
    return this.#rested(number, 'asks', { why });
  }

  /** The checks pass on the result. */
  checked(): this {
    for (const mode of ['as_is', 'base_tests'] as const)
      this.ended(mode === 'as_is' ? 'checkAsIs' : 'checkBaseTests', {
        mode,
        codeTree: 'tree',
        commit: 'merge',
        passed: true,
        restored: [],
        sandbox: 'bubblewrap',
        commands: [{ command: 'npm test', exitCode: 0, durationMs: 1, output: '', isTruncated: false }],
      });
    return this.ended('findConcerns', { concerns: [] });
  }

  /** The result is recorded and pushed. With the default settings the run is completed then. */
  published(): this {
    return this.ended('recordRun', { commit: 'record', codeTree: 'tree', notices: [] }).ended('pushBranch', {
      commit: 'record',
      pushed: true,
    });
  }

  #rested(number: number, kind: 'asks' | 'unfinished' | 'untouched', words: JsonObject): this {
    return this.ended('watchAttempts', {
      actor: `attempt-${number}`,
      gate: `child-${number}.9`,
      kind,
      ...words,
    });
  }
}
