/** Details of a gate that its workflow names: texts as they are, lists numbered. */
import type { Gate, GateInfo } from '@autonomous/shared';
import { gateDetailsOf } from '@autonomous/shared/presentation';
import { Outside } from '../../components/outside.tsx';

/** A line that is a web address and nothing else. */
const ADDRESS = /^https?:\/\/\S+$/;

export function GateDetails({ gate, info }: { readonly gate: Gate; readonly info: GateInfo }) {
  return gateDetailsOf(gate, info).map(({ key, title, lines, isList }) => (
    <section key={key} className="details" aria-label={title}>
      <h3>{title}</h3>
      {isList ? (
        <ol>
          {lines.map((line, index) => (
            <li key={`${index} ${line}`}>{line}</li>
          ))}
        </ol>
      ) : ADDRESS.test(lines[0] ?? '') ? (
        <p>
          <Outside href={lines[0] ?? ''}>{lines[0]}</Outside>
        </p>
      ) : (
        <pre className="said" tabIndex={0} aria-label={title}>
          {lines[0]}
        </pre>
      )}
    </section>
  ));
}
