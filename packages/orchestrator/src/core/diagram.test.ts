import type { JsonValue, WorkflowEvent } from '@autonomous/shared';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import { createMermaidParser, type MermaidParser } from '../documents/plans/mermaid.ts';
import type { ParsedDiagram } from '@autonomous/shared/diagram';
import { aConfig, buildDefinition as build, BuildRun, outputs } from '../workflows/build/build.fixture.ts';
import { activitiesOf, diagramOf, diagramOfRun, pathOf, possibleEvents } from './diagram.ts';

let parser: MermaidParser;
beforeAll(() => {
  parser = createMermaidParser();
});
afterAll(() => parser.close());

/** The diagram as Mermaid itself reads it. */
async function read(mermaid: string): Promise<ParsedDiagram> {
  const parsed = await parser.parse(`\`\`\`mermaid\n${mermaid}\n\`\`\`\n`);
  if (!parsed.ok) throw new Error(`${parsed.message}\n${mermaid}`);
  const [diagram] = parsed.diagrams;
  if (!diagram) throw new Error('no diagram');
  return diagram;
}

const labels = (diagram: ParsedDiagram): string[] => diagram.nodes.map(({ label }) => label);
const lines = (diagram: ParsedDiagram): string[] =>
  diagram.edges.map(({ from, to, label }) => `${from} ${label} ${to}`);

function changes(...steps: readonly (readonly [type: string, payload: object, to: JsonValue])[]): WorkflowEvent[] {
  return steps.flatMap(([type, payload, state], index): WorkflowEvent[] => {
    const common = { id: '', position: 0, workflowRunId: 'r', timestamp: '2026-03-01T10:00:00.000Z' };
    const sequence = index * 2 + 1;
    return [
      { ...common, sequence, type, origin: 'input', payload: { ...payload } },
      { ...common, sequence: sequence + 1, type: 'STATE_CHANGED', origin: 'emitted', payload: { state } },
    ];
  });
}

const odd = {
  'names of every kind': createMachine({
    id: 'the "odd" one: --> {x}; %% #35; ::: 日本',
    initial: 'with space',
    states: {
      'with space': { on: { 'Event "quoted"; --> x': 'with_space', 'a:b': 'end' } },
      with_space: { on: { '#hash': '日本語', '%%{init: {}}%%': 'state "x" as y {' } },
      end: { on: { note: '[*]', always: 'constructor' } },
      日本語: { on: { '<b>': 'new\nline' } },
      'state "x" as y {': {},
      '[*]': {},
      constructor: {},
      'new\nline': { type: 'final' },
    },
  }),
  'parallel regions, deep history and final states': createMachine({
    id: 'm',
    initial: 'work',
    on: { STOP: '.stopped', AGAIN: '#m' },
    states: {
      work: {
        type: 'parallel',
        onDone: 'stopped',
        on: { RESET: '#m.work', PAUSE: 'paused' },
        states: {
          left: {
            initial: 'a',
            states: {
              a: { always: [{ guard: () => false, target: 'b' }], on: { GO: 'b', JUMP: '#m.work.right.d' } },
              b: { type: 'final' },
            },
          },
          right: { initial: 'c', states: { c: { after: { 1000: 'd' } }, d: { type: 'final' } } },
          alone: {},
          last: { type: 'history', history: 'deep' },
        },
      },
      paused: { on: { RESUME: 'work.last', '*': 'stopped', 'mouse.*': {} } },
      stopped: { type: 'final' },
    },
  }),
  'only itself': createMachine({}),
} as const;

