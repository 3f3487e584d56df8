/** Differences between a recorded history and the one that is recorded now, in words. */
import { isDeepStrictEqual } from 'node:util';
import type { GoldenStep, History } from './history.ts';

/** How a step differs: what is named, and what it is of a step. */
const KINDS: Readonly<Record<string, (step: GoldenStep) => readonly string[]>> = {
  state: (step) => statesOf(step, 'state'),
  status: (step) => statesOf(step, 'status'),
  events: ({ in: [type], out = [] }) => [type, ...out.map(([emitted, payload]) => `${emitted} ${short(payload)}`)],
  activities: ({ start = [], end = [] }) => [
    ...start.map(([, src, input]) => `+${src} ${short(input)}`),
    ...end.map((key) => `-${key}`),
  ],
  timers: ({ arm = [], disarm = [] }) => [
    ...arm.map(([key, dueAt]) => `+${key} ${dueAt}`),
    ...disarm.map((key) => `-${key}`),
  ],
};

/** @returns one line for each kind of difference, at the first step that has it; none where both are the same */
export function changesBetween(before: History, now: History): readonly string[] {
  const changes = Object.entries(KINDS).flatMap(([kind, of]) => {
    const length = Math.max(before.steps.length, now.steps.length);
    for (let index = 0; index < length; index++) {
      const [was, is] = [before.steps[index], now.steps[index]].map((step) => (step === undefined ? [] : of(step)));
      if (!isDeepStrictEqual(was, is)) return [`${kind}: step ${index + 1}: ${listed(was, is)} → ${listed(is, was)}`];
    }
    return [];
  });
  if (changes.length > 0) return changes;
  if (before.ends.state !== now.ends.state) return ['state: data that no event shows'];
  if (before.ends.view !== now.ends.view) return ['view: what people are shown of it'];
  return isDeepStrictEqual(before, now) ? [] : ['form: how it is stored'];
}

/** A field of each state that the step leads to. */
function statesOf({ out = [] }: GoldenStep, field: 'state' | 'status'): readonly string[] {
  return out.flatMap(([type, payload]) =>
    type === 'STATE_CHANGED' && typeof payload === 'object' ? [JSON.stringify(payload[field])] : [],
  );
}

/** Lists the entries of a step that the other step lacks. */
function listed(step: readonly string[] = [], other: readonly string[] = []): string {
  return (
    step.filter((each) => !other.includes(each)).join(', ') || (step.length === 0 ? 'nothing' : 'in another order')
  );
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= 100 ? text : `${text.slice(0, 97)}…`;
}
