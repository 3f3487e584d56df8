/**
 * Messages between a web view and the editor's extension. Only the extension talks to the server, because only it has
 * the token. The web view calls by message, and receives events through the extension's store.
 */
import type { ForeseenConflictsChange, ProblemDetails, Progress, WorkflowEvent } from '@autonomous/shared';
import type { Client, FeedStatus, RunStoreState } from '@autonomous/shared/client';
import type { LaunchDraft } from './launch-choice.ts';

/** A screen and what it shows: the path of the same address in the dashboard. */
export type Screen =
  | { readonly name: 'runs' }
  | {
      readonly name: 'run';
      readonly runId: string;
      readonly tab?: RunTab | undefined;
      /** Id of a gate, open or decided, that the link is to. */
      readonly gate?: string | undefined;
      /** Sequence of an event that the link is to, in the tab `events`. */
      readonly event?: number | undefined;
    }
  /** Keys, agents and default models. In the editor it only says where they are given. */
  | { readonly name: 'setup' }
  | { readonly name: 'exploration'; readonly explorationId: string }
  /** Its address has no draft: only the editor hands one over. */
  | { readonly name: 'launch'; readonly draft?: LaunchDraft | undefined }
  | {
      readonly name: 'metrics';
      readonly days?: MetricsDays | undefined;
      readonly projectId?: string | undefined;
      /** Name of a workflow. Absent: all. */
      readonly workflow?: string | undefined;
    }
  | {
      readonly name: 'roadmap';
      /** Absent: the one that was looked at last. */
      readonly projectId?: string | undefined;
      /** Id of the item whose details are shown, of the project that is named. Absent: none. */
      readonly item?: string | undefined;
    };

/** How far back figures go. */
export const METRICS_DAYS = [7, 30, 90] as const;
export type MetricsDays = (typeof METRICS_DAYS)[number];
export const DEFAULT_METRICS_DAYS: MetricsDays = 30;
/** Stands for all projects in the address of a workflow's metrics. */
const ALL_PROJECTS = '-';

/** Tabs of any run. Each type of document that a run has is a tab beside them: see `tabsOf`. */
export const RUN_TABS = [
  'overview',
  'changes',
  'evidence',
  'pull-request',
  'transcript',
  'statechart',
  'events',
] as const;
/** One of {@link RUN_TABS}, or the tab of a document. */
export type RunTab = string;

/** Methods of the client that a web view may call. */
export const CALLS = [
  'launchRun',
  'explore',
  'listRuns',
  'forkRun',
  'getRun',
  'listEvents',
  'listArtifacts',
  'getArtifact',
  'compileDocument',
  'getProjection',
  'getDiff',
  'getTranscript',
  'getRunTree',
  'getStatechart',
  'getPullRequest',
  'replyToThread',
  'resolveThread',
  'listGates',
  'listClarifications',
  'decideGate',
  'addComment',
  'editComment',
  'deleteComment',
  'cancelRun',
  'pauseRun',
  'sendMessage',
  'upload',
  'listProjects',
  'getRoadmap',
  'createProject',
  'listWorkflows',
  'listModels',
  'getMetrics',
  'me',
] as const satisfies readonly (keyof Client)[];
export type Call = (typeof CALLS)[number];
/** The server, as far as screens need it. */
export type ScreenClient = Pick<Client, Call>;

/** Only the dashboard may do it: a web view shows what agents wrote. */
export type SetupClient = Pick<
  Client,
  'getSetup' | 'setKey' | 'removeKey' | 'testProvider' | 'testAgent' | 'setDefaultModels'
>;

/** Actions that only the editor can perform. */
export interface HostActions {
  /** One file of a run's result beside its base, or all of them where no path is given. */
  openDiff(runId: string, path?: string): void;
  /** A run, an exploration or another screen, in a place of its own. */
  openScreen(screen: Screen): void;
  openExternal(url: string): void;
  /** Checks the run's branch out in the open folder. */
  checkout(runId: string): void;
  /** Checks the run's branch out with its base merged in, and opens the conflicts. */
  resolveConflict(runId: string): void;
  /** The screen's address in the dashboard, for others to open. */
  copyLink(screen: Screen): void;
}
export type HostAction = keyof HostActions;

