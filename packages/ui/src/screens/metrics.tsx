/** Metrics of runs over a period: how many completed, how long they took, where they waited and what they cost. */
import {
  commonTitles,
  type GateWaiting,
  type Metrics as Figures,
  type MetricsFigures,
  type MetricsPart,
  moneyText,
  type Project,
  titleOfName,
  unpricedText,
  type WorkflowFigures,
  type WorkflowInfo,
} from '@autonomous/shared';
import { durationText } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { useMemo } from 'react';
import { METRICS_DAYS, type MetricsDays, type Screen } from '../bridge.ts';
import { useHost } from '../hosts/host.ts';
import { gateTitle, stageTitle } from '../labels.ts';
import { valueOf } from '../components/elements.ts';
import { FactsTable } from '../components/facts-table.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { measureText } from '../components/formatters.ts';
import { Plot, type PlotSeries } from '../components/plot.tsx';
import { isOver } from '../components/status.tsx';
import { Ago } from '../components/times.tsx';

/** Days of which each is drawn; of more, weeks are. */
const MOST_DAYS_DRAWN = 31;
/** Lines and bars that are told apart; the rest is summed up. */
const MOST_SERIES = 5;

const NO_PRICE = 'the models’ prices are not known';

interface Chosen {
  readonly days: MetricsDays;
  readonly projectId: string | undefined;
  readonly workflow: string | undefined;
}

export function Metrics({ days, projectId, workflow }: Chosen) {
  const { client, runs, workflows } = useHost();
  const known = useSelector(workflows, ({ context }) => context.workflows);
  const titles = useMemo(
    () => commonTitles(known.filter(({ name }) => workflow === undefined || name === workflow)),
    [known, workflow],
  );
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  // Figures are fetched again where a run has ended since, or stops somewhere else.
  const moved = useSelector(runs, ({ context }) => {
    const all = Object.values(context.runs);
    return `${all.filter(isOver).length}/${all.filter(({ gate }) => gate !== null).length}`;
  });
  const asked = `${days} ${projectId ?? ''} ${workflow ?? ''}`;
  const figures = useLoaded(`${asked} ${moved}`, async () => {
    const value = await client.getMetrics(queryOf({ days, projectId, workflow }));
    return { asked, value };
  });
  // Those of another choice would be taken for this one's.
  const shown = figures.value?.asked === asked ? figures : { ...figures, value: null };
  return (
    <section className="metrics" aria-label="Metrics">
      <header>
        <h1>Metrics</h1>
        <Filters
          days={days}
          projectId={projectId}
          workflow={workflow}
          projects={projects.value?.items ?? []}
          workflows={known}
        />
      </header>
      <Loading of={shown} what="The figures">
        {({ value }) =>
          isEmpty(value) ? <Nothing days={days} /> : <All figures={value} titles={titles} workflows={known} />
        }
      </Loading>
    </section>
  );
}

function Filters({
  days,
  projectId,
  workflow,
  projects,
  workflows,
}: Chosen & { readonly projects: readonly Project[]; readonly workflows: readonly WorkflowInfo[] }) {
  const { go } = useHost();
  const to = (chosen: Partial<Chosen>): Screen => ({ name: 'metrics', days, projectId, workflow, ...chosen });
  return (
    <>
      <nav className="choice" aria-label="How far back">
        {METRICS_DAYS.map((count) => (
          <Link key={count} to={to({ days: count })} current={count === days}>
            {count} days
          </Link>
        ))}
      </nav>
      {projects.length > 0 && (
        <vscode-single-select
          label="Project"
          aria-label="Project"
          value={projectId ?? ''}
          onchange={(event) => go(to({ projectId: valueOf(event) || undefined }))}
        >
          <vscode-option value="" selected={projectId === undefined}>
            All projects
          </vscode-option>
          {projects.map(({ id, name }) => (
            <vscode-option key={id} value={id} selected={id === projectId}>
              {name}
            </vscode-option>
          ))}
        </vscode-single-select>
      )}
      {(workflows.length > 1 || workflow !== undefined) && (
        <vscode-single-select
          label="Workflow"
          aria-label="Workflow"
          value={workflow ?? ''}
          onchange={(event) => go(to({ workflow: valueOf(event) || undefined }))}
        >
          <vscode-option value="" selected={workflow === undefined}>
            All workflows
          </vscode-option>
          {workflows.map(({ name, title }) => (
            <vscode-option key={name} value={name} selected={name === workflow}>
              {title}
            </vscode-option>
          ))}
        </vscode-single-select>
      )}
    </>
  );
}

