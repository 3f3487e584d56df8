/** The roadmap of a project as a board: by MoSCoW and time horizon, with the item to work on next and the runs of items. */
import type { Project, ProjectRoadmap, RoadmapBoardItem, RoadmapChoice, RoadmapContent } from '@autonomous/shared';
import { useSelector } from '@xstate/store-react';
import { useId, useMemo, useState } from 'react';
import type { Screen } from '../../bridge.ts';
import { valueOf } from '../../components/elements.ts';
import { Icon } from '../../components/icon.tsx';
import { Link } from '../../components/link.tsx';
import { type Loaded, Loading, useLoaded } from '../../components/loading.tsx';
import { Outside } from '../../components/outside.tsx';
import { useHost } from '../../hosts/host.ts';
import {
  completedOf,
  HORIZON_TITLES,
  lanesOf,
  MOSCOW_TITLES,
  roadmapMark,
  runsByItem,
  summaryOf,
} from '../../roadmap-board.ts';
import { type BoardFacts, RoadmapCard, RunOfItem } from './roadmap-card.tsx';
import { ItemDetails } from './roadmap-item.tsx';

const GUIDE = 'https://github.com/autonomous-orchestrator/autonomous/blob/main/docs/roadmaps.md';
const MEMORY = 'autonomous.roadmap';
/** Items in progress and notes that are shown above the board. */
const MOST_LINES = 5;

interface RoadmapProps {
  readonly projectId: string | undefined;
  /** Id of the item whose details are shown. Absent: none. */
  readonly item: string | undefined;
}

export function Roadmap({ projectId, item }: RoadmapProps) {
  const { client } = useHost();
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  return (
    <section className="roadmap" aria-label="Roadmap">
      <Loading of={projects} what="The projects">
        {({ items }) => {
          const project = chosenProject(items, projectId);
          return project === null ? (
            <>
              <h1>Roadmap</h1>
              <p className="empty">
                {projectId === undefined
                  ? 'This server has no project yet. '
                  : `This server has no project '${projectId}'. `}
                <Link to={{ name: 'launch' }}>Add one with a new run</Link>.
              </p>
            </>
          ) : (
            <OfProject key={project.id} project={project} projects={items} item={item} />
          );
        }}
      </Loading>
    </section>
  );
}

/** The project of the address, else the one that was looked at last, else the first one. */
function chosenProject(projects: readonly Project[], projectId: string | undefined): Project | null {
  const byId = (id: string | null): Project | undefined => projects.find((project) => project.id === id);
  if (projectId !== undefined) return byId(projectId) ?? null;
  return byId(lastProject()) ?? projects[0] ?? null;
}

function lastProject(): string | null {
  try {
    return localStorage.getItem(MEMORY);
  } catch {
    return null;
  }
}

function rememberProject(id: string): void {
  try {
    localStorage.setItem(MEMORY, id);
  } catch {
    // A browser that keeps nothing: the first project is shown next time.
  }
}

interface OfProjectProps {
  readonly project: Project;
  readonly projects: readonly Project[];
  readonly item: string | undefined;
}

function OfProject({ project, projects, item }: OfProjectProps) {
  const loaded = useRoadmap(project.id);
  const { value } = loaded;
  return (
    <>
      <Header project={project} projects={projects} roadmap={value} onReload={loaded.again} />
      <Loading of={loaded} what="The roadmap">
        {(roadmap) => (
          <>
            {roadmap.notFetched !== null && (
              <p className="fault" role="alert">
                The repository could not be asked: {roadmap.notFetched} This is the roadmap of the last fetch.
              </p>
            )}
            <Content project={project} roadmap={roadmap} item={item} />
          </>
        )}
      </Loading>
    </>
  );
}

/** Loads the roadmap, and again whenever a run of the project may have changed it. */
function useRoadmap(projectId: string): Loaded<ProjectRoadmap> {
  const { client, runs } = useHost();
  // Name of the workflow that works on items, as the last answer gave it.
  const [workflow, setWorkflow] = useState<string | null>(null);
  const mark = useSelector(runs, ({ context }) => roadmapMark(Object.values(context.runs), projectId, workflow));
  return useLoaded(`${projectId} ${mark}`, async () => {
    const roadmap = await client.getRoadmap(projectId);
    setWorkflow(roadmap.workflow);
    return roadmap;
  });
}

interface HeaderProps {
  readonly project: Project;
  readonly projects: readonly Project[];
  readonly roadmap: ProjectRoadmap | null;
  readonly onReload: () => void;
}

