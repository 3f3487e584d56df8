/** An open gate: what is asked, and every way of deciding it. Sent at once, taken back with the reason where refused. */
import {
  bindingOf,
  type DecisionField,
  fieldOf,
  type GateInfo,
  gateInfoOf,
  BUDGET_NAMES,
  type Decision,
  type Gate,
  type GateDecision,
  waitingWordsOf,
  missingBudgetOf,
} from '@autonomous/shared';
import {
  baselineText,
  failedChecksAt,
  branchConflictOf,
  carriesComments,
  countedComments,
  firstDecisionAt,
  sanitizeText,
} from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useHost, useWorkflow } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';
import { BUDGET_LABELS, stageTitle } from '../../labels.ts';
import { focusOpened, useArrival } from '../../components/focus-target.ts';
import { Icon } from '../../components/icon.tsx';
import { GateConcerns } from './gate-concerns.tsx';
import { GateDetails } from './gate-details.tsx';
import { CopyLink } from '../../components/copy-link.tsx';
import { createDecisionSender } from '../../components/decision-sender.ts';
import { valueOf } from '../../components/elements.ts';
import { draftOf, drafts } from '../../components/drafts.ts';
import { Ago } from '../../components/times.tsx';
import { NamedTests } from '../evidence.tsx';
import { GateComments } from '../unsent.tsx';

interface GatePanelProps {
  readonly gate: Gate;
  /** The link that was followed is to this gate. */
  readonly isTarget: boolean;
  /** Somebody else was first: this panel goes, and who asked for it is to be told. */
  readonly onDecidedElsewhere: (gateId: string) => void;
}

export function GatePanel({ gate, isTarget, onDecidedElsewhere }: GatePanelProps) {
  const { client, runs } = useHost();
  const run = useSelector(runs, ({ context }) => context.runs[gate.runId]);
  const workflow = useWorkflow(run);
  const info = gateInfoOf(workflow, gate.kind);
  const failed = run && failedChecksAt({ ...run, gate });
  const target = useArrival<HTMLElement>(isTarget);
  const [sender] = useState(() => createDecisionSender({ gate, client, runs, onDecidedElsewhere }));
  useEffect(() => sender.dispose, [sender]);
  const sending = useSelector(sender.sending, ({ context }) => context);
  const isSent = sending.state === 'sent';

  const decide = async (decision: GateDecision): Promise<void> => {
    const isTaken = await sender.send({ ...decision, ...bindingOf(decision.decision, gate) });
    if (isTaken) drafts.trigger.dropped({ owner: gate.id });
  };

  return (
    <section
      ref={target}
      tabIndex={-1}
      className={`gate${isTarget ? ' marked' : ''}${info.isFailure === true ? ' failure' : ''}`}
      aria-labelledby={`gate-${gate.id}`}
    >
      <header>
        <h2 id={`gate-${gate.id}`} dir="auto">
          {sanitizeText(gate.question?.question ?? gate.summary)}
        </h2>
        <p className="quiet">
          <span className={info.isFailure === true ? 'kind failed' : 'kind'}>
            {info.isFailure === true && <Icon name="warning" />} {waitingWordsOf(info)}
          </span>{' '}
          {gate.stage === null ? 'Waiting for you' : `${stageTitle(gate.stage, workflow)}: waiting for you`},{' '}
          <Ago at={gate.openedAt} /> <CopyLink to={{ name: 'run', runId: gate.runId, gate: gate.id }} what="gate" />
        </p>
      </header>
      {gate.question !== undefined && gate.question.context !== '' && (
        <p className="context">{sanitizeText(gate.question.context)}</p>
      )}
      <BaselineLine gate={gate} info={info} />
      {failed !== undefined && <NamedTests evidence={failed} />}
      <GateConcerns gate={gate} />
      <Accepted gate={gate} />
      <GateDetails gate={gate} info={info} />
      <fieldset disabled={isSent}>
        <legend className="hidden">Decide</legend>
        {gate.question !== undefined && gate.decisions.includes('answer') && <Answer gate={gate} onDecide={decide} />}
        <Decisions gate={gate} info={info} comments={run?.comments?.length ?? 0} onDecide={decide} />
      </fieldset>
      {run !== undefined && <GateComments run={run} approves={gate.decisions.includes('approve')} />}
      <p role="status" className={sending.state === 'refused' ? 'fault' : 'quiet'}>
        {sending.state === 'sent' && `${DONE[sending.decision]} – waiting for the run to continue…`}
        {sending.state === 'late' && 'The server has not confirmed it yet. Decide again where nothing happens.'}
        {sending.state === 'refused' &&
          (sending.decidedElsewhere ? `Already decided: ${sending.reason}` : `Not taken: ${sending.reason}`)}
      </p>
    </section>
  );
}

