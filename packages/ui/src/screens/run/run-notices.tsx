/** Notices of a run, such as what its sandbox leaves out: beside its open gate, else in its overview. */
import type { RunView } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';

/** Further notices are folded, so that the document of a gate stays near its decisions. */
const SHOWN_NOTICES = 3;

export function RunNotices({ run: { notices } }: { readonly run: RunView }) {
  if (notices.length === 0) return null;
  const more = notices.slice(SHOWN_NOTICES);
  return (
    <section aria-label="Notices" className="notices">
      <List notices={notices.slice(0, SHOWN_NOTICES)} />
      {more.length > 0 && (
        <details>
          <summary>{`${more.length} more ${more.length === 1 ? 'notice' : 'notices'}`}</summary>
          <List notices={more} />
        </details>
      )}
    </section>
  );
}

function List({ notices }: { readonly notices: readonly string[] }) {
  return (
    <ul>
      {notices.map((notice) => (
        <li key={notice}>{withoutTerminal(notice)}</li>
      ))}
    </ul>
  );
}
