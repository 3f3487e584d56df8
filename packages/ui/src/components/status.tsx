/** Renders a run's status as a shape, a colour and a word, so that none of them is needed alone. */
import { FINAL_STATUSES, type RunStatus, type RunView } from '@autonomous/shared';
import { isResuming } from '@autonomous/shared/client';
import { useSelector } from '@xstate/store-react';
import { RESUMING } from '../connection-news.ts';
import { useHost, useWorkflow } from '../hosts/host.ts';
import { statusLabel } from '../labels.ts';
import { Icon } from './icon.tsx';

const ICONS: Readonly<Record<RunStatus, string>> = {
  queued: 'clock',
  running: 'sync',
  awaiting_children: 'type-hierarchy-sub',
  awaiting_approval: 'bell-dot',
  awaiting_clarification: 'question',
  paused: 'debug-pause',
  completed: 'pass',
  failed: 'error',
  cancelled: 'circle-slash',
};

/** @param withFailures the run completed, and parts of its work came to nothing */
export function StatusIcon({ status, withFailures = false }: StatusProps) {
  if (withFailures) return <Icon className="status failed" name="warning" />;
  return <Icon className={`status ${status}`} name={ICONS[status]} spin={status === 'running'} />;
}

interface StatusProps {
  readonly status: RunStatus;
  readonly withFailures?: boolean;
}

export function StatusLine({ run }: { readonly run: RunView }) {
  const { runs } = useHost();
  const workflow = useWorkflow(run);
  const resuming = useSelector(runs, ({ context }) => isResuming(context, run.id));
  return (
    <span className={`status-line ${run.status}`}>
      <StatusIcon status={run.status} withFailures={run.failures !== undefined} />{' '}
      {resuming ? RESUMING : statusLabel(run, workflow)}
    </span>
  );
}

export function isOver(run: RunView): boolean {
  return FINAL_STATUSES.has(run.status);
}
