/** Version 1 of the workflow. */
import type { JsonObject } from '@autonomous/shared';
import { defineWorkflow } from '../../core/definition.ts';
import { backlogMachine } from './machine.ts';
import { progressPlaceOf } from './progress-place.ts';
import { backlogSignals } from './setup.ts';
import { type BacklogContext, backlogInputSchema, folderOf } from './types.ts';

export const backlogV1 = defineWorkflow({
  name: 'backlog',
  version: 1,
  description:
    'Works through a backlog: each queued item is a run of its own, is checked and merged, and its status follows',
  machine: backlogMachine,
  signals: backlogSignals,
  input: backlogInputSchema,
  configuredInput: ({ backlog: { file, specs } = {} }) => ({
    ...(file === undefined ? {} : { file }),
    ...(specs === undefined ? {} : { specs }),
  }),
  defaultRequest: 'Work through {file}[: {item}]',
  exclusiveInput: ['file'],
  needsProject: true,
  ownedFiles: ({ file, specs }: JsonObject) => [
    String(file),
    `${folderOf(String(specs))}/**/*.md`,
    ...Object.values(progressPlaceOf(String(file))),
  ],
  workspace: (context: BacklogContext) => context.head || null,
});