function Header({ project, projects, roadmap, onReload }: HeaderProps) {
  const { go } = useHost();
  const content = roadmap?.content;
  return (
    <header>
      <h1>Roadmap</h1>
      {projects.length > 1 && (
        <vscode-single-select
          label="Project"
          aria-label="Project"
          value={project.id}
          onchange={(event) => {
            const id = valueOf(event);
            rememberProject(id);
            go({ name: 'roadmap', projectId: id });
          }}
        >
          {projects.map(({ id, name }) => (
            <vscode-option key={id} value={id} selected={id === project.id}>
              {name}
            </vscode-option>
          ))}
        </vscode-single-select>
      )}
      <p className="quiet">
        {projects.length === 1 && <span>{project.name}</span>}
        {content?.kind === 'items' && content.items.length > 0 && <span>{summaryOf(content.items)}</span>}
        {roadmap !== null && (
          <span>
            <code>{roadmap.path}</code> on <code>{roadmap.branch}</code>
          </span>
        )}
      </p>
      <vscode-button secondary onClick={onReload}>
        Read again
      </vscode-button>
    </header>
  );
}

interface ContentProps {
  readonly project: Project;
  readonly roadmap: ProjectRoadmap;
  readonly item: string | undefined;
}

function Content({ project, roadmap, item }: ContentProps) {
  const { content } = roadmap;
  switch (content.kind) {
    case 'absent':
      return <Absent project={project} roadmap={roadmap} />;
    case 'faulty':
      return <Faulty roadmap={roadmap} content={content} />;
    case 'items':
      return content.items.length === 0 ? (
        <p className="empty">
          The roadmap has no items yet. Add some to <code>items</code> of <code>{roadmap.path}</code>:{' '}
          <Outside href={GUIDE}>the fields of an item</Outside>.
        </p>
      ) : (
        <Board project={project} roadmap={roadmap} content={content} item={item} />
      );
    default:
      return content satisfies never;
  }
}

const SAMPLE = `{
  "items": [
    {
      "id": "sign-in",
      "title": "Sign in by a link",
      "type": "feature",
      "moscow": "must-have",
      "status": "not-started",
      "health": "on-track",
      "timeHorizon": "now",
      "dependencies": []
    }
  ]
}`;

function Absent({ project, roadmap: { path, branch } }: Pick<ContentProps, 'project' | 'roadmap'>) {
  return (
    <div className="no-roadmap">
      <h2>{project.name} has no roadmap yet</h2>
      <p>
        Write the file <code>{path}</code>, commit it to <code>{branch}</code> and push it. Each item says what is to be
        done and how much it matters:
      </p>
      <pre>{SAMPLE}</pre>
      <p>
        <Outside href={GUIDE}>All fields of a roadmap, and how the next item is chosen</Outside>
      </p>
    </div>
  );
}

function Faulty({
  roadmap: { path, branch },
  content: { faults, total },
}: {
  readonly roadmap: ProjectRoadmap;
  readonly content: Extract<RoadmapContent, { kind: 'faulty' }>;
}) {
  return (
    <div className="fault faults" role="alert">
      <h2>
        The roadmap has {total} {total === 1 ? 'fault' : 'faults'}
      </h2>
      <p>
        Correct <code>{path}</code> on <code>{branch}</code> and push it. The command <code>roadmap validate</code>{' '}
        checks it beforehand.
      </p>
      <ul>
        {faults.map(({ line, message }, index) => (
          // Two faults may have the same words.
          <li key={index}>
            {line !== null && <b>Line {line}: </b>}
            {message}
          </li>
        ))}
      </ul>
      {total > faults.length && <p>… and {total - faults.length} more.</p>}
    </div>
  );
}

interface BoardProps extends ContentProps {
  readonly content: Extract<RoadmapContent, { kind: 'items' }>;
}

function Board({ project, roadmap, content: { items, choice }, item }: BoardProps) {
  const { go } = useHost();
  const lanes = useMemo(() => lanesOf(items, choice), [items, choice]);
  const completed = useMemo(() => completedOf(items, choice), [items, choice]);
  const facts = useMemo(
    (): BoardFacts => ({
      projectId: project.id,
      byId: new Map(items.map((each) => [each.id, each])),
      runs: runsByItem(roadmap.runs),
      selected: choice.selected?.id ?? null,
    }),
    [project.id, items, roadmap.runs, choice],
  );
  const close = (): void => go({ name: 'roadmap', projectId: project.id });
  return (
    <>
      <Choice choice={choice} facts={facts} hasCompletedAll={completed.length === items.length} />
      {lanes.length > 0 && (
        <div className="horizons" aria-hidden="true">
          {Object.values(HORIZON_TITLES).map((title) => (
            <span key={title}>{title}</span>
          ))}
        </div>
      )}
      {lanes.map((lane) => (
        <section key={lane.moscow} className="lane" aria-label={MOSCOW_TITLES[lane.moscow]}>
          <h2>
            {MOSCOW_TITLES[lane.moscow]} <vscode-badge variant="counter">{lane.count}</vscode-badge>
          </h2>
          <div className="cells">
            {lane.cells.map((cell) => (
              <Cell key={cell.horizon} title={HORIZON_TITLES[cell.horizon]} items={cell.items} facts={facts} />
            ))}
          </div>
        </section>
      ))}
      {completed.length > 0 && (
        <details className="more completed">
          <summary>
            {completed.length} completed {completed.length === 1 ? 'item' : 'items'}
          </summary>
          <Cards items={completed} facts={facts} />
        </details>
      )}
      {item !== undefined && (
        <ItemDetails
          item={facts.byId.get(item) ?? null}
          id={item}
          items={items}
          choice={choice}
          roadmap={roadmap}
          facts={facts}
          onClose={close}
        />
      )}
    </>
  );
}

