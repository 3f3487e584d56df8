/** A roadmap as text: the choice of the next item in Markdown, and a table of all items. Pure. */
import { circleText } from './item-dependencies.ts';
import { COMPLETED, type JudgedItem, type NextItem, rankItems } from './next-item.ts';
import { type Roadmap, type RoadmapItem, TIME_HORIZONS } from './roadmap-file.ts';

export interface NextTextOptions {
  /** The command that starts or continues the work on an item. */
  readonly startCommand: (id: string) => string;
  /** Id of the item that was asked for; `null`: none was. */
  readonly named: string | null;
}

/** The choice as Markdown: items in progress, the selected item, and what else there is to know. */
export function nextItemLines(next: NextItem, { startCommand, named }: NextTextOptions): readonly string[] {
  const inProgress = next.inProgress.filter(({ id }) => named === null || id === named);
  const notes = noteLines(next, startCommand);
  return [
    ...(inProgress.length === 0 ? [] : ['## In Progress', '']),
    ...inProgress.flatMap((item) => [`- ${labelOf(item)}: ${item.rationale} \`${startCommand(item.id)}\``]),
    ...(inProgress.length === 0 ? [] : ['']),
    '## Next Roadmap Item',
    '',
    ...(next.selected === null ? noneLines(next, named) : selectedLines(next.selected, startCommand)),
    ...(notes.length === 0 ? [] : ['', '**Notes:**', ...notes]),
  ];
}

function selectedLines({ id, title, rationale }: JudgedItem, startCommand: NextTextOptions['startCommand']) {
  return [
    `**Selected:** ${oneLine(title)}`,
    `**ID:** ${id}`,
    `**Rationale:** ${rationale}`,
    '',
    '**To start work:**',
    '```',
    startCommand(id),
    '```',
  ];
}

function noneLines({ inProgress, eligible, others }: NextItem, named: string | null): readonly string[] {
  if (named !== null) {
    const under = inProgress.find(({ id }) => id === named);
    if (under !== undefined) return [`${labelOf(under)} is in progress.`];
    return others
      .filter(({ id }) => id === named)
      .map((item) => `${labelOf(item)} cannot be started. ${item.rationale}`);
  }
  const open = others.filter(({ rationale }) => rationale !== COMPLETED);
  if (inProgress.length + eligible.length + others.length === 0) return ['The roadmap has no items.'];
  if (inProgress.length + open.length === 0)
    return [others.length === 1 ? 'The only item is completed.' : `All ${others.length} items are completed.`];
  const none = inProgress.length === 0 ? 'No item can be started.' : 'No other item can be started.';
  return [none, ...(open.length === 0 ? [] : ['']), ...open.map((item) => `- ${labelOf(item)}: ${item.rationale}`)];
}

function noteLines(
  { pullIns, circles, unknownDependencies }: NextItem,
  startCommand: NextTextOptions['startCommand'],
): readonly string[] {
  return [
    ...pullIns.map(({ id, rationale }) => `- ${rationale} \`${startCommand(id)}\``),
    ...circles.map((circle) => `- These items depend on each other in a circle: ${circleText(circle)}.`),
    ...unknownDependencies.map(
      ({ item, dependency }) => `- ${item} depends on '${oneLine(dependency)}', which is not in the roadmap.`,
    ),
  ];
}

function labelOf({ id, title }: JudgedItem): string {
  return `**${oneLine(title)}** (${id})`;
}

const HEAD = ['MOSCOW', 'STATUS', 'HEALTH', 'PHASE', 'TASKS', 'ID', 'TITLE'] as const;

/** All items as a table, by time horizon and MoSCoW; below an item its blockers. */
export function statusLines({ items }: Roadmap): readonly string[] {
  if (items.length === 0) return ['The roadmap has no items.'];
  const counted = (status: RoadmapItem['status']) => items.filter((item) => item.status === status).length;
  const total = `${items.length} ${items.length === 1 ? 'item' : 'items'}`;
  const ranked = rankItems(items).map(({ item }) => item);
  const widths = HEAD.map((head, column) =>
    Math.max(head.length, ...ranked.map((item) => cellsOf(item)[column]?.length ?? 0)),
  );
  const row = (cells: readonly string[]) =>
    `  ${cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')}`;
  return [
    `${total}: ${counted('completed')} completed, ${counted('in-progress')} in progress, ${counted('on-hold')} on hold`,
    ...TIME_HORIZONS.flatMap((horizon) => {
      const here = ranked.filter(({ timeHorizon }) => timeHorizon === horizon);
      return here.length === 0
        ? []
        : ['', horizon, row(HEAD), ...here.flatMap((item) => [row(cellsOf(item)), ...blockerLines(item)])];
    }),
  ];
}

function cellsOf({ id, title, moscow, status, health, workflowState }: RoadmapItem): readonly string[] {
  const { phase = '-', tasksTotal, tasksCompleted } = workflowState ?? {};
  const hasTasks = tasksTotal !== undefined || tasksCompleted !== undefined;
  const tasks = hasTasks ? `${tasksCompleted ?? 0}/${tasksTotal ?? '?'}` : '-';
  return [moscow, status, health, phase, tasks, id, oneLine(title)];
}

function blockerLines({ workflowState }: RoadmapItem): readonly string[] {
  return (workflowState?.blockers ?? []).map((blocker) => `    blocked by: ${oneLine(blocker)}`);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
