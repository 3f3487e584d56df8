/**
 * Description of a workflow for clients: the data that launch forms, lists, tabs, gate panels and notifications need.
 * `GET /api/workflows` sends it; clients do not depend on the names of workflows.
 */
import type { TrustLevel } from '../config.ts';
import type { Artifact, Decision, Gate } from '../run.ts';

/** A role of a workflow's agents. Its name is the key of `modelRouting` and `egress` in a run's configuration. */
export interface RoleInfo {
  readonly name: string;
  /** For a person: `Planner`. */
  readonly title: string;
  /**
   * Another role of the workflow whose model and network this one has; it has no settings of its own then. Absent: it has its
   * own.
   */
  readonly configuredAs?: string;
}

/** A stage of a workflow. Its name is the key of `timeoutMinutes` where it has a time limit. */
export interface StageInfo {
  readonly name: string;
  readonly title: string;
  /** Default time limit in minutes. Absent: the stage has no time limit. */
  readonly timeoutMinutes?: number;
  /** Role whose agent works in it. A pause of this stage for its model's provider ends when that provider answers again. */
  readonly role?: string;
}

/** A point at which a person decides (`manual`) or the run continues by itself (`auto`). Its name is the key of `trustMode`. */
export interface TrustModeInfo {
  readonly name: string;
  readonly title: string;
  /** One sentence for a person: what is decided there. */
  readonly description: string;
  readonly default: TrustLevel;
}

/** Fields of a decision that a person fills in. */
export const DECISION_FIELDS = [
  'feedback',
  'reason',
  'notes',
  'editedPlan',
  'question',
  'response',
  'minutes',
] as const;
export type DecisionField = (typeof DECISION_FIELDS)[number];

/** Kinds of content that a gate shows a person: a document of the run, its changes, a question, or only its summary. */
export const GATE_PRESENTS = ['document', 'changes', 'question', 'message'] as const;
export type GatePresents = (typeof GATE_PRESENTS)[number];

export interface GateInfo {
  /** Names what is decided: `Plan`, `Result`. */
  readonly title: string;
  /** Short words for lists while the gate is open: `Plan cannot be read`. Default: the title. */
  readonly waiting?: string;
  readonly presents: GatePresents;
  /** Type of the document that it presents, for `document`. */
  readonly document?: string;
  /** Type of the document that reports on the changes, for `changes`. Default: none does. */
  readonly report?: string;
  /** True for a gate that opens because something failed: clients show it as a warning. Default: false. */
  readonly isFailure?: boolean;
  /** The decision that may bring files of another run's result. Default: none does. */
  readonly takesFilesOn?: Decision;
  /** Fields that a decision cannot do without, beyond those that every gate needs for it. */
  readonly needs?: { readonly [Kind in Decision]?: DecisionField };
  /** Fields that clients offer with a decision and that may stay empty. */
  readonly offers?: { readonly [Kind in Decision]?: DecisionField };
  /** Words for decisions whose common ones do not fit. */
  readonly labels?: { readonly [Kind in Decision]?: DecisionLabel };
  /**
   * Titles of the details that clients show at the gate, by their keys and in this order: a text as it is, a list numbered.
   * Default: the details of every gate.
   */
  readonly details?: Readonly<Record<string, string>>;
  /** Keys of details that speak against an approval: while one of them is there, clients offer no decision before the others. */
  readonly against?: readonly string[];
}

export interface DecisionLabel {
  /** `Give guidance`. */
  readonly button: string;
  /** Label of the field of the decision. Default: the common one. */
  readonly field?: string;
}

/** How clients draw a document. */
export const DOCUMENT_KINDS = ['markdown', 'diagrams', 'changes', 'checks', 'pdf'] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

export interface DocumentInfo {
  /** Title of its tab: `Plan`. */
  readonly title: string;
  readonly drawnAs: DocumentKind;
  /**
   * Of a PDF: artifact type of the same document as text. A LaTeX file of the same name lies beside each version of the text, so
   * that the PDF can be compiled at any time.
   */
  readonly compiledFrom?: string;
}

