import { describe, expect, it } from 'vitest';
import { type ImplementerInput, implementer } from '../workflows/build/roles/implementer.ts';
import { planner } from '../workflows/build/roles/planner.ts';
import { assemblePrompt } from './prompt-budget.ts';
import { fixedPart } from './prompt-parts.ts';
import { estimateTokens } from './tokens.ts';

const long = (words: string, characters: number) => words.repeat(Math.ceil(characters / words.length));

const EVERYTHING: ImplementerInput = {
  call: 3,
  request: 'Add a greeting',
  plan: long('Greet whoever comes. ', 6_000),
  constraints: { requiredRoutes: ['/hello'] },
  testCommand: 'npm test',
  memory: long('We use tabs. ', 6_000),
  files: Array.from({ length: 500 }, (_, index) => `src/file-${index}.ts`),
  guides: [{ path: 'AGENTS.md', text: long('Write tests first. ', 6_000) }],
  skills: [{ name: 'release', description: 'How we release', path: '.claude/skills/release/SKILL.md' }],
  history: Array.from({ length: 100 }, (_, index) => `- event ${index}`),
  notes: [
    { kind: 'answer', text: 'The first answer' },
    { kind: 'feedback', text: 'The last feedback' },
  ],
};

const composed = (budgetTokens: number, input = EVERYTHING) => assemblePrompt(implementer.parts(input), budgetTokens);

describe('a prompt', () => {
  it('holds everything where there is room, and says nothing of what is missing', () => {
    const { prompt, report } = composed(60_000);
    expect(report.leftOut).toEqual([]);
    expect(report.parts.every(({ cut }) => !cut)).toBe(true);
    expect(report.parts.map(({ name }) => name)).toEqual([
      'call',
      'request',
      'plan',
      'constraints',
      'AGENTS.md',
      'skills',
      'memory',
      'files',
      'test command',
      'history',
      'notes',
      'note 1, answer',
      'note 2, feedback',
      'task',
    ]);
    expect(prompt).not.toContain('no room');
    expect(prompt).toContain('- release (.claude/skills/release/SKILL.md): How we release');
    expect(report.tokens).toBe(estimateTokens(prompt));
  });

  it.each([8_000, 5_000, 3_000, 1_500])(
    'of at most %i tokens keeps what counts most and names what is missing',
    (budget) => {
      const { prompt, report } = composed(budget);
      expect(estimateTokens(prompt)).toBeLessThanOrEqual(budget);
      expect(prompt).toContain('Add a greeting');
      expect(prompt).toContain('The last feedback');
      expect(prompt.endsWith('Carry out the plan and call "finish".')).toBe(true);
      const missing = [...report.leftOut, ...report.parts.filter(({ cut }) => cut)].map(({ name }) => name);
      expect(missing).not.toEqual([]);
      const said = prompt.split('\n').find((line) => line.startsWith('There was no room'));
      for (const name of missing) expect(said).toContain(name);
    },
  );

  it('gives up the history before the files, these before the memory, and that before the plan', () => {
    const gone = [7_500, 6_500, 4_500, 2_200].map((budget) => composed(budget).report.leftOut.map(({ name }) => name));
    expect(gone[0]).not.toContain('files');
    for (const [less, more] of [
      [0, 1],
      [1, 2],
      [2, 3],
    ] as const)
      for (const name of gone[less] ?? []) expect(gone[more]).toContain(name);
    expect(gone.at(-1)).toEqual(expect.arrayContaining(['history', 'files', 'memory']));
    expect(gone.at(-1)).not.toContain('plan');
  });

  it('keeps the newest notes where there are too many', () => {
    const notes = Array.from({ length: 40 }, (_, index) => ({
      kind: 'message' as const,
      text: long(`Message ${index}. `, 1_000),
    }));
    const { prompt, report } = assemblePrompt(planner.parts({ call: 1, request: 'x', memory: null, notes }), 4_000);
    expect(prompt).toContain('Message 39.');
    expect(prompt).toContain('Message 38.');
    expect(prompt).not.toContain('Message 0.');
    expect(report.leftOut[0]?.name).toBe('note 1, message');
  });

  it('counts what is not ASCII as dearer, so that a budget holds for every language', () => {
    const { prompt, report } = composed(4_000, { ...EVERYTHING, plan: long('Поприветствуй 每个人。 ', 20_000) });
    expect(estimateTokens(prompt)).toBeLessThanOrEqual(4_000);
    expect(report.parts.find(({ name }) => name === 'plan')?.cut).toBe(true);
  });

  it('counts the tokens that go elsewhere', () => {
    const parts = [fixedPart('call', 'Call: planner 1'), fixedPart('task', 'Go.')];
    expect(assemblePrompt(parts, 1_000, 400).report.tokens).toBe(400 + estimateTokens('Call: planner 1\n\nGo.'));
  });
});
