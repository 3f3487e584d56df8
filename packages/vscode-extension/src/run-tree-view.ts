/**
 * Content of the three tree views, computed from the store's state alone: nodes with stable ids, and the nodes that
 * changed.
 */
import {
  CHANGES_TYPE,
  FINAL_STATUSES,
  type ForeseenConflict,
  gateInfoOf,
  moneyText,
  type Pulses,
  type RunView,
  type ShownGate,
  shownAt,
  waitingWordsOf,
  type WorkflowSummary,
} from '@autonomous/shared';
import {
  ageOf,
  branchConflictOf,
  foreseenConflictsBrief,
  pulseOf,
  pulseText,
  sanitizeText,
  withAttempt,
} from '@autonomous/shared/presentation';
import {
  childrenByParent,
  type ChildrenOf,
  familyOf,
  gateLine,
  isTop,
  isWaiting,
  progressText,
  pullRequestOf,
  RESUMING,
  stageTitle,
  statusLabel,
  waitingFirst,
} from '@autonomous/ui';

export type Section = 'waiting' | 'active' | 'finished';
export const SECTIONS: readonly Section[] = ['waiting', 'active', 'finished'];

/** A theme icon and the colour it has there. */
export interface NodeIcon {
  readonly name: string;
  readonly color?: string;
}

interface NodeBase {
  /** The same for as long as the node stands for the same thing in the same view. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly icon: NodeIcon;
  /** `;run;approve;reject;`: what `when` clauses look for, between semicolons. */
  readonly contextValue: string;
  /** Text for screen readers. */
  readonly spoken: string;
}
export interface RunNode extends NodeBase {
  readonly kind: 'run';
  readonly runId: string;
  /** The open gate that the node shows: what its actions decide. */
  readonly shown?: ShownGate;
  /** Its child runs, in the order in which they were started. */
  readonly children: readonly RunNode[];
  /** It and all runs below it have ended. */
  readonly isOver: boolean;
}
export interface GroupNode extends NodeBase {
  readonly kind: 'project' | 'exploration';
  readonly explorationId?: string;
  readonly children: readonly TreeNode[];
}
export type TreeNode = RunNode | GroupNode;

