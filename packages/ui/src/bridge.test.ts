import { describe, expect, it } from 'vitest';
import { pathOf, RUN_TABS, type Screen, screenOf } from './bridge.ts';

describe('The address of a screen', () => {
  it.each<Screen>([
    { name: 'runs' },
    { name: 'launch' },
    { name: 'run', runId: 'r-1' },
    { name: 'run', runId: 'a/b?c#d' },
    ...RUN_TABS.filter((tab) => tab !== 'overview').map((tab): Screen => ({ name: 'run', runId: 'r-1', tab })),
    { name: 'run', runId: 'r-1', gate: 'r-1.12' },
    { name: 'run', runId: 'r-1', tab: 'events', event: 7 },
    { name: 'exploration', explorationId: 'x 1' },
    { name: 'roadmap' },
    { name: 'roadmap', projectId: 'shop-1' },
    { name: 'roadmap', projectId: 'shop-1', item: 'TECH-6.1' },
    { name: 'metrics' },
    { name: 'metrics', days: 7 },
    { name: 'metrics', days: 90, projectId: 'shop-1' },
    { name: 'metrics', days: 30, projectId: 'a/b' },
    { name: 'metrics', days: 30, workflow: 'own-flow' },
    { name: 'metrics', days: 7, projectId: 'shop-1', workflow: 'own-flow' },
  ])('leads back to it: %j', (screen) => {
    expect(screenOf(pathOf(screen))).toEqual(screen);
  });

  it.each(['/nowhere', '/runs', '/explorations/', '/runs//plan', '/%E0%A4%A', ''])(
    'is that of the list for %j',
    (path) => {
      expect(screenOf(path)).toEqual({ name: 'runs' });
    },
  );

  it('of a gate may name it as a whole; of an event names one that there can be', () => {
    expect(screenOf('/runs/r-1/gates/r-1.12')).toEqual({ name: 'run', runId: 'r-1', gate: 'r-1.12' });
    expect(screenOf('/runs/r-1/events/0')).toEqual({ name: 'run', runId: 'r-1', tab: 'events' });
    expect(screenOf('/runs/r-1/events/x')).toEqual({ name: 'run', runId: 'r-1', tab: 'events' });
  });

  it.each(['/metrics', '/metrics/', '/metrics/30', '/metrics/31', '/metrics/x/p-1'])(
    'shows the figures of a month for %j',
    (path) => {
      expect(screenOf(path)).toMatchObject({ name: 'metrics' });
      expect(pathOf(screenOf(path))).toBe('/metrics');
    },
  );

  it('keeps the tab of a document, and opens a run where there can be no tab of that name', () => {
    expect(screenOf('/runs/r-1/test-report')).toEqual({ name: 'run', runId: 'r-1', tab: 'test-report' });
    expect(screenOf('/runs/r-1/<nonsense>')).toEqual({ name: 'run', runId: 'r-1' });
  });
});