function Cell({
  title,
  items,
  facts,
}: {
  readonly title: string;
  readonly items: readonly RoadmapBoardItem[];
  readonly facts: BoardFacts;
}) {
  const id = useId();
  return (
    <div className={items.length === 0 ? 'cell empty-cell' : 'cell'}>
      <h3 id={id}>
        {title}
        {items.length === 0 && <span className="hidden">: no items</span>}
      </h3>
      {items.length > 0 && <Cards items={items} facts={facts} labelledBy={id} />}
    </div>
  );
}

function Cards({
  items,
  facts,
  labelledBy,
}: {
  readonly items: readonly RoadmapBoardItem[];
  readonly facts: BoardFacts;
  readonly labelledBy?: string;
}) {
  return (
    <ul className="cards" aria-labelledby={labelledBy}>
      {items.map((item) => (
        <RoadmapCard key={item.id} item={item} facts={facts} />
      ))}
    </ul>
  );
}

/** The item to work on next with its reason, the items in progress, and what else there is to know of the choice. */
function Choice({
  choice,
  facts,
  hasCompletedAll,
}: {
  readonly choice: RoadmapChoice;
  readonly facts: BoardFacts;
  readonly hasCompletedAll: boolean;
}) {
  const { selected, inProgress, pullIns, circles, unknownDependencies } = choice;
  const to = (item: string): Screen => ({ name: 'roadmap', projectId: facts.projectId, item });
  const notes = [
    ...circles.map((circle) => `These items depend on each other in a circle: ${[...circle, circle[0]].join(' → ')}.`),
    ...unknownDependencies.map(
      ({ item, dependency }) => `${item} depends on '${dependency}', which is not in the roadmap.`,
    ),
  ];
  return (
    <section className="next-item" aria-label="Next item">
      <div className="line">
        <p>
          {selected === null ? (
            <NothingNext hasCompletedAll={hasCompletedAll} isAtWork={inProgress.length > 0} />
          ) : (
            <>
              <b>Next:</b> <Link to={to(selected.id)}>{selected.title}</Link> because it is {selected.rationale}
            </>
          )}
        </p>
        {selected !== null && (
          <Link className="primary" to={to(selected.id)}>
            Start<span className="hidden"> {selected.title}</span>
          </Link>
        )}
      </div>
      {inProgress.length > 0 && (
        <ul aria-label="In progress">
          {inProgress.slice(0, MOST_LINES).map(({ id, title, rationale }) => (
            <li key={id}>
              <Link to={to(id)}>{title}</Link>: {rationale} <RunOfItem run={facts.runs.get(id)} title={title} />
            </li>
          ))}
          {inProgress.length > MOST_LINES && (
            <li className="quiet">and {inProgress.length - MOST_LINES} more in progress, on the board below</li>
          )}
        </ul>
      )}
      {pullIns.length > 0 && (
        <ul aria-label="Items to pull in">
          {pullIns.slice(0, MOST_LINES).map(({ id, title, rationale }) => (
            <li key={id}>
              <Icon name="lightbulb" /> {rationale} <Link to={to(id)}>Start “{title}” first</Link>
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <ul aria-label="Faults of dependencies">
          {notes.slice(0, MOST_LINES).map((note) => (
            <li key={note}>
              <Icon name="warning" /> {note}
            </li>
          ))}
          {notes.length > MOST_LINES && (
            <li className="quiet">
              and {notes.length - MOST_LINES} more, which the command <code>roadmap validate</code> lists
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function NothingNext({ hasCompletedAll, isAtWork }: { readonly hasCompletedAll: boolean; readonly isAtWork: boolean }) {
  if (hasCompletedAll) return 'All items are completed.';
  return isAtWork
    ? 'No other item can be started now. Each item says why.'
    : 'No item can be started now. Each item says why.';
}
