/** The parts of a run that its page has a tab for: those of any run, and one for each type of document that it has. */
import {
  CHANGES_TYPE,
  type DocumentInfo,
  documentInfoOf,
  gateInfoOf,
  type RunView,
  type WorkflowInfo,
} from '@autonomous/shared';
import { RUN_TABS, type RunTab } from './bridge.ts';

type Described = Pick<WorkflowInfo, 'gates' | 'documents'>;

export interface ShownTab {
  /** Its part of the address. */
  readonly name: RunTab;
  readonly title: string;
  /** The document that the tab shows; absent for a tab that every run has. */
  readonly document?: { readonly type: string; readonly info: DocumentInfo };
}

const OWN_TITLES: Readonly<Record<(typeof RUN_TABS)[number], string>> = {
  overview: 'Overview',
  changes: 'Changes',
  evidence: 'Evidence',
  'pull-request': 'Pull request',
  transcript: 'Transcript',
  statechart: 'Statechart',
  events: 'Events',
};

/**
 * The tabs of a run in their order.
 * @param workflow absent while it is not known: documents are then named after their types
 */
export function tabsOf(run: RunView, workflow: Described | undefined): readonly ShownTab[] {
  const types = documentTypes(run, workflow);
  const shown = types.map((type) => ({ type, info: documentInfoOf(workflow, type) }));
  const documents = shown.flatMap(({ type, info }): readonly ShownTab[] =>
    info.drawnAs === 'markdown' || info.drawnAs === 'diagrams' || info.drawnAs === 'pdf'
      ? [{ name: documentTab(workflow, type), title: info.title, document: { type, info } }]
      : [],
  );
  const titleDrawnAs = (kind: DocumentInfo['drawnAs']): string | undefined =>
    shown.find(({ info }) => info.drawnAs === kind)?.info.title;
  const hasChanges = titleDrawnAs('changes') !== undefined || run.headCommit !== undefined;
  const hasChecks =
    hasChanges || titleDrawnAs('checks') !== undefined || run.evidence.length > 0 || run.baseline !== undefined;
  const own = (name: keyof typeof OWN_TITLES, title = OWN_TITLES[name]): ShownTab => ({ name, title });
  return [
    own('overview'),
    ...documents,
    ...(hasChanges ? [own('changes', titleDrawnAs('changes'))] : []),
    ...(hasChecks ? [own('evidence', titleDrawnAs('checks'))] : []),
    ...(run.published?.pullRequest === undefined ? [] : [own('pull-request')]),
    own('transcript'),
    own('statechart'),
    own('events'),
  ];
}

/** The tab of a name, of a document's type or of a document's former name; the first tab where there is none. */
export function tabNamed(tabs: readonly ShownTab[], name: RunTab | undefined): ShownTab | undefined {
  return (
    tabs.find((tab) => tab.name === name) ??
    tabs.find(({ document }) => document !== undefined && (document.type === name || slug(document.type) === name)) ??
    tabs[0]
  );
}

/** Address part of the tab of a document: its title in lower case, such as `test-report`. */
export function documentTab(workflow: Pick<WorkflowInfo, 'documents'> | undefined, type: string): RunTab {
  const info = documentInfoOf(workflow, type);
  if (info.drawnAs === 'changes') return 'changes';
  if (info.drawnAs === 'checks') return 'evidence';
  const name = slug(info.title);
  const isTaken =
    name === '' ||
    RUN_TABS.some((own) => own === name) ||
    Object.entries(workflow?.documents ?? {}).some(([other, { title }]) => other !== type && slug(title) === name);
  return isTaken ? slug(type) : name;
}

/** The tab in which a person reads what the run's open gate presents; `null` where the gate presents no document. */
export function gateTab(run: RunView, workflow: Described | undefined): RunTab | null {
  if (run.gate === null) return null;
  const { presents, document } = gateInfoOf(workflow, run.gate.kind);
  if (presents === 'changes') return 'changes';
  return presents === 'document' && document !== undefined ? documentTab(workflow, document) : null;
}

/** Types in the workflow's order: those that a gate presents also before there is one, the others once the run has one. */
function documentTypes(run: RunView, workflow: Described | undefined): readonly string[] {
  const presented = new Set(
    Object.values(workflow?.gates ?? {}).flatMap(({ document, presents }) => [
      ...(document === undefined ? [] : [document]),
      ...(presents === 'changes' ? [CHANGES_TYPE] : []),
    ]),
  );
  const made = new Set(run.artifacts.map(({ type }) => type));
  const declared = Object.keys(workflow?.documents ?? {});
  const wanted = (type: string): boolean => presented.has(type) || made.has(type);
  return [...declared.filter(wanted), ...[...made, ...presented].filter((type) => !declared.includes(type))].filter(
    (type, index, all) => all.indexOf(type) === index,
  );
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