describe('a diagram', () => {
  it('of the build workflow is what Mermaid reads, with every state once', async () => {
    const diagram = await read(diagramOf(build));
    const ids = diagram.nodes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(labels(diagram)).toEqual(expect.arrayContaining(['awaitingPlanApproval', 'any state', 'last (H*)']));
    expect(lines(diagram)).toEqual(
      expect.arrayContaining([
        'any_s_build RUN_CANCELLED s_build_cancelled',
        's_build_active_awaitingPlanApproval APPROVAL_GRANTED s_build_active_pushingPlan',
        's_build_active_planning_work_drafting error planner s_build_interrupted',
        's_build_active_planning_clock_running after planningTimeout s_build_interrupted',
      ]),
    );
  });

  it.each(Object.entries(odd))('of %s is what Mermaid reads', async (_name, machine: AnyStateMachine) => {
    const diagram = await read(diagramOf({ machine }));
    const ids = diagram.nodes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('shows names as they are', async () => {
    const diagram = await read(diagramOf({ machine: odd['names of every kind'] }));
    expect(labels(diagram)).toEqual(
      expect.arrayContaining([
        'with space',
        'with_space',
        '日本語',
        'state "x" as y {',
        '[*]',
        'constructor',
        'new line',
      ]),
    );
    expect(diagram.edges.map(({ label }) => label)).toEqual(
      expect.arrayContaining(['Event "quoted"; --> x', 'a:b', '#hash', '%%{init: {}}%%']),
    );
  });

  it('joins no state with one that it contains, which Mermaid cannot draw', () => {
    const text = diagramOf({ machine: odd['parallel regions, deep history and final states'] });
    for (const [, from = '', to = ''] of text.matchAll(/^ *(s_\w+) --> (s_\w+)/gm)) {
      if (from === to) continue;
      expect(to.startsWith(`${from}_`) || from.startsWith(`${to}_`), `${from} --> ${to}`).toBe(false);
    }
    expect(text).toContain('any_s_m_work --> s_m_work_left : RESET');
  });

  it('that would be larger than Mermaid takes is drawn with fewer levels, or says what it leaves out', async () => {
    const many = (count: number, inner: object) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`a state with a long name ${index}`, inner]));
    const deep = createMachine({
      initial: 'a state with a long name 0',
      states: many(30, { initial: 'a state with a long name 0', states: many(30, { on: { GO: {} } }) }),
    } as never);
    const shallow = diagramOf({ machine: deep });
    expect(shallow.length).toBeLessThan(45_000);
    expect((await read(shallow)).nodes.filter(({ label }) => label.startsWith('a state'))).toHaveLength(30);
    const wide = createMachine({ initial: 'a state with a long name 0', states: many(1_000, {}) } as never);
    const cut = diagramOf({ machine: wide });
    expect(cut.length).toBeLessThan(45_100);
    expect(cut).toMatch(/cut here: the machine has 1000 states/);
    await read(cut);
  });
});