/** How the line of an event of a timeline looks: as progress, as good or bad news. */
export const EVENT_TONES = ['plain', 'good', 'bad', 'quiet'] as const;
export type EventTone = (typeof EVENT_TONES)[number];

/** How an event that the workflow emits is shown in timelines. */
export interface EventInfo {
  /**
   * One line, with fields of the event in braces: `Phase {phase} {status}[: {lastError}]`. A part in brackets is left out where one
   * of its fields is absent, `null`, `false`, empty or 0. Hashes are shortened. Empty: the event is not shown.
   */
  readonly text: string;
  /** Default: `plain`. */
  readonly tone?: EventTone;
}

/** Options that every command which starts a run may have: no field of an input is given by one of these names. */
export const RUN_OPTIONS: readonly string[] = [
  'server',
  'project',
  'out',
  'trust',
  'review',
  'auto-merge',
  'pull-request',
  'base',
  'model',
  'config',
  'detach',
  'json',
  'help',
];

/** The command that starts a run of a workflow. Its options are the fields of the workflow's input. */
export interface CommandInfo {
  /** Words after the program, such as `backlog run`. Default: the workflow's name. */
  readonly name?: string;
  /** Text for lists of commands, such as `works through a backlog`. Default: the workflow's description. */
  readonly description?: string;
  /** Fields of the input that are given by their place, in this order. Default: none. */
  readonly arguments?: readonly string[];
  /** Whether the request may follow, in the words after these. Default: for a workflow without a default request. */
  readonly takesRequest?: boolean;
  /** Usage error for a missing request: its text, such as `Say what is to be found out`, and an example. Default: `Say what is to be done`. */
  readonly asks?: { readonly text: string; readonly example: string };
  /**
   * Names of options by their field, where they are others; `null`: the field has no option. Default: `max-rounds` for `maxRounds`, and
   * `input-trust` for a field whose name is one of {@link RUN_OPTIONS}.
   */
  readonly options?: Readonly<Record<string, string | null>>;
  /** Time of the merge or pull request, as words of the help. Default: `when every gate is passed`. */
  readonly endsWhen?: string;
  /** Option `--review`: its subject, such as `the report`, and the trust mode that it sets to manual. Absent: the command has no such option. */
  readonly review?: { readonly about: string; readonly trustMode: string };
  /** Whether a run without a project gets a repository of its own, named after the first argument. Default: false. */
  readonly ownRepository?: boolean;
}

/** Description of a workflow for clients. Keys of `gates` are gate kinds; keys of `documents` are artifact types. */
export interface WorkflowInfo {
  readonly name: string;
  readonly title: string;
  readonly roles: readonly RoleInfo[];
  /** In the order of a run. */
  readonly stages: readonly StageInfo[];
  readonly trustModes: readonly TrustModeInfo[];
  readonly gates: Readonly<Record<string, GateInfo>>;
  readonly documents: Readonly<Record<string, DocumentInfo>>;
  /** By type of the event. Absent, or an event that is not named: it is shown by its name and its fields. */
  readonly events?: Readonly<Record<string, EventInfo>>;
  /** Words for what the progress of its runs counts: `phases merged` in `3 of 7 phases merged`. Default: none. */
  readonly progressWord?: string;
  /** True: clients show the projection of its runs in their overview. Default: false. */
  readonly hasProjection?: boolean;
  /** Absent: the command is made of its name, its request and its input. */
  readonly command?: CommandInfo;
}