const DONE: Readonly<Record<Decision, string>> = {
  approve: 'Approved',
  reject: 'Sent back',
  answer: 'Answered',
  ignore: 'Ignored',
  ask: 'Asked',
  retry: 'Trying again',
  accept: 'Accepted',
  extend: 'Extended',
  close: 'Closed',
};

/** The checks of the base commit, beside a document that can be read and beside changes. They may become known while a gate is open. */
function BaselineLine({ gate, info }: { readonly gate: Gate; readonly info: GateInfo }) {
  const { runs } = useHost();
  const baseline = useSelector(runs, ({ context }) => context.runs[gate.runId]?.baseline);
  if (baseline === undefined || !isAboutCode(info)) return null;
  return <p className="context">{sanitizeText(baselineText(baseline))}</p>;
}

function isAboutCode({ presents, isFailure = false }: GateInfo): boolean {
  return presents === 'changes' || (presents === 'document' && !isFailure);
}

/** Lists the failures that an override would accept, line by line. */
function Accepted({ gate }: { readonly gate: Gate }) {
  const { accepts, feedback, parserMessage } = gate.details;
  const failures = Array.isArray(accepts) ? accepts.filter((each) => typeof each === 'string') : [];
  const texts = [feedback, parserMessage].filter((each): each is string => typeof each === 'string' && each !== '');
  if (failures.length === 0 && texts.length === 0) return null;
  return (
    <>
      {texts.map((text) => (
        <pre key={text} className="said" tabIndex={0}>
          {sanitizeText(text)}
        </pre>
      ))}
      {failures.length > 0 && (
        <ul className="failures">
          {failures.map((failure) => (
            <li key={failure}>{sanitizeText(failure)}</li>
          ))}
        </ul>
      )}
    </>
  );
}

type OnDecide = (decision: GateDecision) => Promise<void>;

/** Each decision that needs words has a field of its own, opened by its button. */
type TextField = Exclude<DecisionField, 'editedPlan' | 'response'>;
interface AskedField {
  readonly field: TextField;
  readonly label: string;
  readonly isNeeded: boolean;
}

const FIELDS: Readonly<Partial<Record<Decision, AskedField>>> = {
  reject: { field: 'feedback', label: 'What should be different?', isNeeded: true },
  ask: { field: 'question', label: 'Your question', isNeeded: true },
  accept: { field: 'reason', label: 'Why may it pass all the same?', isNeeded: true },
  extend: { field: 'minutes', label: 'How many more minutes?', isNeeded: true },
  close: { field: 'reason', label: 'Why is it closed?', isNeeded: true },
};
const FIELD_LABELS: Readonly<Record<TextField, string>> = {
  feedback: 'What should be different?',
  question: 'Your question',
  reason: 'The reason, which is recorded',
  minutes: 'How many minutes?',
  notes: 'Your notes',
};

/** The field of a decision at this gate: every gate's own, else the one that the workflow declares; none for a field of another place. */
function askedAt(info: GateInfo, decision: Decision): AskedField | undefined {
  const own = FIELDS[decision];
  if (own !== undefined) return { ...own, label: info.labels?.[decision]?.field ?? own.label };
  const declared = fieldOf(info, decision);
  if (declared === null || declared.field === 'editedPlan' || declared.field === 'response') return undefined;
  const { field, isNeeded } = declared;
  const words = info.labels?.[decision]?.field ?? FIELD_LABELS[field];
  return { field, isNeeded, label: `${words}${isNeeded ? '' : ' (may stay empty)'}` };
}
const LABELS: Readonly<Record<Decision, string>> = {
  approve: 'Approve',
  reject: 'Send back…',
  answer: 'Answer',
  ignore: 'Ignore',
  ask: 'Ask…',
  retry: 'Try again',
  accept: 'Accept anyway…',
  extend: 'Extend…',
  close: 'Close…',
};