export type FromWebView =
  /** The first message: the web view has loaded and shows nothing yet. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'call'; readonly id: number; readonly method: Call; readonly args: readonly unknown[] }
  | { readonly kind: 'action'; readonly action: HostAction; readonly args: readonly unknown[] }
  /** The screen changed within the web view: its title, and what to show when the window is opened again. */
  | { readonly kind: 'shows'; readonly screen: Screen; readonly title: string };

export type ToWebView =
  /** Answers `ready`, and comes again when the extension's own state begins anew. */
  | { readonly kind: 'state'; readonly state: RunStoreState; readonly screen: Screen }
  | { readonly kind: 'events'; readonly events: readonly WorkflowEvent[] }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'conflicts'; readonly change: ForeseenConflictsChange }
  | { readonly kind: 'connection'; readonly status: FeedStatus }
  /** News of the connection for the person; `null` while it works. */
  | { readonly kind: 'news'; readonly news: string | null }
  | { readonly kind: 'show'; readonly screen: Screen }
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly problem: ProblemDetails };

/** The address of a screen in the dashboard; deep links use the same. */
export function pathOf(screen: Screen): string {
  switch (screen.name) {
    case 'runs':
      return '/';
    case 'run':
      return `/runs/${encodeURIComponent(screen.runId)}${withinRun(screen)}`;
    case 'exploration':
      return `/explorations/${encodeURIComponent(screen.explorationId)}`;
    case 'launch':
      return '/launch';
    case 'setup':
      return '/setup';
    case 'metrics': {
      const { days = DEFAULT_METRICS_DAYS, projectId, workflow } = screen;
      if (workflow !== undefined)
        return `/metrics/${days}/${encodeURIComponent(projectId ?? ALL_PROJECTS)}/${encodeURIComponent(workflow)}`;
      if (projectId !== undefined) return `/metrics/${days}/${encodeURIComponent(projectId)}`;
      return days === DEFAULT_METRICS_DAYS ? '/metrics' : `/metrics/${days}`;
    }
    case 'roadmap': {
      const { projectId, item } = screen;
      if (projectId === undefined) return '/roadmap';
      const ofItem = item === undefined ? '' : `/${encodeURIComponent(item)}`;
      return `/roadmap/${encodeURIComponent(projectId)}${ofItem}`;
    }
    default:
      return screen satisfies never;
  }
}

function withinRun({ runId, tab, gate, event }: Extract<Screen, { name: 'run' }>): string {
  // A gate is named after its run and the event that opened it.
  if (gate !== undefined)
    return `/gates/${encodeURIComponent(gate.startsWith(`${runId}.`) ? gate.slice(runId.length + 1) : gate)}`;
  if (event !== undefined) return `/events/${event}`;
  return tab === undefined || tab === 'overview' ? '' : `/${tab}`;
}

/** The screen of an address; the list of runs for one that is none. */
export function screenOf(path: string): Screen {
  const [, first = '', second = '', third = '', fourth = ''] = path.split('/').map(decoded);
  if (first === 'runs' && second !== '') {
    if (third === 'gates' && fourth !== '')
      return { name: 'run', runId: second, gate: /^\d+$/.test(fourth) ? `${second}.${fourth}` : fourth };
    if (third === 'events' && /^[1-9]\d{0,8}$/.test(fourth))
      return { name: 'run', runId: second, tab: 'events', event: Number(fourth) };
    return { name: 'run', runId: second, ...(isTab(third) && third !== 'overview' ? { tab: third } : {}) };
  }
  if (first === 'explorations' && second !== '') return { name: 'exploration', explorationId: second };
  if (first === 'launch') return { name: 'launch' };
  if (first === 'setup') return { name: 'setup' };
  if (first === 'metrics') {
    const days = METRICS_DAYS.find((known) => String(known) === second);
    if (days === undefined) return { name: 'metrics' };
    const isOfAll = third === '' || (third === ALL_PROJECTS && fourth !== '');
    return {
      name: 'metrics',
      days,
      ...(isOfAll ? {} : { projectId: third }),
      ...(fourth === '' ? {} : { workflow: fourth }),
    };
  }
  if (first === 'roadmap') {
    if (second === '') return { name: 'roadmap' };
    return { name: 'roadmap', projectId: second, ...(third === '' ? {} : { item: third }) };
  }
  return { name: 'runs' };
}

/** Can this be the name of a tab? A run's page shows its first tab for one that it does not have. */
export function isTab(name: unknown): name is RunTab {
  return typeof name === 'string' && /^[\w-]{1,100}$/.test(name);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
