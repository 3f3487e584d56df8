/** A text of a projection with its time, its link and the line below it. */
import type { ProjectedText } from '@autonomous/shared';
import { Outside } from './outside.tsx';

export function ProjectedLine({ line: { text, href, tone = 'plain', note, at } }: { readonly line: ProjectedText }) {
  return (
    <>
      <span dir="auto" className={`projected-text tone-${tone}`}>
        {href !== undefined && /^https?:\/\//i.test(href) ? <Outside href={href}>{text}</Outside> : text}
        {at !== undefined && <Time at={at} />}
      </span>
      {note !== undefined && note !== '' && (
        <span dir="auto" className="below quiet">
          {note}
        </span>
      )}
    </>
  );
}

/** A point in time in the reader's own time zone. Unlike the age of an event it does not change while it is shown. */
export function Time({ at }: { readonly at: string }) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return null;
  return (
    <time dateTime={at} title={time.toLocaleString()}>
      {time.toLocaleString(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })}
    </time>
  );
}
