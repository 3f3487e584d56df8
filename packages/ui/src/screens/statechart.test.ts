import { createElement } from 'react';
import { expect, it } from 'vitest';
import { shownIn } from '../hosts/shown.fixture.ts';
import { Moves } from './statechart.tsx';

const step = (sequence: number, to: string) => ({
  sequence,
  event: 'APPROVED',
  from: null,
  to,
  at: '2030-01-01T00:00:00.000Z',
});
const shown = (signals: readonly { readonly type: string; readonly decisions: readonly [] }[]): string => {
  const possible = { signals, timers: [], activities: [] };
  const chart = { possible, path: [step(8, 'planning'), step(9, 'done')], changes: 7 };
  return shownIn({}, createElement(Moves, { runId: 'r', chart, byKey: new Map() }));
};

it('numbers the path taken by the changes of state, the newest first', () => {
  const html = shown([]);
  expect(html).toContain('<ol class="path" reversed="" start="7">');
  expect(html.indexOf('done')).toBeLessThan(html.indexOf('planning'));
});

it('has no heading for what can happen once nothing can', () => {
  expect(shown([{ type: 'CANCELLED', decisions: [] }])).toContain('Can happen now');
  expect(shown([])).not.toContain('Can happen now');
});