function Nothing({ days }: { readonly days: number }) {
  return (
    <p className="empty">
      No run was started, ended or waited in the last {days} days. Choose a longer time, or{' '}
      <Link to={{ name: 'launch' }}>start a run</Link>.
    </p>
  );
}

/** Titles of stages and gates of the runs that are counted. */
type Titles = Pick<WorkflowInfo, 'stages' | 'gates'>;

function All({
  figures,
  titles,
  workflows,
}: {
  readonly figures: Figures;
  readonly titles: Titles;
  readonly workflows: readonly WorkflowInfo[];
}) {
  const { total, parts, now, bucket } = figures;
  const labels = useMemo(() => parts.map(labelOf), [parts]);
  const series = useMemo(() => seriesOf(figures, titles), [figures, titles]);
  const common = { labels, labelled: bucket === 'day' ? 'Day' : 'Week' };
  const by = bucket === 'day' ? 'by day' : 'by week';
  const [spent, measure] = isPriced(total) ? (['Cost', 'dollars'] as const) : (['Tokens', 'count'] as const);
  return (
    <>
      <Summary total={total} now={now} />
      <div className="plots">
        <Plot
          {...common}
          title="Runs that ended"
          about={`How they ended, ${by}, without child runs.`}
          kind="bars"
          measure="count"
          series={series.ended}
        />
        <Plot
          {...common}
          title="Success rate"
          about={`Completed of all that completed, failed or were cancelled, ${by}.`}
          kind="lines"
          measure="percent"
          series={series.success}
        />
        <Plot
          {...common}
          title="Time to completion"
          about={`From launch to end, waiting included, of runs that completed, ${by}.`}
          kind="lines"
          measure="duration"
          series={series.time}
        />
        <Plot
          {...common}
          title="Cost per run"
          about={`What runs that ended had cost in all with their child runs, ${by} of their end.`}
          kind="lines"
          measure="dollars"
          series={series.cost}
        />
        <Plot
          {...common}
          title="Waiting by gate"
          about={`How long runs stood at a gate (median), ${by} on which it closed.`}
          kind="lines"
          measure="duration"
          series={series.waiting}
        />
        <Plot
          {...common}
          title={`${spent} by stage`}
          about={`What was spent ${by}, of open runs too.`}
          kind="bars"
          measure={measure}
          series={series.stages}
        />
        <Plot
          {...common}
          title={`${spent} by model`}
          about={`What was spent ${by}, of open runs too.`}
          kind="bars"
          measure={measure}
          series={series.models}
        />
      </div>
      <Gates total={total} now={now} titles={titles} />
      {figures.workflows.length > 1 && <Workflows figures={figures.workflows} workflows={workflows} />}
      <Spending
        title="Cost by stage, in all"
        head="Stage"
        rows={total.stages.map((of) => ({ ...of, name: stageName(of.stage, titles) }))}
      />
      <Spending
        title="Cost by model, in all"
        head="Model"
        rows={total.models.map((of) => ({ ...of, name: of.model }))}
      />
    </>
  );
}

function Summary({ total, now }: Pick<Figures, 'total' | 'now'>) {
  const { successRate, completed, failed, cancelled, closed, childRuns, timeToCompletion, costPerRun, spending } =
    total;
  const priced = isPriced(total);
  const waitingNow = now.waiting.reduce((sum, { runs }) => sum + runs, 0);
  return (
    <dl className="tiles">
      <Tile name="Success rate" value={successRate === null ? '–' : measureText('percent', successRate)}>
        {completed} completed, {failed} failed, {cancelled} cancelled
        {closed > 0 && `, ${closed} closed for another approach`}
        {childRuns.completed + childRuns.failed + childRuns.cancelled > 0 && `; ${childRunsText(childRuns)}`}
      </Tile>
      <Tile name="Time to completion" value={timeToCompletion === null ? '–' : durationText(timeToCompletion.medianMs)}>
        {timeToCompletion === null
          ? 'no run completed'
          : `median; 9 of 10 within ${durationText(timeToCompletion.p90Ms)}`}
      </Tile>
      <Tile
        name="Cost per run"
        value={costPerRun === null || !priced ? '–' : measureText('dollars', costPerRun.medianUsd)}
      >
        {costPerRun === null && 'no run ended'}
        {costPerRun !== null &&
          (priced ? `median; ${measureText('dollars', costPerRun.meanUsd)} on average` : NO_PRICE)}
      </Tile>
      <Tile name="Spent" value={priced ? measureText('dollars', spending.costUsd) : '–'}>
        {spending.calls.toLocaleString()} calls, {(spending.inputTokens + spending.outputTokens).toLocaleString()}{' '}
        tokens
        {spending.unpricedCalls > 0 && `; ${unpricedText(spending.unpricedCalls)}`}
      </Tile>
      <Tile name="Runs" value={total.started.toLocaleString()}>
        started; {now.openRuns} open now, {waitingNow} of them waiting
      </Tile>
    </dl>
  );
}

