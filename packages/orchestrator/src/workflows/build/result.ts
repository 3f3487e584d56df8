/** The result: published where it is trusted, otherwise shown to a person. */
import { not } from 'xstate';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { besideBase } from './checks.ts';
import { shownResult } from './inputs.ts';
import { buildSetup } from './setup.ts';
import type { BuildContext } from './types.ts';

export const resultStates = {
  resultGate: buildSetup.createStateConfig({
    always: [
      { guard: not('isSupported'), target: '#build.interrupted', actions: 'refuseUnsupported' },
      { guard: 'resultIsTrusted', target: 'publishing' },
      { target: 'awaitingResultApproval' },
    ],
  }),

  awaitingResultApproval: buildSetup.createStateConfig({
    meta: approvalGate<BuildContext>({
      stage: 'validation',
      kind: 'implementation',
      decisions: ['approve', 'reject'],
      summary: (context) => `Review the result of '${context.plan?.title ?? ''}'`,
      shows: shownResult,
      details: (context) => ({
        report: context.report?.path,
        review: context.review?.summary,
        accepted: context.accepted,
        checks: context.evidence.map(({ mode, passed, sandbox }) => ({ mode, passed, sandbox })),
        ...besideBase(context),
        newDependencies: context.evidence
          .find(({ mode }) => mode === 'as_is')
          ?.newDependencies?.map((each) => ({ ...each })),
      }),
    }),
    on: {
      APPROVAL_GRANTED: {
        guard: 'namesTheResult',
        target: 'publishing',
        actions: 'acceptConcerns',
      },
      APPROVAL_REJECTED: [
        {
          guard: ({ event }) => event.take !== undefined,
          target: '#build.active.implementation.work.takingFiles',
          actions: 'takeFrom',
        },
        { target: '#build.active.implementation.work.implementing', actions: noteFeedback },
      ],
    },
  }),
};
