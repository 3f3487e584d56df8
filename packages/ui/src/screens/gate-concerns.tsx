/** What a person has to see of a result before they decide: each concern with its reasons. */
import { type Gate, plainWords } from '@autonomous/shared';

export function GateConcerns({ gate }: { readonly gate: Gate }) {
  const concerns = gate.concerns ?? [];
  if (concerns.length === 0) return null;
  return (
    <section className="concerns" aria-label="What you have to see">
      {concerns.map(({ kind, title, items, hash }) => (
        <div key={hash}>
          <h3>{plainWords(title)}</h3>
          <ul className={kind === 'memory' ? undefined : 'failures'}>
            {items.map(({ path, line, reason, hash: item }, index) => (
              <li key={`${item ?? ''} ${index}`}>
                {path !== undefined && <code>{plainWords(line === undefined ? path : `${path}:${line}`)}</code>}{' '}
                {plainWords(reason)}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