export interface TreeInput {
  readonly runs: Readonly<Record<string, RunView>>;
  /** Names of projects by id; a project that is not known is shown by its id. */
  readonly projects: ReadonlyMap<string, string>;
  /** `undefined` while a run's workflow is not known. */
  readonly workflowOf: (run: RunView) => WorkflowSummary | undefined;
  /** Decisions that the server has not confirmed yet, by run, such as `Approving…`. */
  readonly pending: ReadonlyMap<string, string>;
  /** Runs that a server which was started anew is taking up again. */
  readonly resuming: ReadonlySet<string>;
  /** Progress of the activities of running runs, by run. */
  readonly pulses: Readonly<Record<string, Pulses>>;
  /** Foreseen conflicts of live runs, by run. */
  readonly conflicts: Readonly<Record<string, readonly ForeseenConflict[]>>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function sectionOf(run: RunView): Section {
  if (FINAL_STATUSES.has(run.status)) return 'finished';
  return isWaiting(run) ? 'waiting' : 'active';
}

/** Runs at which somebody works now. One that only waits for its child runs is not counted beside them. */
export function activeCount(runs: readonly RunView[]): number {
  return runs.filter((run) => sectionOf(run) === 'active' && run.status !== 'awaiting_children').length;
}

/** Runs of a view, and the child runs of all of them. */
interface Grouping extends TreeInput {
  readonly childrenOf: ChildrenOf;
}

/**
 * The nodes of all views. Projects are told apart where there are several; explorations where several runs of one are shown.
 * Child runs are below their parent, in the most urgent section among them.
 */
export function treesOf(trees: TreeInput): Readonly<Record<Section, readonly TreeNode[]>> {
  const runs = Object.values(trees.runs);
  const input: Grouping = { ...trees, childrenOf: childrenByParent(runs) };
  const tops = waitingFirst(runs.filter((run) => isTop(run, (id) => trees.runs[id] !== undefined)));
  const urgent = (run: RunView): Section => {
    const sections = new Set(familyOf(run, input.childrenOf).map(sectionOf));
    return SECTIONS.find((section) => sections.has(section)) ?? 'finished';
  };
  const bySection = Map.groupBy(tops, urgent);
  const nodesOf = (section: Section): readonly TreeNode[] => byProject(bySection.get(section) ?? [], section, input);
  return { waiting: nodesOf('waiting'), active: nodesOf('active'), finished: nodesOf('finished') };
}

function byProject(runs: readonly RunView[], section: Section, input: Grouping): readonly TreeNode[] {
  const groups = Map.groupBy(runs, (run) => run.projectId);
  if (groups.size < 2) return byExploration(runs, section, input);
  const labelOf = (projectId: string): string =>
    projectId === '' ? 'Without a project' : (input.projects.get(projectId) ?? projectId);
  // By name: they keep their places while runs come and go.
  const inOrder = [...groups].toSorted(
    ([one], [other]) => labelOf(one).localeCompare(labelOf(other), 'en') || compare(one, other),
  );
  return inOrder.map(([projectId, members]) => {
    const label = labelOf(projectId);
    return {
      kind: 'project',
      id: `${section}/project/${projectId}`,
      label,
      description: String(members.length),
      icon: { name: 'repo' },
      contextValue: ';project;',
      spoken: `Project ${label}, ${counted(members.length)}`,
      children: byExploration(members, section, input),
    };
  });
}

function byExploration(runs: readonly RunView[], section: Section, input: Grouping): readonly TreeNode[] {
  const groups = Map.groupBy(runs, (run) => run.explorationId ?? run.id);
  return [...groups].flatMap(([explorationId, members]): readonly TreeNode[] => {
    // In the order in which they were asked for, whichever came to its gate first.
    const inOrder = members.toSorted(
      (one, other) => compare(one.createdAt, other.createdAt) || compare(one.id, other.id),
    );
    const nodes = inOrder.map((run) => runNode(run, section, input));
    const [first] = inOrder;
    if (nodes.length < 2 || first === undefined) return nodes;
    const label = titleOf(first);
    return [
      {
        kind: 'exploration',
        id: `${section}/exploration/${explorationId}`,
        explorationId,
        label,
        description: `${nodes.length} approaches`,
        icon: { name: 'beaker' },
        contextValue: ';exploration;',
        spoken: `Exploration of ${nodes.length} approaches: ${label}`,
        children: nodes,
      },
    ];
  });
}

/** @param view the section of the tree in which it stands: a child run may be further than its parent */
function runNode(run: RunView, view: Section, input: Grouping): RunNode {
  const { pending, resuming } = input;
  const workflow = input.workflowOf(run);
  const section = sectionOf(run);
  const below = input.childrenOf.get(run.id) ?? [];
  const label = titleOf(run);
  const underWay = pending.get(run.id);
  const progress = progressText(run, below, workflow);
  const standing = resuming.has(run.id) ? RESUMING : describe(run, section, input, workflow);
  const conflicts = foreseenConflictsBrief(input.conflicts[run.id] ?? []);
  const parts = [progress, standing, conflicts === null ? null : sanitizeText(conflicts)];
  const description = underWay ?? parts.filter((part) => part !== null).join(' · ');
  return {
    kind: 'run',
    // Another gate is another node: an action on the line as it was cannot reach what came after.
    id: `${view}/run/${run.id}${run.gate === null ? '' : `/${run.gate.id}`}`,
    runId: run.id,
    ...(run.gate === null ? {} : { shown: shownAt(run.gate) }),
    label,
    description,
    icon: underWay === undefined ? iconOf(run, workflow) : { name: 'loading~spin' },
    contextValue: underWay === undefined ? contextOf(run, section) : ';run;',
    spoken: `${run.parent === undefined ? '' : 'Child run: '}${label}, ${underWay ?? statusLabel(run, workflow)}, ${description}`,
    children: below.map((child) => runNode(child, view, input)),
    isOver: familyOf(run, input.childrenOf).every((each) => sectionOf(each) === 'finished'),
  };
}

/** First line of the request, at most 90 characters. */
export function titleOf(run: RunView): string {
  const line = sanitizeText(run.originalRequest).trimStart().split('\n', 1)[0]?.trim() ?? '';
  const title = line === '' ? `${run.workflow.name} ${run.id}` : line;
  return title.length > 90 ? `${title.slice(0, 89)}…` : title;
}

/** Short: beside the title there is little room. */
function describe(
  run: RunView,
  section: Section,
  { now, pulses }: Pick<TreeInput, 'now' | 'pulses'>,
  workflow: WorkflowSummary | undefined,
): string {
  switch (section) {
    case 'waiting': {
      const words = run.status === 'paused' ? statusLabel(run, workflow) : gateWords(run, workflow);
      return `${words} · ${ageOf(run.gate?.openedAt ?? run.updatedAt, now)}`;
    }
    case 'active': {
      if (run.status === 'queued' || run.status === 'awaiting_children') return statusLabel(run);
      const pulse = pulseOf(pulses[run.id]);
      const stage = withAttempt(run, stageTitle(run.currentStage, workflow));
      if (pulse !== undefined) return sanitizeText(`${stage} · ${pulseText(pulse, { isShort: true })}`);
      const visit = run.stages.findLast((each) => each.stage === run.currentStage);
      return `${stage} · ${ageOf(visit?.startedAt ?? run.startedAt ?? run.createdAt, now)}`;
    }
    case 'finished': {
      const age = ageOf(run.completedAt ?? run.updatedAt, now);
      return `${endOf(run)} · ${age}`;
    }
    default:
      return section satisfies never;
  }
}

function gateWords({ gate }: RunView, workflow: WorkflowSummary | undefined): string {
  return gate === null ? '' : waitingWordsOf(gateInfoOf(workflow, gate.kind));
}

/** `Merged`, `Pushed`, `Failed` … */
function endOf(run: RunView): string {
  if (run.status !== 'completed' || run.failures !== undefined) return statusLabel(run);
  if (run.merged) return 'Merged';
  if (pullRequestOf(run) !== null) return 'Pull request';
  return run.published?.pushed ? 'Pushed' : 'Completed';
}

/** @param workflow absent while it is not known */
export function iconOf(run: RunView, workflow?: WorkflowSummary): NodeIcon {
  switch (run.status) {
    case 'queued':
      return { name: 'clock' };
    case 'running':
      return { name: 'sync~spin', color: 'charts.blue' };
    case 'awaiting_children':
      return { name: 'type-hierarchy-sub', color: 'charts.blue' };
    case 'awaiting_approval':
      return run.gate !== null && gateInfoOf(workflow, run.gate.kind).isFailure === true
        ? { name: 'warning', color: 'list.warningForeground' }
        : { name: 'bell-dot', color: 'charts.yellow' };
    case 'awaiting_clarification':
      return { name: 'question', color: 'charts.yellow' };
    case 'paused':
      return { name: 'debug-pause', color: 'list.warningForeground' };
    case 'completed':
      if (run.failures !== undefined) return { name: 'warning', color: 'list.warningForeground' };
      return run.merged ? { name: 'git-merge', color: 'charts.purple' } : { name: 'pass', color: 'testing.iconPassed' };
    case 'failed':
      return { name: 'error', color: 'testing.iconFailed' };
    case 'cancelled':
      return { name: 'circle-slash', color: 'disabledForeground' };
    default:
      return run.status satisfies never;
  }
}

function contextOf(run: RunView, section: Section): string {
  const words = [
    'run',
    section,
    ...(section === 'finished' ? [] : ['open']),
    ...(run.gate?.decisions ?? []),
    ...(run.status === 'running' ? ['works'] : []),
    ...(run.artifacts.some(({ type }) => type !== CHANGES_TYPE) ? ['document'] : []),
    ...(run.headCommit !== undefined && run.headCommit !== run.baseCommit ? ['diff'] : []),
    ...(run.published?.pushed ? ['branch'] : []),
    ...(branchConflictOf(run) === null ? [] : ['conflict']),
    ...(pullRequestOf(run) === null ? [] : ['pullRequest']),
    ...(run.explorationId === undefined ? [] : ['explored']),
  ];
  return `;${words.join(';')};`;
}

/**
 * Returns the main facts of a run, one line each. Plain text.
 * @param conflicts lines about its foreseen conflicts
 */
export function tooltipOf(
  run: RunView,
  project: string | undefined,
  workflow?: WorkflowSummary,
  parent?: RunView,
  conflicts: readonly string[] = [],
): readonly string[] {
  const money = moneyText(run.cost);
  return [
    `${statusLabel(run, workflow)}${run.currentStage === null ? '' : ` · ${stageTitle(run.currentStage, workflow)}`}`,
    ...(run.gate === null || FINAL_STATUSES.has(run.status) ? [] : [gateLine(run.gate, workflow)]),
    ...(parent === undefined ? [] : [`Child run of “${titleOf(parent)}”`]),
    ...conflicts,
    ...(run.failure === undefined ? [] : [run.failure]),
    ...(run.failures ?? []),
    ...(project === undefined ? [] : [`Project ${project}`]),
    ...(run.branch === '' ? [] : [`Branch ${run.branch}`]),
    ...(workflow === undefined ? [] : [`Workflow ${workflow.title}`]),
    ...(run.merged === undefined ? [] : [`Merged into ${run.merged.baseBranch}`]),
    ...(money === '$0.00' ? [] : [`Cost ${money}`]),
    ...(run.scriptedModels.length === 0 ? [] : [`Scripted, no real model: ${run.scriptedModels.join(', ')}`]),
  ].map(sanitizeText);
}

/** Returns the nodes that a view must request again: `all` when the root changed, else the fewest ids. */
export function changedNodes(before: readonly TreeNode[], after: readonly TreeNode[]): 'all' | readonly string[] {
  if (!sameIds(before, after)) return 'all';
  return before.flatMap((old, index) => {
    const node = after[index];
    if (node === undefined || old === node) return [];
    const oldChildren = childrenOf(old);
    const children = childrenOf(node);
    if (!isSameItem(old, node) || !sameIds(oldChildren, children)) return [node.id];
    const below = changedNodes(oldChildren, children);
    return below === 'all' ? [node.id] : below;
  });
}

export function childrenOf(node: TreeNode): readonly TreeNode[] {
  return node.children;
}

function sameIds(before: readonly TreeNode[], after: readonly TreeNode[]): boolean {
  return before.length === after.length && before.every((node, index) => node.id === after[index]?.id);
}

function isSameItem(one: TreeNode, other: TreeNode): boolean {
  return (
    one.label === other.label &&
    one.description === other.description &&
    one.contextValue === other.contextValue &&
    one.spoken === other.spoken &&
    one.icon.name === other.icon.name &&
    one.icon.color === other.icon.color
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
const counted = (runs: number): string => (runs === 1 ? '1 run' : `${runs} runs`);
