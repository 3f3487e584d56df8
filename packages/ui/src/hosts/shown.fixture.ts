/** The markup of a part of a screen as it is first drawn, in a host that knows given runs. Nothing is sent. */
import type { ForeseenConflict, Progress, RunView, WorkflowSummary } from '@autonomous/shared';
import { createClient, createRunStore, createWorkflowCatalog } from '@autonomous/shared/client';
import { createElement, type ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { pathOf } from '../bridge.ts';
import { createPlaceStore, type Host, HostProvider } from './host.ts';

export interface Known {
  readonly runs?: readonly RunView[];
  readonly progress?: readonly Progress[];
  readonly workflows?: readonly WorkflowSummary[];
  readonly conflicts?: readonly ForeseenConflict[];
}

export function shownIn(known: Known, part: ReactNode): string {
  return renderToStaticMarkup(createElement(HostProvider, { value: aHost(known) }, part));
}

function aHost({ runs: known = [], progress: lines = [], workflows: listed = [], conflicts = [] }: Known): Host {
  const runs = createRunStore();
  runs.trigger.listed({ runs: known });
  for (const progress of lines) runs.trigger.progressed({ progress });
  runs.trigger.conflicted({ change: { conflicts } });
  const workflows = createWorkflowCatalog();
  workflows.trigger.listed({ workflows: listed });
  return {
    kind: 'dashboard',
    client: createClient({ baseUrl: 'http://127.0.0.1:9' }),
    runs,
    workflows,
    listWorkflows: () => undefined,
    place: createPlaceStore({ name: 'runs' }),
    go: () => undefined,
    hrefOf: pathOf,
    copyLink: () => Promise.resolve(),
  };
}