/** Gates that a run of any workflow may have; a workflow may describe them in its own words. */
export const COMMON_GATES: Readonly<Record<string, GateInfo>> = {
  clarification: { title: 'Question', presents: 'question', needs: { answer: 'response' } },
  escalation: {
    title: 'Questions',
    waiting: 'Too many questions',
    presents: 'message',
    offers: { approve: 'notes' },
  },
  pause: {
    title: 'Pause',
    waiting: 'Paused',
    presents: 'message',
    // Of a run that was rebuilt from its record.
    details: { applies: 'What applies when it goes on', decided: 'Recorded decisions' },
  },
  /** A pull request that a run follows at the forge. */
  pull_request: {
    title: 'Pull request',
    waiting: 'Pull request open',
    presents: 'changes',
    labels: {
      approve: { button: 'Merge' },
      reject: { button: 'Send back' },
      accept: { button: 'Leave open', field: 'Why? It is recorded with the run' },
      close: { button: 'Close', field: 'Why? It is recorded with the run' },
    },
    details: {
      url: 'Address',
      refused: 'Not merged',
      failure: 'Approved although',
      waiting: 'Remarks and checks that wait',
      newDependencies: 'New dependencies',
    },
    against: ['refused', 'failure', 'waiting'],
  },
};

/**
 * How a gate of a kind is shown. A kind that is not declared gets a title made from its name and presents its summary.
 * @param workflow absent while the client does not know the workflow
 */
export function gateInfoOf(workflow: Pick<WorkflowInfo, 'gates'> | undefined, kind: string): GateInfo {
  const declared = workflow?.gates;
  if (declared !== undefined && Object.hasOwn(declared, kind) && declared[kind] !== undefined) return declared[kind];
  if (Object.hasOwn(COMMON_GATES, kind) && COMMON_GATES[kind] !== undefined) return COMMON_GATES[kind];
  return { title: titleOfName(kind), presents: 'message' };
}

/** Words for a list while a gate of this kind is open: `Plan cannot be read`. */
export function waitingWordsOf({ title, waiting }: GateInfo): string {
  return waiting ?? title;
}

/** The decision with which files of another run's result may be taken at this open gate; `null` where none takes them. */
export function takesFilesAt({ takesFilesOn }: GateInfo, gate: Pick<Gate, 'decisions'>): Decision | null {
  return takesFilesOn !== undefined && gate.decisions.includes(takesFilesOn) ? takesFilesOn : null;
}

/** The field that a decision at such a gate takes beside those of every gate, and whether it may stay empty. */
export function fieldOf(
  { needs, offers }: GateInfo,
  decision: Decision,
): { readonly field: DecisionField; readonly isNeeded: boolean } | null {
  const needed = needs?.[decision];
  if (needed !== undefined) return { field: needed, isNeeded: true };
  const offered = offers?.[decision];
  return offered === undefined ? null : { field: offered, isNeeded: false };
}

/** How far a run came, as its workflow counts: `3 of 7 phases merged`. */
export function progressOf(
  { done, total }: { readonly done: number; readonly total: number },
  workflow: Pick<WorkflowInfo, 'progressWord'> | undefined,
): string {
  const word = workflow?.progressWord;
  return `${done} of ${total}${word === undefined ? '' : ` ${word}`}`;
}

/** A stage's title; one made from its name where the workflow declares none. */
export function stageTitleOf(workflow: Pick<WorkflowInfo, 'stages'> | undefined, stage: string): string {
  return workflow?.stages.find(({ name }) => name === stage)?.title ?? titleOfName(stage);
}

/** A role's title; one made from its name where the workflow declares none. */
export function roleTitleOf(workflow: Pick<WorkflowInfo, 'roles'> | undefined, role: string): string {
  return workflow?.roles.find(({ name }) => name === role)?.title ?? titleOfName(role);
}

/** How a document of a type is shown. `code` stands for the run's changes in any workflow; a type that is not declared is Markdown. */
export function documentInfoOf(workflow: Pick<WorkflowInfo, 'documents'> | undefined, type: string): DocumentInfo {
  const declared = workflow?.documents;
  if (declared !== undefined && Object.hasOwn(declared, type) && declared[type] !== undefined) return declared[type];
  return type === CHANGES_TYPE
    ? { title: 'Changes', drawnAs: 'changes' }
    : { title: titleOfName(type), drawnAs: 'markdown' };
}

