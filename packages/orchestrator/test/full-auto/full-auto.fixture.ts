/** A plan and its features on a real server with real git, and a script that plays the agents. */
import { FINAL_STATUSES, type RunConfigRequest, type RunView } from '@autonomous/shared';
import { expect, vi } from 'vitest';
import type { Script, ScriptCall } from '../../src/models/script.ts';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import {
  aPlan,
  aScript,
  aServer,
  type Files,
  FILES,
  finish,
  type Fixture,
  projectConfig,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

export const TOPIC = 'Sounds';
export const FOLDER = 'docs/research-sounds';
export const PLAN_PATH = `${FOLDER}/sounds-plan.json`;

const task = (id: string, dependencies: readonly string[] = []) => ({
  id,
  title: `Sound ${id}`,
  description: `A script that makes the sound ${id}.`,
  component: 'sounds',
  dependencies,
  acceptanceCriteria: [`${id} is heard`],
});

const PLAN = {
  topic: TOPIC,
  components: [{ name: 'sounds', purpose: 'Makes sounds', interfaces: '', approach: '', dependencies: [] }],
  tasks: [task('T1'), task('T2', ['T1'])],
};

export interface Listed {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly component: string;
  readonly dependencies: readonly string[];
}

/** `F001`, with a name of its own by which a script recognises it. */
export const feature = (number: number, ...dependencies: readonly number[]): Listed => ({
  id: idOf(number),
  name: `Sound ${number}`,
  description: `The script sound${number}.sh makes a sound.`,
  component: 'sounds',
  dependencies: dependencies.map((other) => idOf(other)),
});

export const idOf = (number: number): string => `F00${number}`;

/**
 * @param tasks of the plan, which each feature carries out
 * @param more such as the test command of a project that names none
 */
export const lists = (
  features: readonly Listed[],
  tasks: readonly string[] = ['T1', 'T2'],
  more: { readonly testCommand?: string } = {},
): ScriptCall => finish({ features: features.map((each) => ({ ...each, tasks })), ...more });

/** A feature and its test, which fails without it. */
export const sound = (number: number): Readonly<Record<string, string>> => ({
  [`sound${number}.sh`]: `echo ${number}\n`,
  [`test/sound${number}.test.sh`]: countedTest(`sh sound${number}.sh | grep -q ${number}`, `sound${number}`),
});

/** The call by which a feature is built. */
export const builds = (number: number, files: Readonly<Record<string, string>> = {}): ScriptCall =>
  when(`${idOf(number)} Sound ${number}\n`, writes({ ...sound(number), ...files }));

export interface FullAutoFixture extends Fixture {
  begin(input?: object, config?: RunConfigRequest): Promise<RunView>;
  /** Resolves with the view of a run that has ended with this status; `completed` when absent. */
  ends(run: RunView, status?: 'completed' | 'failed'): Promise<RunView>;
  /** `passes` by feature, as a commit has them. */
  passes(treeish: string): Promise<Readonly<Record<string, boolean>>>;
  /** Events of a type as `FEATURE status`. */
  changes(runId: string): Promise<readonly string[]>;
}

/** A project that runs all scripts of its folder `test`. */
export const TESTED: Files = {
  ...FILES,
  'test/all.sh': 'for test in test/*.test.sh; do sh "$test" || exit 1; done\n',
  '.autonomous/config.json': projectConfig({ defaultRunConfig: { commands: { test: 'sh test/all.sh' } } }),
};

/** The same with a plan. */
export const PROJECT: Files = { ...TESTED, [PLAN_PATH]: `${JSON.stringify(PLAN)}\n` };

/** @param roles calls of the agents; each planner plans, and each validator agrees */
export function aScriptOf(roles: Script['roles']): string {
  const passing = Array.from({ length: 4 }, () =>
    finish({ verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' }),
  );
  return aScript({ planner: [aPlan(), aPlan()], validator: passing, ...roles });
}

/** @param roles calls of the agents, as of {@link aScriptOf} */
export async function aFullAuto(
  roles: Script['roles'],
  options: { readonly files?: Files; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<FullAutoFixture> {
  const server = await aServer({
    files: { ...PROJECT, ...options.files },
    script: aScriptOf(roles),
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  return {
    ...server,
    begin: (input = {}, config = {}) =>
      server.client.launchRun({
        projectId: server.project.id,
        workflow: 'full-auto',
        request: 'Build the sounds',
        input: { topic: TOPIC, plan: FOLDER, ...input },
        config,
      }),
    async ends(run, status = 'completed') {
      const rests = async () => {
        const view = await server.client.getRun(run.id);
        return FINAL_STATUSES.has(view.status) || view.gate !== null ? view : null;
      };
      // Features are runs one after the other.
      const rested = await vi.waitUntil(rests, { timeout: 200_000, interval: 100 });
      expect(rested.status).toBe(status);
      return rested;
    },
    async passes(treeish) {
      const text = await server.mirror('show', `${treeish}:${FOLDER}/feature-list.json`);
      const { features } = JSON.parse(text) as { features: readonly { id: string; passes: boolean }[] };
      return Object.fromEntries(features.map(({ id, passes }) => [id, passes]));
    },
    async changes(runId) {
      const facts = (await server.payloads(runId, 'FEATURE_CHANGED' as never)) as unknown as {
        feature: string;
        status: string;
      }[];
      return facts.filter(({ status }) => status !== 'started').map(({ feature: id, status }) => `${id} ${status}`);
    },
  };
}
