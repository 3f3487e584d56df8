/** What a plan demands, on the nodes of its diagrams and as a list: from each one the other is a key away. */
import { type Demand, demandsByNode } from '@autonomous/shared/diagram';
import { createContext, type ReactNode, useContext, useMemo, useRef } from 'react';
import type { MarksOf } from './diagram.tsx';
import { type Mark, SIGNS } from './diagram-marks.ts';

export interface ListedDemand extends Demand {
  readonly state: string;
  readonly kindOfMark: Mark['kind'];
  readonly label: string;
  readonly reason: string;
}

const KINDS: readonly (readonly [Demand['kind'], string])[] = [
  ['route', 'Routes and pages'],
  ['component', 'Components'],
  ['entity', 'Entities'],
  ['branch', 'Branches'],
];

const DemandsContext = createContext<MarksOf | undefined>(undefined);

/** The marks of the demands around it; none where there are none. */
export function useDemandMarks(): MarksOf | undefined {
  return useContext(DemandsContext);
}

/** @param children diagrams and documents whose nodes make the demands */
export function Demands({ all, children }: { readonly all: readonly ListedDemand[]; readonly children: ReactNode }) {
  const region = useRef<HTMLDivElement>(null);
  const marksOf = useMemo<MarksOf>(() => {
    const byKey = new Map(all.map((demand) => [keyOf(demand), demand]));
    return (graph) => {
      const nodes = new Map<string, readonly Mark[]>();
      for (const [id, demands] of demandsByNode(graph)) {
        const marks = demands.flatMap((demand): Mark[] => {
          const listed = byKey.get(keyOf(demand));
          if (listed === undefined) return [];
          const label = `demands ${demandLine(listed)}: ${listed.label}`;
          return [{ kind: listed.kindOfMark, label, onChoose: () => focusItem(region.current, listed) }];
        });
        if (marks.length > 0) nodes.set(id, marks);
      }
      return { nodes, edges: new Map() };
    };
  }, [all]);
  if (all.length === 0) return children;
  return (
    <div ref={region} className="with-demands">
      <DemandsContext.Provider value={marksOf}>
        <div>{children}</div>
      </DemandsContext.Provider>
      <aside aria-label="What the result is held against" className="demands">
        <h2>The result is held against</h2>
        {KINDS.map(([kind, title]) => {
          const own = all.filter((demand) => demand.kind === kind);
          return own.length === 0 ? null : (
            <div key={kind}>
              <h3>{title}</h3>
              <ul>
                {own.map((demand) => (
                  <li key={keyOf(demand)} tabIndex={-1} data-demand={keyOf(demand)}>
                    <span className={`demand ${demand.state}`}>
                      <span aria-hidden="true">{SIGNS[demand.kindOfMark]}</span> {demand.label}
                    </span>{' '}
                    <strong>{demandLine(demand)}</strong>
                    <p className="quiet">{demand.reason}</p>
                    <button type="button" className="link" onClick={() => focusNode(region.current, demand)}>
                      Show in the diagram<span className="hidden">: {demandLine(demand)}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </aside>
    </div>
  );
}

/** What a person reads of one demand. */
export function demandLine({ name }: Demand): string {
  return name;
}

function keyOf({ kind, name }: Demand): string {
  return `${kind} ${name}`;
}

function focusItem(region: HTMLElement | null, demand: Demand): void {
  const items = [...(region?.querySelectorAll<HTMLElement>('[data-demand]') ?? [])];
  const item = items.find((each) => each.dataset['demand'] === keyOf(demand));
  item?.scrollIntoView({ block: 'nearest' });
  item?.focus({ preventScroll: true });
}

/** The first node that makes the demand; drawings keep to a root of their own. */
function focusNode(region: HTMLElement | null, demand: Demand): void {
  const label = `demands ${demandLine(demand)}: `;
  for (const paper of region?.querySelectorAll('.paper') ?? []) {
    for (const badge of paper.shadowRoot?.querySelectorAll<SVGGElement>('.choosable') ?? []) {
      if (badge.dataset['mark']?.startsWith(label) !== true) continue;
      badge.scrollIntoView({ block: 'center', inline: 'center' });
      badge.focus({ preventScroll: true });
      return;
    }
  }
}