function Decisions({
  gate,
  info,
  comments,
  onDecide,
}: {
  readonly gate: Gate;
  readonly info: GateInfo;
  /** How many are not sent yet. */
  readonly comments: number;
  readonly onDecide: OnDecide;
}) {
  const [open, setOpen] = useState<Decision | null>(null);
  const buttons = useRef<HTMLDivElement>(null);
  const [words, keepWords] = useState('');
  const setWords = (text: string): void => {
    keepWords(text);
    if (open !== null) drafts.trigger.wrote({ owner: gate.id, name: open, text });
  };
  // A document that has to be corrected first is approved beside its text.
  const approval = fieldOf(info, 'approve');
  const isCorrected = approval?.field === 'editedPlan' && approval.isNeeded;
  const elsewhere = isCorrected ? 'approve' : gate.question === undefined ? null : 'answer';
  const choices = gate.decisions.filter((decision) => decision !== elsewhere);
  const primary = firstDecisionAt(info, { decisions: choices, details: gate.details });
  const asked = open === null ? undefined : askedAt(info, open);
  // The server sends what was said beside the lines with the words of a decision.
  const carries = (decision: Decision | null): boolean =>
    comments > 0 && decision !== null && carriesComments(decision);
  const isBudget = gate.reason === 'budget' && open === 'extend';

  const choose = (decision: Decision): void => {
    if (askedAt(info, decision) === undefined) return void onDecide({ decision });
    keepWords(draftOf({ owner: gate.id, name: decision }));
    setOpen(open === decision ? null : decision);
  };
  // Only a rejection may consist of comments beside lines alone; an acceptance needs a reason as well.
  const isEmpty = asked?.isNeeded === true && words.trim() === '' && !(carries(open) && open === 'reject');
  const send = (): void => {
    if (open === null || asked === undefined || isEmpty) return;
    const value = asked.field === 'minutes' ? Number(words) : words.trim();
    void onDecide({ decision: open, ...(value === '' ? {} : { [asked.field]: value }) });
  };

  // The field has the same words when it opens again.
  const leave = (): void => {
    buttons.current?.querySelector<HTMLElement>('[aria-expanded="true"]')?.focus();
    setOpen(null);
  };

  const nameOf = (decision: Decision): string => {
    // Nothing has failed that could be tried again.
    if (decision === 'retry' && gate.reason === 'held') return 'Continue';
    return info.labels?.[decision]?.button ?? LABELS[decision].replace('…', '');
  };
  const labelOf = (decision: Decision): string =>
    askedAt(info, decision) === undefined ? nameOf(decision) : `${nameOf(decision)}…`;

  return (
    <>
      <div className="actions" ref={buttons}>
        {choices.map((decision) => (
          <vscode-button
            key={decision}
            secondary={decision !== primary}
            aria-expanded={askedAt(info, decision) === undefined ? undefined : open === decision ? 'true' : 'false'}
            onClick={() => choose(decision)}
          >
            {labelOf(decision)}
          </vscode-button>
        ))}
      </div>
      {isBudget && <MoreBudget gate={gate} onDecide={onDecide} />}
      {asked !== undefined && open !== null && !isBudget && (
        <Labelled label={asked.label} onEscape={leave}>
          {(id) => (
            <>
              {asked.field === 'minutes' ? (
                <vscode-textfield
                  key={open}
                  ref={focusOpened}
                  id={id}
                  type="number"
                  label={asked.label}
                  value={words}
                  oninput={(event) => setWords(valueOf(event))}
                />
              ) : (
                <vscode-textarea
                  key={open}
                  ref={focusOpened}
                  id={id}
                  rows={4}
                  resize="vertical"
                  label={asked.label}
                  value={words}
                  oninput={(event) => setWords(valueOf(event))}
                />
              )}
              {carries(open) && <p className="quiet">{countedComments(comments)} will be sent with it.</p>}
              <div className="actions">
                <vscode-button disabled={isEmpty} onClick={send}>
                  {nameOf(open)}
                </vscode-button>
                <vscode-button secondary onClick={leave}>
                  Not now
                </vscode-button>
              </div>
            </>
          )}
        </Labelled>
      )}
    </>
  );
}