function Tile({
  name,
  value,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly children: React.ReactNode;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd className="quiet">{children}</dd>
    </div>
  );
}

/** Runs and costs of each workflow. */
function Workflows({
  figures,
  workflows,
}: {
  readonly figures: readonly WorkflowFigures[];
  readonly workflows: readonly WorkflowInfo[];
}) {
  return (
    <Table
      title="Runs by workflow"
      head={['Workflow', 'Started', 'Completed', 'Failed', 'Success rate', 'Time to completion', 'Cost']}
    >
      {figures.map(({ workflow, started, completed, failed, successRate, timeToCompletion, spending }) => (
        <tr key={workflow}>
          <th scope="row">{workflows.find(({ name }) => name === workflow)?.title ?? titleOfName(workflow)}</th>
          <td>{started}</td>
          <td>{completed}</td>
          <td>{failed}</td>
          <td>{successRate === null ? '–' : measureText('percent', successRate)}</td>
          <td>{timeToCompletion === null ? '–' : durationText(timeToCompletion.medianMs)}</td>
          <td>{moneyText(spending)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Gates({ total, now, titles }: Pick<Figures, 'total' | 'now'> & { readonly titles: Titles }) {
  const nameOf = (waiting: Pick<GateWaiting, 'gate' | 'reason'>): string => gateName(waiting, titles);
  const names = [...new Set([...total.waiting, ...now.waiting].map(nameOf))];
  if (names.length === 0) return null;
  const past = new Map(total.waiting.map((waited) => [nameOf(waited), waited]));
  const present = new Map(now.waiting.map((waits) => [nameOf(waits), waits]));
  return (
    <Table
      title="Waiting by gate, in all"
      head={['Gate', 'Times', 'Median', '9 of 10 within', 'In all', 'Waiting now']}
    >
      {names.map((name) => {
        const waited = past.get(name);
        const waits = present.get(name);
        return (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{waited?.count ?? 0}</td>
            <td>{waited === undefined ? '–' : durationText(waited.medianMs)}</td>
            <td>{waited === undefined ? '–' : durationText(waited.p90Ms)}</td>
            <td>{waited === undefined ? '–' : durationText(waited.totalMs)}</td>
            <td>
              {waits === undefined ? (
                '–'
              ) : (
                <>
                  {waits.runs}, first <Ago at={waits.since} />
                </>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function Spending({
  title,
  head,
  rows,
}: {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly (MetricsFigures['spending'] & { readonly name: string })[];
}) {
  if (rows.length === 0) return null;
  return (
    <Table title={title} head={[head, 'Cost', 'Calls', 'Input tokens', 'Output tokens']}>
      {rows.map(({ name, calls, inputTokens, outputTokens, ...money }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td>{moneyText(money)}</td>
          <td>{calls.toLocaleString()}</td>
          <td>{inputTokens.toLocaleString()}</td>
          <td>{outputTokens.toLocaleString()}</td>
        </tr>
      ))}
    </Table>
  );
}

function Table({
  title,
  head,
  children,
}: {
  readonly title: string;
  readonly head: readonly string[];
  readonly children: React.ReactNode;
}) {
  return (
    <>
      <h2>{title}</h2>
      <FactsTable label={title} head={head}>
        {children}
      </FactsTable>
    </>
  );
}

/** The days by this machine's clock, today the last of them. */
function queryOf({ days, projectId, workflow }: Chosen) {
  const timeZone = timeZoneHere();
  // A Swedish date is written as the server takes it.
  const dateAt = (at: Date): string => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(at);
  const to = dateAt(new Date());
  const first = new Date(`${to}T12:00:00Z`);
  first.setUTCDate(first.getUTCDate() - days + 1);
  return {
    ...(projectId === undefined ? {} : { projectId }),
    ...(workflow === undefined ? {} : { workflow }),
    from: first.toISOString().slice(0, 10),
    to,
    bucket: days > MOST_DAYS_DRAWN ? 'week' : 'day',
    timeZone,
  } as const;
}

function timeZoneHere(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  // A machine that knows none.
  return timeZone === 'Etc/Unknown' ? 'UTC' : timeZone;
}

function childRunsText({ completed, failed, cancelled }: MetricsFigures['childRuns']): string {
  return `apart from them, attempts and other child runs: ${completed} completed, ${failed} failed, ${cancelled} cancelled`;
}

/** Whether dollars say something: not where no call had a price. */
function isPriced({ spending }: Pick<MetricsFigures, 'spending'>): boolean {
  return spending.calls === 0 || spending.calls > spending.unpricedCalls;
}

function isEmpty({ total, now }: Figures): boolean {
  const { started, completed, failed, cancelled, closed, childRuns, spending, waiting } = total;
  const below = childRuns.started + childRuns.completed + childRuns.failed + childRuns.cancelled;
  return (
    below + started + completed + failed + cancelled + closed + spending.calls + waiting.length + now.waiting.length ===
    0
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

function labelOf({ from }: MetricsPart): string {
  return DAY.format(new Date(from));
}

function stageName(stage: string | null, titles: Titles): string {
  return stage === null ? 'Before the first stage' : stageTitle(stage, titles);
}

function gateName({ gate, reason }: Pick<GateWaiting, 'gate' | 'reason'>, titles: Titles): string {
  return gateTitle(gate, reason, titles);
}

/** Returns the series of the plots. */
export function seriesOf({ total, parts }: Pick<Figures, 'total' | 'parts'>, titles: Titles) {
  const nameOf = (waiting: GateWaiting): string => gateName(waiting, titles);
  const line = (label: string, read: (part: MetricsPart) => number | null | undefined): PlotSeries => ({
    label,
    values: parts.map((part) => read(part) ?? null),
  });
  const spent = ({ costUsd, inputTokens, outputTokens }: MetricsFigures['spending']): number =>
    isPriced(total) ? costUsd : inputTokens + outputTokens;
  const ended: readonly PlotSeries[] = [
    { ...line('Completed', ({ completed }) => completed), colour: 'green' },
    { ...line('Failed', ({ failed }) => failed), colour: 'red' },
    { ...line('Cancelled', ({ cancelled }) => cancelled), colour: 'yellow' },
    ...(total.closed > 0
      ? [{ ...line('Closed for another approach', ({ closed }) => closed), colour: 'foreground' as const }]
      : []),
  ];
  return {
    ended,
    success: [line('Success rate', ({ successRate }) => successRate)],
    time: [
      line('Median', ({ timeToCompletion }) => timeToCompletion?.medianMs),
      line('9 of 10 within', ({ timeToCompletion }) => timeToCompletion?.p90Ms),
    ],
    cost: [
      line('Median', ({ costPerRun }) => costPerRun?.medianUsd),
      line('Average', ({ costPerRun }) => costPerRun?.meanUsd),
    ],
    waiting: total.waiting
      .slice(0, MOST_SERIES)
      .map((gate) =>
        line(nameOf(gate), (part) => part.waiting.find((waited) => nameOf(waited) === nameOf(gate))?.medianMs),
      ),
    stages: shares(
      parts.map(({ stages }) => stages.map((each) => [stageName(each.stage, titles), spent(each)])),
      total.stages.map(({ stage }) => stageName(stage, titles)),
    ),
    models: shares(
      parts.map(({ models }) => models.map((each) => [each.model, spent(each)])),
      total.models.map(({ model }) => model),
    ),
  };
}

/** One for each name, the dearest first; many cheap ones are one. */
function shares(
  parts: readonly (readonly (readonly [name: string, spent: number])[])[],
  names: readonly string[],
): readonly PlotSeries[] {
  const drawn = names.length > MOST_SERIES + 1 ? names.slice(0, MOST_SERIES) : names;
  const sum = (isOf: (name: string) => boolean) =>
    parts.map((each) => each.reduce((whole, [name, spent]) => (isOf(name) ? whole + spent : whole), 0));
  const others = names.length - drawn.length;
  return [
    ...drawn.map((label) => ({ label, values: sum((name) => name === label) })),
    ...(others > 0 ? [{ label: `${others} others`, values: sum((name) => !drawn.includes(name)) }] : []),
  ];
}
