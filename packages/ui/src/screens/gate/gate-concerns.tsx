/** Concerns about a result that a person has to see before they decide, each with its reasons. */
import type { Gate } from '@autonomous/shared';
import { sanitizeText } from '@autonomous/shared/presentation';

export function GateConcerns({ gate }: { readonly gate: Gate }) {
  const concerns = gate.concerns ?? [];
  if (concerns.length === 0) return null;
  return (
    <section className="concerns" aria-label="What you have to see">
      {concerns.map(({ kind, title, items, hash }) => (
        <div key={hash}>
          <h3>{sanitizeText(title)}</h3>
          <ul className={kind === 'memory' ? undefined : 'failures'}>
            {items.map(({ path, line, reason, hash: item }, index) => (
              <li key={`${item ?? ''} ${index}`}>
                {/* All that comes into the memory comes into one file, which the title names. */}
                {path !== undefined && kind !== 'memory' && (
                  <>
                    <code>{sanitizeText(line === undefined ? path : `${path}:${line}`)}</code> –{' '}
                  </>
                )}
                {sanitizeText(reason)}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