/** Another budget in place of the one that is used up. */
function MoreBudget({ gate, onDecide }: { readonly gate: Gate; readonly onDecide: OnDecide }) {
  const [name, setName] = useState(missingBudgetOf(gate) ?? 'maxCostUsd');
  const [words, setWords] = useState('');
  const value = Number(words);
  const isTaken = words.trim() !== '' && value > 0;
  return (
    <div className="budget">
      <Labelled label="Which budget?">
        {(id) => (
          <vscode-single-select
            ref={focusOpened}
            id={id}
            label="Which budget?"
            value={name}
            onchange={(event) => setName(BUDGET_NAMES.find((each) => each === valueOf(event)) ?? name)}
          >
            {BUDGET_NAMES.map((each) => (
              <vscode-option key={each} value={each} selected={each === name}>
                {BUDGET_LABELS[each]}
              </vscode-option>
            ))}
          </vscode-single-select>
        )}
      </Labelled>
      <Labelled label="How much in all, from the beginning?">
        {(id) => (
          <>
            <vscode-textfield
              id={id}
              type="number"
              label="How much in all, from the beginning?"
              value={words}
              oninput={(event) => setWords(valueOf(event))}
            />
            <vscode-button disabled={!isTaken} onClick={() => void onDecide({ decision: 'extend', [name]: value })}>
              Extend
            </vscode-button>
          </>
        )}
      </Labelled>
    </div>
  );
}

function Answer({ gate, onDecide }: { readonly gate: Gate; readonly onDecide: OnDecide }) {
  const { client, editor, runs } = useHost();
  const run = useSelector(runs, ({ context }) => context.runs[gate.runId]);
  const question = gate.question;
  const [text, keepText] = useState(() => draftOf({ owner: gate.id, name: 'answer' }));
  const setText = (next: string): void => {
    keepText(next);
    drafts.trigger.wrote({ owner: gate.id, name: 'answer', text: next });
  };
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [fault, setFault] = useState<string | null>(null);
  if (question === undefined) return null;
  const { responseType, options = [] } = question;

  const upload = async (): Promise<void> => {
    try {
      const uploads = await Promise.all(files.map((file) => client.upload(file.name, file)));
      await onDecide({ decision: 'answer', response: uploads.map(({ id }) => id) });
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  const send = (): void => {
    if (responseType === 'file_upload') return void upload();
    const response =
      responseType === 'text' ? text.trim() : responseType === 'single_choice' ? (chosen[0] ?? '') : chosen;
    void onDecide({ decision: 'answer', response });
  };
  const isEmpty =
    responseType === 'text'
      ? text.trim() === ''
      : responseType === 'file_upload'
        ? files.length === 0
        : chosen.length === 0;

  return (
    <div className="answer">
      {responseType === 'text' && (
        <Labelled label="Your answer">
          {(id) => (
            <vscode-textarea
              id={id}
              rows={4}
              resize="vertical"
              label="Your answer"
              value={text}
              oninput={(event) => setText(valueOf(event))}
            />
          )}
        </Labelled>
      )}
      {(responseType === 'single_choice' || responseType === 'multiple_choice') && (
        <fieldset className="options">
          <legend>{responseType === 'single_choice' ? 'Choose one' : 'Choose any'}</legend>
          {options.map((option) => (
            <label key={option}>
              <input
                type={responseType === 'single_choice' ? 'radio' : 'checkbox'}
                name={`answer-${gate.id}`}
                checked={chosen.includes(option)}
                onChange={({ target }) => {
                  if (responseType === 'single_choice') setChosen([option]);
                  else setChosen(target.checked ? [...chosen, option] : chosen.filter((each) => each !== option));
                }}
              />
              {sanitizeText(option)}
            </label>
          ))}
        </fieldset>
      )}
      {responseType === 'file_upload' && (
        <Labelled label="Files, at most 10 MB each">
          {(id) => (
            <input id={id} type="file" multiple onChange={({ target }) => setFiles([...(target.files ?? [])])} />
          )}
        </Labelled>
      )}
      {fault !== null && (
        <p className="fault" role="alert">
          The upload failed: {fault}
        </p>
      )}
      <div className="actions">
        <vscode-button disabled={isEmpty} onClick={send}>
          Answer
        </vscode-button>
        {editor !== undefined && run !== undefined && branchConflictOf(run) !== null && (
          <vscode-button secondary onClick={() => editor.resolveConflict(run.id)}>
            Resolve in the editor
          </vscode-button>
        )}
      </div>
    </div>
  );
}

function Labelled({
  label,
  onEscape,
  children,
}: {
  readonly label: string;
  readonly onEscape?: () => void;
  readonly children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div
      className="field"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || onEscape === undefined || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onEscape();
      }}
    >
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}
