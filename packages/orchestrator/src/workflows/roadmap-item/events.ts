/** Facts that the machine of a roadmap's item emits, and their lines in a timeline. */
import type { EventInfo } from '@autonomous/shared';
import type { WorkPhase } from './types.ts';

export type ItemFact =
  | { readonly type: 'ROADMAP_ITEM_READ'; readonly item: string; readonly title: string; readonly folder: string }
  | {
      readonly type: 'ROADMAP_PHASE_CHANGED';
      readonly item: string;
      readonly phase: WorkPhase;
      /** Failures of the phase so far. */
      readonly attempts: number;
      /** Why the run is in this phase again; empty otherwise. */
      readonly reason: string;
    }
  | {
      readonly type: 'TASK_CHANGED';
      readonly task: string;
      readonly title: string;
      readonly status: 'started' | 'done' | 'failed';
      readonly reason: string;
    }
  | { readonly type: 'TASK_WAITS'; readonly task: string; readonly reason: string }
  | { readonly type: 'BUGS_FOUND'; readonly bugs: string; readonly summary: string }
  | { readonly type: 'BUG_ADDED'; readonly item: string; readonly title: string; readonly blocks: boolean }
  | {
      readonly type: 'COMMAND_RAN';
      readonly name: string;
      readonly command: string;
      /** `killed` when it was ended. */
      readonly exitCode: string;
    };

export const ITEM_EVENTS: Readonly<Record<ItemFact['type'], EventInfo>> = {
  ROADMAP_ITEM_READ: { text: 'Item {item}: {title}; documents in {folder}' },
  ROADMAP_PHASE_CHANGED: { text: '{item}: {phase}[, {attempts} failed][: {reason}]' },
  TASK_CHANGED: { text: '{task} {status}: {title}[ ({reason})]' },
  TASK_WAITS: { text: '{task} waits for you: {reason}' },
  BUGS_FOUND: { text: 'Looked for bugs: {summary}[ Found: {bugs}]' },
  BUG_ADDED: { text: 'New item of the roadmap: {item}: {title}' },
  COMMAND_RAN: { text: '{name}: {command} (exit code {exitCode})' },
};
