/** What a run's status looks like: a shape, a colour and a word, so that none of them is needed alone. */
import { FINAL_STATUSES, type RunStatus, type RunView } from '@autonomous/shared';
import { statusLabel } from '../labels.ts';

const ICONS: Readonly<Record<RunStatus, string>> = {
  queued: 'clock',
  running: 'sync',
  awaiting_approval: 'bell-dot',
  awaiting_clarification: 'question',
  paused: 'debug-pause',
  completed: 'pass',
  failed: 'error',
  cancelled: 'circle-slash',
};

export function StatusIcon({ status }: { readonly status: RunStatus }) {
  return (
    <vscode-icon className={`status ${status}`} name={ICONS[status]} spin={status === 'running'} aria-hidden="true" />
  );
}

export function StatusLine({ run }: { readonly run: RunView }) {
  return (
    <span className={`status-line ${run.status}`}>
      <StatusIcon status={run.status} /> {statusLabel(run)}
    </span>
  );
}

export function isOver(run: RunView): boolean {
  return FINAL_STATUSES.has(run.status);
}
