/** A timeline of a projection: an entry each, newest first, with its parts folded in all but the newest. */
import type { ProjectedEntry, ProjectedPart, TimelineSection } from '@autonomous/shared';
import { durationText } from '@autonomous/shared/presentation';
import { ProjectedLine, Time } from './projected-line.tsx';

/** Earlier entries are folded, so that what stands below the timeline is near. */
const MOST_OPEN = 5;

export function ProjectedTimeline({ section: { title, entries, total } }: { readonly section: TimelineSection }) {
  const newestFirst = entries.toReversed();
  const earlier = newestFirst.slice(MOST_OPEN);
  const listed = (some: readonly ProjectedEntry[], name: string) => (
    <ol className="projected-timeline" reversed aria-label={name}>
      {some.map((entry) => (
        <li key={entry.title} className={entry.endedAt === null ? 'under-way' : ''}>
          <Entry entry={entry} isNewest={entry === newestFirst[0]} />
        </li>
      ))}
    </ol>
  );
  return (
    <>
      {listed(newestFirst.slice(0, MOST_OPEN), title)}
      {earlier.length > 0 && (
        <details>
          <summary>
            {earlier.length} earlier: {title}
          </summary>
          {listed(earlier, `${title}, earlier`)}
        </details>
      )}
      {total > entries.length && (
        <p className="quiet">
          The newest {entries.length} of {total} are shown.
        </p>
      )}
    </>
  );
}

function Entry({ entry, isNewest }: { readonly entry: ProjectedEntry; readonly isNewest: boolean }) {
  const { title, startedAt, endedAt, mark, facts, parts } = entry;
  return (
    <>
      <h3>
        {title}
        {mark !== undefined && <span className={`outcome tone-${mark.tone ?? 'plain'}`}>{mark.text}</span>}
      </h3>
      <p className="quiet">
        <Time at={startedAt} />
        {endedAt !== null && ` · ${durationText(Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)))}`}
      </p>
      {facts.length > 0 && <p>{facts.join(' · ')}</p>}
      {parts.length > 0 && (
        <details open={isNewest}>
          <summary>{parts.length === 1 ? '1 agent' : `${parts.length} agents`}</summary>
          <ul className="projected-parts">
            {parts.map((part) => (
              <li key={part.title}>
                <Part part={part} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Part({ part }: { readonly part: ProjectedPart }) {
  const { title, facts, tone: _tone, ...line } = part;
  return (
    <>
      <p className="part-title">
        <strong>{title}</strong>
        {facts.length > 0 && <span className="quiet">{facts.join(' · ')}</span>}
      </p>
      <p className={part.tone === 'bad' ? 'fault-of-part' : undefined}>
        <ProjectedLine line={line} />
      </p>
    </>
  );
}
