/** Constraints of a plan, on the nodes of its diagrams and as a list. A key moves from one to the other. */
import { type Constraint, constraintsByNode } from '@autonomous/shared/diagram';
import { createContext, type ReactNode, useContext, useMemo, useRef } from 'react';
import type { MarksOf } from './diagram/diagram-marks.ts';
import { type Mark, SIGNS } from './diagram/diagram-marks.ts';

export interface ListedConstraint extends Constraint {
  readonly state: string;
  readonly kindOfMark: Mark['kind'];
  readonly label: string;
  readonly reason: string;
}

const KINDS: readonly (readonly [Constraint['kind'], string])[] = [
  ['route', 'Routes and pages'],
  ['component', 'Components'],
  ['entity', 'Entities'],
  ['branch', 'Branches'],
];

const ConstraintsContext = createContext<MarksOf | undefined>(undefined);

/** The marks of the constraints around it; none where there are none. */
export function useConstraintMarks(): MarksOf | undefined {
  return useContext(ConstraintsContext);
}

/** @param children diagrams and documents whose nodes make the constraints */
export function Constraints({
  all,
  children,
}: {
  readonly all: readonly ListedConstraint[];
  readonly children: ReactNode;
}) {
  const region = useRef<HTMLDivElement>(null);
  const marksOf = useMemo<MarksOf>(() => {
    const byKey = new Map(all.map((constraint) => [keyOf(constraint), constraint]));
    return (graph) => {
      const nodes = new Map<string, readonly Mark[]>();
      for (const [id, constraints] of constraintsByNode(graph)) {
        const marks = constraints.flatMap((constraint): Mark[] => {
          const listed = byKey.get(keyOf(constraint));
          if (listed === undefined) return [];
          const label = `requires ${constraintLine(listed)}: ${listed.label}`;
          return [{ kind: listed.kindOfMark, label, onChoose: () => focusItem(region.current, listed) }];
        });
        if (marks.length > 0) nodes.set(id, marks);
      }
      return { nodes, edges: new Map() };
    };
  }, [all]);
  if (all.length === 0) return children;
  return (
    <div ref={region} className="with-constraints">
      <ConstraintsContext.Provider value={marksOf}>
        <div>{children}</div>
      </ConstraintsContext.Provider>
      <aside aria-label="What the plan requires" className="constraints">
        <h2>The plan requires</h2>
        {KINDS.map(([kind, title]) => {
          const own = all.filter((constraint) => constraint.kind === kind);
          return own.length === 0 ? null : (
            <div key={kind}>
              <h3>{title}</h3>
              <ul>
                {own.map((constraint) => (
                  <li key={keyOf(constraint)} tabIndex={-1} data-constraint={keyOf(constraint)}>
                    <span className={`constraint ${constraint.state}`}>
                      <span aria-hidden="true">{SIGNS[constraint.kindOfMark]}</span> {constraint.label}
                    </span>{' '}
                    <strong>{constraintLine(constraint)}</strong>
                    <p className="quiet">{constraint.reason}</p>
                    <button type="button" className="link" onClick={() => focusNode(region.current, constraint)}>
                      Show in the diagram<span className="hidden">: {constraintLine(constraint)}</span>
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

/** Returns the text of one constraint for a person. */
export function constraintLine({ name }: Constraint): string {
  return name;
}

function keyOf({ kind, name }: Constraint): string {
  return `${kind} ${name}`;
}

function focusItem(region: HTMLElement | null, constraint: Constraint): void {
  const items = [...(region?.querySelectorAll<HTMLElement>('[data-constraint]') ?? [])];
  const item = items.find((each) => each.dataset['constraint'] === keyOf(constraint));
  item?.scrollIntoView({ block: 'nearest' });
  item?.focus({ preventScroll: true });
}

/** The first node that makes the constraint; drawings keep to a root of their own. */
function focusNode(region: HTMLElement | null, constraint: Constraint): void {
  const label = `requires ${constraintLine(constraint)}: `;
  for (const paper of region?.querySelectorAll('.paper') ?? []) {
    for (const badge of paper.shadowRoot?.querySelectorAll<SVGGElement>('.choosable') ?? []) {
      if (badge.dataset['mark']?.startsWith(label) !== true) continue;
      badge.scrollIntoView({ block: 'center', inline: 'center' });
      badge.focus({ preventScroll: true });
      return;
    }
  }
}
