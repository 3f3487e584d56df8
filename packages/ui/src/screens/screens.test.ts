import { constraintsOf } from '@autonomous/shared/diagram';
import { describe, expect, it } from 'vitest';
import { agoText, durationText } from '@autonomous/shared/presentation';
import { constraintsIn } from './run/run-document.tsx';
import { stateName } from './statechart.tsx';
import { mergedLines } from './transcript.tsx';

describe('What a person reads', () => {
  const now = Date.parse('2030-01-10T12:00:00.000Z');

  it.each([
    ['2030-01-10T11:59:40.000Z', 'now'],
    ['2030-01-10T12:00:05.000Z', 'now'],
    ['2030-01-10T11:01:00.000Z', '59 min ago'],
    ['2030-01-10T03:30:00.000Z', '8 h ago'],
    ['2030-01-01T12:00:00.000Z', '9 d ago'],
    ['2029-06-01T12:00:00.000Z', '2029-06-01'],
    ['', ''],
  ])('of the time %j is %j', (at, text) => {
    expect(agoText(at, now)).toBe(text);
  });

  it.each([
    [0, '0.0 s'],
    [1_540, '1.5 s'],
    [59_400, '59 s'],
    [3_725_000, '1 h 2 min'],
    [200_000, '3 min 20 s'],
    [100 * 3_600_000, '4 d 4 h'],
  ])('of %d ms is %j', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it.each([
    ['planning', 'planning'],
    [{ implementation: 'implementing' }, 'implementation.implementing'],
    [{ implementation: { work: 'coding', clock: 'running' } }, 'implementation.work.coding + clock.running'],
    [{ done: {} }, 'done'],
    [null, '–'],
  ])('of the state %j is %j', (value, text) => {
    expect(stateName(value)).toBe(text);
  });

  it('of what is stored with a plan is what is known here, each thing once', () => {
    const stored = {
      requiredRoutes: ['/login', 7],
      dataEntities: ['SESSION'],
      validationRules: [
        { type: 'route_exists', route: '/login' },
        { type: 'conditional_branch', from: 'Known?', to: ['/a', '/b'] },
        { type: 'of a later version', x: 1 },
      ],
      ofALaterVersion: [1],
    };
    expect(constraintsOf(constraintsIn(stored))).toEqual([
      { kind: 'route', name: '/login' },
      { kind: 'entity', name: 'SESSION' },
      { kind: 'branch', name: 'Known? → /a, /b' },
    ]);
    expect(constraintsOf(constraintsIn(undefined))).toEqual([]);
  });
});

describe('The transcript', () => {
  const line = (at: string, text: string) => ({ at, activity: 'a', kind: 'text', text });

  it('is what is stored, then what was told live and is not stored yet', () => {
    const [one, two, three] = [line('1', 'one'), line('2', 'two'), line('3', 'three')];
    expect(mergedLines([one, two], [two, three])).toEqual([one, two, three]);
    expect(mergedLines([], [one])).toEqual([one]);
  });
});
