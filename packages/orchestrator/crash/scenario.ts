/** Scenario of the sweep: a project, a script for the models, requests, and a person who decides. */
import type { Gate, GateDecision, JsonObject, RunConfigRequest, RunView } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import type { Script } from '../src/models/script.ts';
import type { Asked, Fault } from '../test/fixtures/scripted-provider.fixture.ts';
import type { World } from './world.ts';

export interface Scenario {
  /** Short, in kebab-case: it stands in the names of its points. */
  readonly name: string;
  /** What is special about it, in a few words. */
  readonly about: string;
  /**
   * A custom workflow; absent: the built-in workflow `build`. With an `input` it needs no project, without one it gets the
   * project and the request of the scenario's only run, and with `inProject` all of them.
   */
  readonly own?: { readonly workflow: string; readonly input?: JsonObject; readonly inProject?: true };
  /** One run, or several that are launched together as an exploration. */
  readonly runs: readonly ScenarioRun[];
  /** Child runs that the scenario's only run starts, by their requests. Default: none. */
  readonly children?: readonly ScenarioChild[];
  /** Several things end at the same time, so that the order of events is a matter of time: they are compared without it. */
  readonly inAnyOrder?: true;
  /** What the models say. */
  readonly roles: Script['roles'];
  /** Files of the project beside those that every one has. */
  readonly files?: Readonly<Record<string, string>>;
  /** Paragraphs of pages by their paths on a web of this machine, which `roles` call `WEB`. Absent: there is none. */
  readonly web?: Readonly<Record<string, readonly string[]>>;
  /** Those of `files` in which the runs themselves change a status or add lines. Default: none. */
  readonly edits?: readonly string[];
  /** Variables of the server beside those that every one has. */
  readonly env?: Readonly<Record<string, string>>;
  /** The project lies at a forge, for which the server has a token. Absent: on a bare git host. */
  readonly forge?: true;
  /** Title of a labelled issue at the forge, which starts the only run. Absent: the runs are launched. */
  readonly issue?: string;
  /** Commands run in bubblewrap; absent means on the machine itself, which is quicker. */
  readonly sandboxed?: true;
  /** Absent: approves, and takes the first option of a question. `null`: nothing, until something else happens in the run. */
  readonly decide?: (gate: Gate, run: RunView, world: World) => Promise<GateDecision | null> | GateDecision | null;
  /** The models do not answer these requests until `world.release()`. */
  readonly holds?: (asked: Asked) => boolean;
  /** What is done about a run while a request of it is held; it may be done again after a crash. */
  readonly whileHeld?: (client: Client, run: RunView) => Promise<unknown>;
  /** What the models answer instead, until `world.release()`. */
  readonly faultFor?: (asked: Asked) => Fault | null;
  /** Somebody who is quicker than an effect, such as `merge.push`, the first time that it comes to that. */
  readonly colleague?: ColleaguesCommit;
  /** A stage may end on its time while a request is under way: how often that one comes is then chance. */
  readonly endsOnTime?: true;
  /** Status in which its runs end; `completed` when absent. */
  readonly ends?: 'cancelled';
}

/** Origin of the scenario's web in `roles`. Its server has another one in each playback. */
export const WEB = 'http://web.test';

export interface ColleaguesCommit {
  readonly before: string;
  readonly message: string;
  readonly files: Readonly<Record<string, string>>;
}

export type ScenarioChild = Pick<ScenarioRun, 'label' | 'request'> & {
  /** Absent: as the runs of the scenario. */
  readonly ends?: 'cancelled';
};

export interface ScenarioRun {
  /** How it is called in the names of boundaries; empty where there is only one run. */
  readonly label: string;
  /** Tells the runs of a scenario apart. */
  readonly request: string;
  readonly config: RunConfigRequest;
}

type Call = NonNullable<Script['roles']['planner']>[number];
type ToolCall = NonNullable<Call['turns'][number]['tools']>[number];

/** One call of a role from the tool calls of each of its turns. */
export function call(...turns: readonly (readonly ToolCall[])[]): Call {
  return { turns: turns.map((tools) => ({ tools: [...tools] })) };
}

/** The same call, played only where the prompt contains a text. */
export function when(contains: string, played: Call): Call {
  return { when: { contains }, ...played };
}

export function write(path: string, content: string): ToolCall {
  return { name: 'write', input: { path, content } };
}

export function fetchPage(address: string): ToolCall {
  return { name: 'fetch', input: { address } };
}

export function finish(result: ToolCall['input']): ToolCall {
  return { name: 'finish', input: result };
}

export function ask(question: ToolCall['input']): ToolCall {
  return { name: 'ask', input: { context: 'It matters.', ...question } };
}
