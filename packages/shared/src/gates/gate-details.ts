/** Details of a gate that its workflow names for people: texts as they are, lists numbered. */
import type { JsonObject, JsonValue } from '../json.ts';
import type { Decision, Gate } from '../run.ts';
import { sanitizeText } from '../text/sanitize-text.ts';
import type { GateInfo } from '../workflows/workflow-info.ts';

export interface GateDetail {
  readonly key: string;
  readonly title: string;
  /** One text, which may have several lines, or a line for each item of a list. At least one. */
  readonly lines: readonly string[];
  readonly isList: boolean;
}

/** The details that clients show at a gate, in the workflow's order; those without a text are left out. No hidden characters. */
export function gateDetailsOf({ details }: Pick<Gate, 'details'>, info: Pick<GateInfo, 'details'>): GateDetail[] {
  return Object.entries(info.details ?? {}).flatMap(([key, title]) => {
    const value = Object.hasOwn(details, key) ? details[key] : undefined;
    const lines = detailLines(value);
    return lines.length === 0 ? [] : [{ key, title, lines, isList: Array.isArray(value) }];
  });
}

/**
 * The decision that clients offer first at an open gate: an approval or a retry. `undefined` where the gate has neither, and where a
 * detail speaks against it.
 */
export function firstDecisionAt(
  { against = [] }: Pick<GateInfo, 'against'>,
  { decisions, details }: Pick<Gate, 'decisions' | 'details'>,
): Decision | undefined {
  const isAgainst = against.some((key) => detailLines(details[key]).length > 0);
  return isAgainst ? undefined : (['approve', 'retry'] as const).find((decision) => decisions.includes(decision));
}

/**
 * A text as it is; for a list a line each, which of an object has its texts. A long text of a list loses its middle, except in a fact
 * `{ what, value }`, which is shown whole. Empty where there is nothing to show.
 */
export function detailLines(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value)) return [textOf(value)].filter((text) => text.trim() !== '');
  return value
    .map((item: JsonValue) => {
      if (isFact(item)) return [textOf(item['what']), textOf(item['value'])];
      const parts = typeof item === 'object' && item !== null ? Object.values(item).map(textOf) : [textOf(item)];
      // An agent's last word is often the error of its attempt as well.
      return [...new Set(parts.map(onOneLine))].filter((part) => part !== '');
    })
    .filter((parts) => parts.length > 0)
    .map((parts) => parts.join(' → '));
}

/** A fact that a person decides about, such as a command that will run. It is never shortened. */
function isFact(item: JsonValue): item is JsonObject {
  return typeof item === 'object' && item !== null && Object.keys(item).toSorted().join() === 'value,what';
}

const LONGEST_PART = 300;
/** The output of a command ends with what failed. */
const BEGINNING = 100;

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? sanitizeText(String(value)) : '';
}

function onOneLine(text: string): string {
  const line = text.trim().split(/\s+/).join(' ');
  if (line.length <= LONGEST_PART) return line;
  // A word that is cut reads as another one; what has no spaces is cut all the same.
  const beginning = line.slice(0, BEGINNING).replace(/(?<=.{50}) \S{0,50}$/, '');
  const end = line.slice(BEGINNING - LONGEST_PART).replace(/^\S{0,50} (?=.{50})/, '');
  return `${beginning} … ${end}`;
}
