/** Commands that the server itself ran, and their outcomes. */
import type { Baseline, CommandEvidence, Evidence, NewDependency, RunView } from '@autonomous/shared';
import {
  baselineText,
  durationText,
  moreText,
  namedTests,
  outcomeText,
  sanitizeText,
  withoutTerminal,
  testCountText,
} from '@autonomous/shared/presentation';
import { FactsTable } from '../components/facts-table.tsx';
import { Ago } from '../components/times.tsx';
import { Icon } from '../components/icon.tsx';
import { NothingYet } from './child-runs.tsx';

const MODES: Readonly<Record<Evidence['mode'], string>> = {
  as_is: 'The result as it is',
  base_tests: 'With the base’s tests, test configuration and scripts put back',
};

export function EvidenceList({ run }: { readonly run: RunView }) {
  const { baseline } = run;
  if (run.evidence.length === 0 && baseline === undefined) {
    return (
      <p className="empty">
        <NothingYet
          run={run}
          text="No checks have run yet. The server runs them itself once there is code."
          ofItself="No checks of this run itself have run yet."
        />
      </p>
    );
  }
  return (
    <section aria-label="Evidence">
      {run.evidence.length === 0 && (
        <p className="quiet">
          <NothingYet
            run={run}
            text="No checks of a result have run yet. The server runs them itself once there is code."
            ofItself="No checks of a result of this run itself have run yet."
          />
        </p>
      )}
      {run.evidence.toReversed().map((evidence) => (
        <article key={`${evidence.recordedAt} ${evidence.mode}`} className="evidence">
          <h2>
            <Icon
              className={`status ${isProven(evidence) ? 'completed' : 'failed'}`}
              name={isProven(evidence) ? 'pass' : 'error'}
            />{' '}
            {MODES[evidence.mode]}: {outcomeText(evidence, evidence.passed ? 'passed' : 'failed')}
          </h2>
          <p className="quiet">
            commit {evidence.commit.slice(0, 8)}, in{' '}
            {evidence.sandbox === 'none' ? <strong>no sandbox (demo)</strong> : evidence.sandbox},{' '}
            <Ago at={evidence.recordedAt} />
          </p>
          {evidence.commands.length === 0 && <p>The project has no checks that the server knows of.</p>}
          {evidence.commands.map((command) => (
            <Command key={command.command} command={command} />
          ))}
          {evidence.rebuiltAt !== undefined && (
            <p className="removed">
              The run was rebuilt since from its record, which has this: it is no proof that this server ran the checks.
            </p>
          )}
          {evidence.reusedFrom !== undefined && (
            <p className="quiet">The same code was checked by run {evidence.reusedFrom}; it was not run again.</p>
          )}
          <Tests evidence={evidence} run={run} />
          {evidence.restored !== undefined && evidence.restored.length > 0 && (
            <p>
              Changed by the run, and put back for this check:{' '}
              {evidence.restored.map((path) => (
                <code key={path}>{path} </code>
              ))}
            </p>
          )}
          {evidence.newDependencies !== undefined && <Dependencies all={evidence.newDependencies} />}
        </article>
      ))}
      {baseline !== undefined && <OfTheBase baseline={baseline} />}
    </section>
  );
}

/** True for checks that this server ran and that passed. */
function isProven({ passed, rebuiltAt }: Evidence): boolean {
  return passed && rebuiltAt === undefined;
}

/** The same checks before the run changed anything, with their output. */
function OfTheBase({ baseline }: { readonly baseline: Baseline }) {
  const { commit, sandbox, command, passed, failure, isFromEarlierRun } = baseline;
  return (
    <article className="evidence" aria-label="The base commit">
      <h2>
        <Icon className={`status ${passed ? 'completed' : 'failed'}`} name={passed ? 'pass' : 'error'} /> The base
        commit: {passed ? 'passed' : failure === undefined ? 'failed' : 'no outcome'}
      </h2>
      <p className="quiet">
        commit {commit.slice(0, 8)}, in {sandbox === 'none' ? <strong>no sandbox (demo)</strong> : sandbox}
        {isFromEarlierRun === true && ', known from an earlier run'}
      </p>
      <p>{sanitizeText(baselineText(baseline))}</p>
      {failure === undefined && <Command command={command} />}
    </article>
  );
}

function Tests({ evidence, run }: { readonly evidence: Evidence; readonly run: RunView }) {
  const text = testCountText(evidence, run.baseline);
  if (text === null) return null;
  return (
    <>
      <p>Tests: {text}.</p>
      <NamedTests evidence={evidence} />
    </>
  );
}

/** Tests that failed or are gone, a list for each outcome; nothing where none is known. */
export function NamedTests({ evidence: { tests } }: { readonly evidence: Evidence }) {
  const lists = tests === undefined ? [] : namedTests(tests);
  return (
    <>
      {lists.map((list) => (
        <section key={list.title} className="named-tests" aria-label={list.title}>
          <p className="removed">{list.title}:</p>
          <ul>
            {list.names.map((name) => (
              <li key={name}>
                <code>{sanitizeText(name)}</code>
              </li>
            ))}
            {moreText(list) !== '' && <li className="quiet">{moreText(list)}</li>}
          </ul>
        </section>
      ))}
    </>
  );
}

function Command({ command }: { readonly command: CommandEvidence }) {
  const isFine = command.exitCode === 0;
  return (
    <details className="command" open={!isFine}>
      <summary>
        <code>{command.command}</code>{' '}
        <span className={isFine ? 'added' : 'removed'}>
          {command.exitCode === null ? 'was ended' : `exit code ${command.exitCode}`}
        </span>{' '}
        <span className="quiet">{durationText(command.durationMs)}</span>
      </summary>
      <pre tabIndex={0} aria-label={`Output of ${command.command}`}>
        {command.output === '' ? '(no output)' : withoutTerminal(command.output)}
      </pre>
    </details>
  );
}

function Dependencies({ all }: { readonly all: readonly NewDependency[] }) {
  return (
    <FactsTable label="New packages" caption="New packages" head={['Package', 'Version', 'Before', 'Age', 'Notes']}>
      {all.map((each) => (
        <tr key={`${each.file} ${each.name} ${each.version}`}>
          <td>{each.name}</td>
          <td>{each.version}</td>
          <td>{each.was ?? '–'}</td>
          <td>{each.ageDays === undefined ? 'unknown' : `${each.ageDays} d`}</td>
          <td>
            {each.hasInstallScript === true && 'runs code when installed. '}
            {each.source}
          </td>
        </tr>
      ))}
    </FactsTable>
  );
}
