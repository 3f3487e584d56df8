/** Outcomes of the server's own checks of the newest result of each run. */
import type { Evidence, RunView } from '@autonomous/shared';
import { durationText, outcomeText } from '@autonomous/shared/presentation';
import { runRows, RunTable } from '../../components/run-table.tsx';

const ROWS = runRows([
  ['The result as it is', (run) => <Checked evidence={newest(run, 'as_is')} />],
  ['With the base’s tests put back', (run) => <Checked evidence={newest(run, 'base_tests')} />],
  ['New packages', (run) => newPackages(newest(run, 'as_is'))],
  ['Tests changed', (run) => newest(run, 'base_tests')?.restored?.join(', ') || '–'],
  ['Accepted all the same', (run) => run.gates.findLast(({ decision }) => decision === 'accept')?.notes ?? '–'],
]);

export function CompareEvidence({ runs }: { readonly runs: readonly RunView[] }) {
  return <RunTable label="Evidence side by side" runs={runs} tab="evidence" rows={ROWS} />;
}

function Checked({ evidence }: { readonly evidence: Evidence | undefined }) {
  if (evidence === undefined) return '–';
  const { passed, rebuiltAt } = evidence;
  return (
    <>
      <span className={passed && rebuiltAt === undefined ? 'added' : 'removed'}>
        {outcomeText(evidence, passed ? 'passed' : 'failed')}
      </span>
      <ul className="checks">
        {evidence.commands.map(({ command, exitCode, durationMs }) => (
          <li key={command}>
            <code>{command}</code>{' '}
            <span className="quiet">
              {exitCode === null ? 'was ended' : `exit code ${exitCode}`}, {durationText(durationMs)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function newPackages(evidence: Evidence | undefined): string {
  const added = evidence?.newDependencies ?? [];
  return added.length === 0 ? '–' : added.map(({ name, version }) => `${name} ${version}`).join(', ');
}

/** Of the newest result alone: what was proven of an earlier one says nothing of this. */
function newest({ evidence }: RunView, mode: Evidence['mode']): Evidence | undefined {
  const tree = evidence.at(-1)?.codeTree;
  return evidence.findLast((each) => each.mode === mode && each.codeTree === tree);
}
