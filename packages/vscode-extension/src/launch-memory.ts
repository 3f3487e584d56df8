/** Remembers the options of the last run, from the editor's steps or the form, as defaults of the next one. */
import type { NewExploration, NewRun } from '@autonomous/shared';
import {
  type Choice,
  choiceFor,
  choiceOf,
  type KeptChoices,
  keptAfter,
  keptFor,
  type Launchable,
  type LaunchDraft,
} from '@autonomous/ui';

export interface LaunchMemory {
  /** Workflow and project of the last run; absent where there was none. */
  readonly lastWorkflow: string | undefined;
  readonly lastProjectId: string | undefined;
  /** The last choice for a workflow; of the project, where one is named: each has a base branch of its own. */
  last(workflow: Launchable, projectId?: string): Choice;
  keep(choice: Choice): void;
  /** A web view has launched this, and the server has taken it. */
  keepLaunched(workflow: Launchable, launched: NewRun | NewExploration): void;
  /**
   * For a form: the last choice, and nothing typed yet.
   * @param workflow the last one; absent while it is not known
   */
  draft(workflow: Launchable | undefined): LaunchDraft;
}

/** As it is stored, for as long as the extension is installed: fields are added and never change their meaning. */
interface Kept extends Omit<KeptChoices, 'baseBranch'> {
  /** By project. */
  readonly baseBranch?: Readonly<Record<string, string>>;
}
const KEY = 'autonomous.lastLaunch';

/** The part of the editor's memory that is used here. */
export interface Memory {
  get<Value>(key: string): Value | undefined;
  update(key: string, value: unknown): Thenable<void>;
}

export function createLaunchMemory(memory: Memory): LaunchMemory {
  const read = (): Kept => memory.get<Kept>(KEY) ?? {};
  const last = (workflow: Launchable, projectId?: string): Choice => {
    const { baseBranch, ...kept } = read();
    const of = projectId ?? kept.projectId ?? '';
    return choiceFor(workflow, of, { ...keptFor(kept, workflow.name), baseBranch: baseBranch?.[of] ?? '' });
  };
  const keep = (choice: Choice): void => {
    const { baseBranch, ...before } = read();
    const { baseBranch: own = '', ...kept } = keptAfter(before, choice);
    const next: Kept = {
      ...kept,
      baseBranch: choice.projectId === '' ? { ...baseBranch } : { ...baseBranch, [choice.projectId]: own },
    };
    void memory.update(KEY, next);
  };
  return {
    get lastWorkflow() {
      return read().workflow;
    },
    get lastProjectId() {
      return read().projectId;
    },
    last,
    keep,
    keepLaunched(workflow, launched) {
      const { projectId } = launched;
      const config = 'variants' in launched ? launched.variants[0]?.config : launched.config;
      keep(choiceFor(workflow, projectId ?? '', choiceOf({ projectId, config })));
    },
    draft: (workflow) => ({
      id: crypto.randomUUID(),
      requests: [],
      choice: workflow === undefined ? {} : last(workflow),
    }),
  };
}
