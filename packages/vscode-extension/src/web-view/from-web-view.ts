/** Reads what a web view says. It shows what agents wrote, so nothing from it is taken on trust. */
import {
  type Call,
  CALLS,
  type FromWebView,
  type HostAction,
  METRICS_DAYS,
  isTab,
  pathOf,
  type Screen,
  screenOf,
} from '@autonomous/ui';

/** Type of one argument of a call; `?` when it may be absent. */
type Kind = 'string' | 'string?' | 'number' | 'number?' | 'object' | 'object?' | 'bytes';

const ARGUMENTS: Readonly<Record<Call, readonly Kind[]>> = {
  launchRun: ['object', 'string?'],
  explore: ['object', 'string?'],
  listRuns: ['object?'],
  forkRun: ['string', 'object', 'string?'],
  getRun: ['string', 'number?'],
  listEvents: ['string', 'number', 'number?'],
  listArtifacts: ['string'],
  getArtifact: ['string', 'string'],
  compileDocument: ['string', 'string?'],
  getProjection: ['string'],
  getDiff: ['string'],
  getTranscript: ['string'],
  getRunTree: ['string'],
  getStatechart: ['string', 'number?'],
  getPullRequest: ['string'],
  replyToThread: ['string', 'string', 'string', 'string?'],
  resolveThread: ['string', 'string'],
  listGates: ['string?'],
  listClarifications: ['string?'],
  decideGate: ['string', 'object', 'string?'],
  addComment: ['string', 'object', 'string?'],
  editComment: ['string', 'string'],
  deleteComment: ['string'],
  cancelRun: ['string', 'string?'],
  pauseRun: ['string', 'string?'],
  sendMessage: ['string', 'string'],
  upload: ['string', 'bytes'],
  listProjects: ['object?'],
  getRoadmap: ['string'],
  createProject: ['object'],
  listWorkflows: [],
  listModels: [],
  getMetrics: ['object?'],
  me: [],
};

/** A message with everything in it checked; `null` for what is none. */
export function readMessage(message: unknown): FromWebView | null {
  if (!isRecord(message)) return null;
  switch (message['kind']) {
    case 'ready':
      return { kind: 'ready' };
    case 'call':
      return readCall(message);
    case 'action':
      return readAction(message);
    case 'shows': {
      const screen = readScreen(message['screen']);
      const { title } = message;
      if (screen === null || typeof title !== 'string') return null;
      return { kind: 'shows', screen, title: title.slice(0, 200) };
    }
    default:
      return null;
  }
}

/** Also what a web view kept for itself over a restart of the window. */
export function readScreen(value: unknown): Screen | null {
  if (!isRecord(value)) return null;
  switch (value['name']) {
    case 'runs':
    case 'launch':
    case 'setup':
      return { name: value['name'] };
    case 'run': {
      const { runId } = value;
      if (!isId(runId)) return null;
      const { tab, gate, event } = value;
      return {
        name: 'run',
        runId,
        ...(isTab(tab) ? { tab } : {}),
        ...(isId(gate) ? { gate } : {}),
        ...(typeof event === 'number' && Number.isSafeInteger(event) && event > 0 ? { event } : {}),
      };
    }
    case 'exploration': {
      const { explorationId } = value;
      return isId(explorationId) ? { name: 'exploration', explorationId } : null;
    }
    case 'metrics': {
      const { projectId, workflow } = value;
      const days = METRICS_DAYS.find((known) => known === value['days']);
      return {
        name: 'metrics',
        ...(days === undefined ? {} : { days }),
        ...(isId(projectId) ? { projectId } : {}),
        ...(isId(workflow) ? { workflow } : {}),
      };
    }
    case 'roadmap': {
      const { projectId, item } = value;
      if (!isId(projectId)) return { name: 'roadmap' };
      return { name: 'roadmap', projectId, ...(isId(item) ? { item } : {}) };
    }
    default:
      return null;
  }
}

/** The screen of a state that a web view kept: the screen itself, or its address. */
export function readKeptScreen(state: unknown): Screen | null {
  if (!isRecord(state)) return null;
  return (
    readScreen(state['screen']) ??
    readScreen(state) ??
    (typeof state['path'] === 'string' ? screenOf(state['path']) : null)
  );
}

/** The same screen in the same panel: a run's tabs are one place, and so are figures of whatever time and roadmaps of all projects. */
export function placeOf(screen: Screen): string {
  if (screen.name === 'metrics' || screen.name === 'roadmap') return pathOf({ name: screen.name });
  return screen.name === 'run' ? pathOf({ name: 'run', runId: screen.runId }) : pathOf(screen);
}

function readCall(message: Readonly<Record<string, unknown>>): FromWebView | null {
  const { id, args } = message;
  const method = CALLS.find((name) => name === message['method']);
  if (method === undefined || !Number.isSafeInteger(id) || !Array.isArray(args)) return null;
  const kinds = ARGUMENTS[method];
  // Absent arguments arrive as null through JSON.
  const given = args.map((value: unknown) => value ?? undefined);
  while (given.length > 0 && given.at(-1) === undefined) given.pop();
  if (given.length > kinds.length || !kinds.every((kind, index) => isOfKind(given[index], kind))) return null;
  // The check above.
  return { kind: 'call', id: id as number, method, args: given };
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (value === undefined) return kind.endsWith('?');
  switch (kind) {
    case 'string':
    case 'string?':
      return typeof value === 'string';
    case 'number':
    case 'number?':
      return Number.isSafeInteger(value);
    case 'object':
    case 'object?':
      return isRecord(value) && !isBytes(value);
    case 'bytes':
      return isBytes(value);
    default:
      return kind satisfies never;
  }
}

function readAction(message: Readonly<Record<string, unknown>>): FromWebView | null {
  const { args } = message;
  if (!Array.isArray(args)) return null;
  const [first, second] = args.map((value: unknown) => value ?? undefined);
  const known = (action: HostAction, ...args: readonly unknown[]): FromWebView => ({ kind: 'action', action, args });
  switch (message['action']) {
    case 'openDiff':
      if (!isId(first) || (second !== undefined && typeof second !== 'string')) return null;
      return known('openDiff', first, ...(second === undefined ? [] : [second]));
    case 'openScreen': {
      const screen = readScreen(first);
      return screen === null ? null : known('openScreen', screen);
    }
    case 'copyLink': {
      const screen = readScreen(first);
      return screen === null ? null : known('copyLink', screen);
    }
    case 'openExternal':
      return typeof first === 'string' && isWebAddress(first) ? known('openExternal', first) : null;
    case 'checkout':
      return isId(first) ? known('checkout', first) : null;
    case 'resolveConflict':
      return isId(first) ? known('resolveConflict', first) : null;
    default:
      return null;
  }
}

/** No `command:`, `file:` or `vscode:`: a link in a plan opens a page and does nothing else. */
export function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isBytes = (value: unknown): boolean => value instanceof Uint8Array || value instanceof ArrayBuffer;
const isId = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 300;
