import type { ProjectRoadmap, RoadmapBoardItem, RoadmapChoice, RoadmapRun, WorkflowSummary } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import { type Known, shownIn } from '../../hosts/shown.fixture.ts';
import { runsByItem } from '../../roadmap-board.ts';
import { type BoardFacts, RoadmapCard } from './roadmap-card.tsx';
import { ItemDetails } from './roadmap-item.tsx';

const ITEM: RoadmapBoardItem = {
  id: 'search',
  title: 'Search',
  type: 'feature',
  moscow: 'must-have',
  timeHorizon: 'now',
  health: 'at-risk',
  status: 'in-progress',
  dependencies: ['index', 'gone'],
  workflowState: { phase: 'testing', tasksTotal: 4, tasksCompleted: 1, blockers: ['a', 'b', 'c'] },
  canStart: true,
};
const INDEX: RoadmapBoardItem = { ...ITEM, id: 'index', title: 'Index', status: 'completed', dependencies: [] };
const RUN: RoadmapRun = { item: 'search', runId: 'r-1', status: 'awaiting_approval' };
const choice: RoadmapChoice = {
  selected: null,
  inProgress: [{ id: 'search', title: 'Search', rationale: 'In progress: go on with it.' }],
  eligible: [],
  others: [{ id: 'index', title: 'Index', rationale: 'Waits for something.' }],
  circles: [],
  unknownDependencies: [],
  pullIns: [],
};
const workflow = { name: 'roadmap-item', title: 'Roadmap item' } as WorkflowSummary; // Nothing else of it is looked at.

function factsOf(items: readonly RoadmapBoardItem[], runs: readonly RoadmapRun[] = []): BoardFacts {
  return {
    projectId: 'p-1',
    byId: new Map(items.map((item) => [item.id, item])),
    runs: runsByItem(runs),
    selected: null,
  };
}

const textOf = (html: string): string => html.replaceAll(/<[^>]{1,500}>/g, ' ').replaceAll(/\s+/g, ' ');

describe('A card of the board', () => {
  const cardOf = (item: RoadmapBoardItem, runs: readonly RoadmapRun[] = [], known: Known = {}): string =>
    shownIn(known, createElement(RoadmapCard, { item, facts: factsOf([ITEM, INDEX], runs) }));

  it('has health, standing, tasks, blockers and dependencies, those that are waited for first', () => {
    const text = textOf(cardOf(ITEM));
    for (const part of ['At risk', 'In progress: testing', '1 of 4 tasks', 'a b and 1 more'])
      expect(text).toContain(part);
    expect(text).toContain('Needs “gone”, not in the roadmap Needs “Index”, completed');
  });

  it('links to the live run, whose status is that of the feed as soon as it is known', () => {
    expect(textOf(cardOf(ITEM, [RUN]))).toContain('Awaiting approval : the run of Search');
    const html = cardOf(ITEM, [RUN], { runs: [aRun({ id: 'r-1', status: 'running' })] });
    expect(html).toContain('href="/runs/r-1"');
    expect(textOf(html)).toContain('Running : the run of Search');
  });

  it('of a completed item has no health, blockers or dependencies', () => {
    const text = textOf(cardOf({ ...ITEM, status: 'completed' }));
    for (const part of ['At risk', 'Needs', ' a b ']) expect(text).not.toContain(part);
  });
});

describe('The details of an item', () => {
  const roadmap: ProjectRoadmap = {
    projectId: 'p-1',
    path: 'roadmap/roadmap.json',
    branch: 'main',
    commit: 'c',
    notFetched: null,
    workflow: 'roadmap-item',
    content: { kind: 'items', items: [ITEM, INDEX], choice },
    runs: [],
  };
  const detailsOf = (
    item: RoadmapBoardItem,
    runs: readonly RoadmapRun[] = [],
    known: Known = { workflows: [workflow] },
  ) => {
    const items = [ITEM, INDEX];
    const facts = factsOf(items, runs);
    const props = { id: item.id, item, items, choice, roadmap, facts, onClose: () => undefined };
    return textOf(shownIn(known, createElement(ItemDetails, props)));
  };

  it('ask what a person approves, for an item that can be started', () => {
    const text = detailsOf(ITEM);
    expect(text).toContain('What do you want to approve yourself?');
    expect(text).toContain('Go on with this item');
    expect(text).toContain('In progress: go on with it.');
  });

  it('offer no second run beside a live one, and none for an item that cannot be started', () => {
    expect(detailsOf(ITEM, [RUN])).not.toContain('What do you want to approve');
    const waiting = detailsOf({ ...INDEX, status: 'not-started', canStart: false });
    expect(waiting).not.toContain('What do you want to approve');
    expect(waiting).toContain('Why it cannot be started now Waits for something.');
  });

  it('say that the server does not have the workflow', () => {
    const text = detailsOf(ITEM, [], { workflows: [] });
    expect(text).toContain('This server does not have the workflow roadmap-item');
    expect(text).not.toContain('What do you want to approve');
  });
});