/** Artifact type of the changes of a run, in any workflow. */
export const CHANGES_TYPE = 'code';

/** Roles that have a model of their own, in the workflow's order. */
export function configuredRoles<Role extends RoleInfo>({
  roles,
}: {
  readonly roles: readonly Role[];
}): readonly Role[] {
  return roles.filter(({ configuredAs }) => configuredAs === undefined);
}

/** Makes a title from a name without a declared title: `invalid_plan` becomes `Invalid plan`. */
export function titleOfName(name: string): string {
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words === '' ? name : `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

/**
 * Titles of stages and gates where runs of several workflows are counted together: those on which all of these workflows agree
 * that declare the name.
 */
export function commonTitles(
  workflows: readonly Pick<WorkflowInfo, 'stages' | 'gates'>[],
): Pick<WorkflowInfo, 'stages' | 'gates'> {
  const stages = agreed(workflows.flatMap((workflow) => workflow.stages.map((stage) => [stage.name, stage] as const)));
  const gates = agreed(workflows.flatMap((workflow) => Object.entries(workflow.gates)));
  return { stages: stages.map(([, stage]) => stage), gates: Object.fromEntries(gates) };
}

function agreed<Titled extends { readonly title: string }>(
  named: readonly (readonly [string, Titled])[],
): readonly (readonly [string, Titled])[] {
  return [...Map.groupBy(named, ([name]) => name).values()].flatMap((group) => {
    const [first] = group;
    return first !== undefined && group.every(([, { title }]) => title === first[1].title) ? [first] : [];
  });
}

/** A title within a sentence: `the plan`, `the PRD`. */
export function wordsOf(title: string): string {
  return /^[A-Z][^A-Z]*$/.test(title) ? title.toLowerCase() : title;
}

/**
 * One word for the documents of a type, for lines of a terminal and options of commands: the last word of its title, such as
 * `report` for `Validation report`, or the type where another document of the workflow has the same last word.
 */
export function documentWordOf(workflow: Pick<WorkflowInfo, 'documents'> | undefined, type: string): string {
  const word = lastWordOf(documentInfoOf(workflow, type).title);
  const others = Object.entries(workflow?.documents ?? {}).filter(([other]) => other !== type);
  return others.some(([, { title }]) => lastWordOf(title) === word) ? type : word;
}

function lastWordOf(title: string): string {
  return wordsOf(title.slice(title.lastIndexOf(' ') + 1));
}

/** The subject of an open gate, as a client finds it. */
export type Presented =
  /** `artifact` is absent where the run has none of the type yet: its draft may be in the gate's details. */
  | { readonly kind: 'document'; readonly type: string; readonly artifact?: Artifact }
  | { readonly kind: 'changes' | 'question' | 'message' };

/**
 * Content that an open gate shows. A gate that is not declared shows the content that its approval has to name: the run's
 * changes where it names a code tree, else the document of its hash.
 */
export function presentedAt(
  workflow: Pick<WorkflowInfo, 'gates'> | undefined,
  gate: Pick<Gate, 'kind' | 'artifactHash' | 'codeTree' | 'question' | 'reason'>,
  artifacts: readonly Artifact[],
): Presented {
  const { presents, document } = gateInfoOf(workflow, gate.kind);
  const named = artifacts.find(({ hash, type }) => type !== CHANGES_TYPE && hash === gate.artifactHash);
  if (presents === 'document' && document !== undefined) {
    const artifact = named?.type === document ? named : artifacts.findLast(({ type }) => type === document);
    return { kind: 'document', type: document, ...(artifact === undefined ? {} : { artifact }) };
  }
  if (presents !== 'message' || gate.reason !== undefined)
    return { kind: presents === 'document' ? 'message' : presents };
  if (gate.question !== undefined) return { kind: 'question' };
  if (gate.codeTree !== undefined) return { kind: 'changes' };
  return named === undefined ? { kind: 'message' } : { kind: 'document', type: named.type, artifact: named };
}