describe('the diagram of a run', () => {
  it('marks where it is and where it was, and counts the transitions that it took', async () => {
    const run = BuildRun.start().toPlanGate();
    run.send('APPROVAL_REJECTED', { by: 'me', feedback: 'smaller' });
    run.done('planner', outputs.planner).done('commitPlan', outputs.commitPlan);
    const way = pathOf(build, run.events);
    const text = diagramOfRun(build, run.state.view?.state ?? null, way);
    await read(text);
    expect(text).toMatch(/^ {2}class s_build_active_awaitingPlanApproval current$/m);
    expect(text).toMatch(
      /^ {2}class s_build_active_planning_clock_running,.*s_build_active_planning_work_preparing visited$/m,
    );
    expect(text).toContain('s_build_active_planning_work_committing --> s_build_active_planGate : done commitPlan ×2');
    expect(text).toContain('s_build_active_planGate --> s_build_active_awaitingPlanApproval : always ×2');
    expect(text).toContain(
      's_build_active_awaitingPlanApproval --> s_build_active_planning_work_drafting : APPROVAL_REJECTED ×1',
    );
    expect(text).not.toMatch(/RUN_CANCELLED ×/);
  });

  it('marks every region of a parallel state, and takes what a deeper machine had for nothing', async () => {
    const machine = odd['parallel regions, deep history and final states'];
    const way = pathOf({ machine }, changes(['RUN_STARTED', {}, { work: { left: 'gone', right: 'c', alone: {} } }]));
    const text = diagramOfRun({ machine }, { work: { left: 'b', right: 'c', alone: {} } }, way);
    await read(text);
    expect(text).toMatch(/class s_m_work_alone,s_m_work_left_b,s_m_work_right_c current/);
    // Four regions, and one for what any state of them does.
    expect(text.match(/^ *--$/gm)).toHaveLength(4);
  });

  it('has the path with what caused each change, and of a long one the newest part', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { invoke: { id: 'x', src: 'x' }, after: { 50: 'b' }, on: { GO: 'b' } }, b: { on: { BACK: 'a' } } },
    });
    const events = changes(
      ['RUN_STARTED', {}, 'a'],
      ['ACTIVITY_COMPLETED', { activity: 'x' }, 'b'],
      ['BACK', {}, 'a'],
      ['TIMER_FIRED', { event: 'xstate.after.50.m.a' }, 'b'],
    );
    expect(
      pathOf({ machine }, events).path.map(({ sequence, event, from, to }) => [sequence, event, from, to]),
    ).toEqual([
      [2, 'RUN_STARTED', null, 'a'],
      [4, 'done x', 'a', 'b'],
      [6, 'BACK', 'b', 'a'],
      [8, 'after 50 ms', 'a', 'b'],
    ]);
    const long = pathOf({ machine }, changes(...Array.from({ length: 3_000 }, () => ['GO', {}, 'b'] as const)));
    expect([long.changes, long.path.length, long.path.at(-1)?.sequence]).toEqual([3_000, 500, 6_000]);
  });
});

describe('what can happen next', () => {
  const possible = (run: BuildRun) => {
    if (!run.view) throw new Error('no view');
    return possibleEvents(build, run.state, run.view);
  };

  it('at a gate are the signals of its decisions', () => {
    const { signals, timers, activities } = possible(BuildRun.start().toPlanGate());
    expect(signals).toEqual([
      { type: 'APPROVAL_GRANTED', decisions: ['approve'] },
      { type: 'APPROVAL_REJECTED', decisions: ['reject'] },
      { type: 'QUESTION_ASKED', decisions: ['ask'] },
      { type: 'BUDGET_CHANGED', decisions: [] },
      { type: 'MESSAGE_SENT', decisions: [] },
      { type: 'RUN_CANCELLED', decisions: [] },
    ]);
    expect([timers, activities]).toEqual([[], []]);
  });

  it('at work are its timers and activities', () => {
    const run = BuildRun.start();
    const { signals, timers, activities } = possible(run);
    expect(signals.map(({ type }) => type)).toEqual([
      'STAGE_EXTENDED',
      'BUDGET_CHANGED',
      'MESSAGE_SENT',
      'RUN_CANCELLED',
    ]);
    expect(timers).toEqual([{ event: 'after planningTimeout', dueAt: new Date(run.now + 600_000).toISOString() }]);
    expect(activities).toEqual([{ id: 'prepare', source: 'prepare', key: 'r/1/prepare' }]);
  });

  it('at the end is nothing, and while a run is quarantined its retry', () => {
    const run = BuildRun.start({ trustMode: { ...aConfig.trustMode, planning: 'auto' } }).toImplementation();
    if (!run.view) throw new Error('no view');
    const quarantined = possibleEvents(build, { ...run.state, parked: 'broken' }, run.view);
    expect(quarantined.signals.map(({ type }) => type)).toEqual(['RETRY_REQUESTED', 'RUN_CANCELLED']);
    run.send('RUN_CANCELLED', { by: 'me' });
    expect(possible(run)).toEqual({ signals: [], timers: [], activities: [] });
    expect(possibleEvents(build, null, run.view).signals).toEqual([]);
  });

  it('names every activity with its source', () => {
    expect(activitiesOf(build)).toEqual(expect.arrayContaining([{ id: 'planner', source: 'plan' }]));
  });
});
