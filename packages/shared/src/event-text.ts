/**
 * Lines of a timeline for events of a workflow's own. The workflow declares a text with the fields of the event; an event without
 * one is shown by its name and its fields.
 */
import type { JsonObject, JsonValue } from './json.ts';
import { sanitizeText } from './text/sanitize-text.ts';
import { type EventInfo, titleOfName, type WorkflowInfo } from './workflows/workflow-info.ts';

/** The part of an event that its line is made of. */
interface Told {
  readonly type: string;
  readonly payload: JsonObject;
}

/**
 * The line of an event: its declared text, else its name and short fields. One line, without control characters.
 * @returns `null` for an event that the workflow declares not to be shown
 */
export function ownEventText(event: Told, workflow: Pick<WorkflowInfo, 'events'> | undefined): string | null {
  const declared = eventInfoOf(workflow, event.type);
  if (declared !== undefined) return filledText(declared.text, event.payload) || null;
  const fields = fieldsText(event.payload);
  const name = eventName(event.type);
  return fields === '' ? name : `${name}: ${fields}`;
}

/** `INVOICE_WRITTEN` as `Invoice written`. */
export function eventName(type: string): string {
  return titleOfName(type.toLowerCase());
}

/** The declared text and tone of an event; `undefined` if its workflow declares none. */
export function eventInfoOf(workflow: Pick<WorkflowInfo, 'events'> | undefined, type: string): EventInfo | undefined {
  const events = workflow?.events;
  return events !== undefined && Object.hasOwn(events, type) ? events[type] : undefined;
}

/** Fields of a payload in one line: `phase 2, status implementing`. Long texts are cut; objects and what is empty are left out. */
export function fieldsText(payload: JsonObject): string {
  return Object.entries(payload)
    .flatMap(([name, value]) => {
      const text = typeof value === 'number' ? String(value) : textOf(value);
      return text === '' ? [] : [`${wordsOfName(name)} ${shortened(text, LONGEST_FIELD)}`];
    })
    .join(', ');
}

/** Returns the fault of a declared text; `null` when it can be filled in. */
export function eventTextFault(text: string): string | null {
  if (/[\r\n]/.test(text)) return 'has more than one line';
  const rest = text.replaceAll(SECTION, '').replaceAll(FIELD, '');
  return /[[\]{}]/.test(rest) ? 'has a bracket without its other half, or one inside another' : null;
}

/** `[, retry {retryCount}]`: left out where a field in it is empty. */
const SECTION = /\[([^[\]]*)\]/g;
const FIELD = /\{([A-Za-z_]\w*)\}/g;
const LONGEST_FIELD = 80;
const LONGEST_LINE = 300;
const HASH_LENGTH = 10;

/** Fills a declared text in with fields of an object. One line of at most 300 characters, without control characters. */
export function filledText(text: string, payload: JsonObject): string {
  const value = (name: string): string => (Object.hasOwn(payload, name) ? textOf(payload[name]) : '');
  const fill = (part: string): string => part.replaceAll(FIELD, (_all, name: string) => value(name));
  const isEmpty = (part: string): boolean => [...part.matchAll(FIELD)].some(([, name = '']) => isNothing(value(name)));
  // Texts of a payload may have brackets: the sections are chosen first, then all fields are filled in at once.
  const chosen = text.replaceAll(SECTION, (_all, part: string) => (isEmpty(part) ? '' : part));
  return shortened(fill(chosen).replaceAll(/\s+/g, ' ').trim(), LONGEST_LINE);
}

const isNothing = (text: string): boolean => text === '' || text === '0';

/** A value in words; empty for an object, a list of them, `null` and `false`. A hash is shortened. */
function textOf(value: JsonValue | undefined): string {
  switch (typeof value) {
    case 'string': {
      const line = sanitizeText(value).replaceAll(/\s+/g, ' ').trim();
      return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(line) ? line.slice(0, HASH_LENGTH) : line;
    }
    case 'number':
      return String(value);
    case 'boolean':
      return value ? 'yes' : '';
    default:
      if (!Array.isArray(value)) return '';
      return value.every((each) => typeof each === 'string' || typeof each === 'number')
        ? value.map((each) => textOf(each)).join(', ')
        : '';
  }
}

/** `retryCount` and `retry_count` as `retry count`. */
function wordsOfName(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase()
    .trim();
}

/** A text of at most `most` characters, and an ellipsis in place of the rest. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
