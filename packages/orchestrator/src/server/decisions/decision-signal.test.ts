import type { Gate, GateDecision, Question } from '@autonomous/shared';
import { aGate } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { minutesOf, signalOf } from './decision-signal.ts';
import type { Uploads } from './uploads.ts';

const UPLOADS = {
  get: (id: string) => Promise.resolve(id === 'u-1' ? { id, name: 'a.txt', size: 1 } : null),
} as unknown as Uploads;
const FIXABLE: Partial<Gate> = { kind: 'fix', decisions: ['accept', 'retry', 'close'] };
const TAKE = { runId: 'r-2', commit: 'c', paths: ['a'], andThen: 'implement' } as const;

describe('a decision', () => {
  it.each<[GateDecision, Partial<Gate>, string, object]>([
    [{ decision: 'approve', artifactHash: 'a', notes: 'b' }, {}, 'APPROVAL_GRANTED', { artifactHash: 'a', notes: 'b' }],
    [{ decision: 'reject', feedback: 'No.' }, {}, 'APPROVAL_REJECTED', { feedback: 'No.' }],
    [{ decision: 'ignore' }, {}, 'CLARIFICATION_IGNORED', {}],
    [{ decision: 'ask', question: 'Why?' }, {}, 'QUESTION_ASKED', { question: 'Why?' }],
    [{ decision: 'retry', notes: 'Louder.' }, {}, 'RETRY_REQUESTED', { notes: 'Louder.' }],
    [{ decision: 'retry', notes: 'Louder.' }, { ...FIXABLE, kind: 'pause' }, 'RETRY_REQUESTED', { notes: 'Louder.' }],
    [{ decision: 'retry' }, { ...FIXABLE, decisions: ['retry'] }, 'RETRY_REQUESTED', {}],
    [
      { decision: 'retry', notes: 'Louder.' },
      FIXABLE,
      'FIX_DECIDED',
      { decision: 'retry', reason: 'Louder.', attempt: 1 },
    ],
    [{ decision: 'retry' }, { ...FIXABLE, details: { attempts: 2 } }, 'FIX_DECIDED', { decision: 'retry', attempt: 3 }],
    [
      { decision: 'accept', reason: 'Fine.' },
      FIXABLE,
      'FIX_DECIDED',
      { decision: 'accept', reason: 'Fine.', accepted: [] },
    ],
    [
      { decision: 'accept', reason: 'Fine.' },
      { ...FIXABLE, details: { accepts: ['a'] } },
      'FIX_DECIDED',
      { decision: 'accept', reason: 'Fine.', accepted: ['a'] },
    ],
    [
      { decision: 'accept', reason: 'Fine.', artifactHash: 'h' },
      { kind: 'pause' },
      'RETRY_REQUESTED',
      { notes: 'Fine.', accepts: 'h' },
    ],
    [{ decision: 'close', reason: 'Done.' }, FIXABLE, 'FIX_DECIDED', { decision: 'close', reason: 'Done.' }],
  ])('is a signal about its gate: %j at %j', async (decision, gate, type, payload) => {
    expect(await signalAt(gate, decision)).toEqual({ type, payload: { gateId: 'r-1.4', ...payload } });
  });

  it('about the time of a stage is about no gate', async () => {
    expect(await signalAt({}, { decision: 'extend', minutes: 5 })).toEqual({
      type: 'STAGE_EXTENDED',
      payload: { minutes: 5 },
    });
    expect(() => minutesOf({ decision: 'extend' })).toThrow("'extend' needs 'minutes'.");
  });

  it('to retry at a result is a retry where the workflow declares no other way', async () => {
    const signal = await signalOf({ decision: 'retry' }, aGate(FIXABLE), UPLOADS, undefined, {});
    expect(signal.type).toBe('RETRY_REQUESTED');
  });

  it.each<[GateDecision, Partial<Gate>]>([
    [{ decision: 'reject', feedback: '' }, {}],
    [{ decision: 'retry' }, FIXABLE],
  ])('that takes files says which, where the person has no words: %j', async (decision, gate) => {
    const { payload } = await signalOf(decision, aGate(gate), UPLOADS, TAKE, { FIX_DECIDED: {} });
    expect(payload).toMatchObject({ take: TAKE });
    expect(payload['feedback'] ?? payload['reason']).toContain('r-2');
    const words = { ...decision, feedback: 'Own.', notes: 'Own.' };
    const said = await signalOf(words, aGate(gate), UPLOADS, TAKE, { FIX_DECIDED: {} });
    expect(said.payload['feedback'] ?? said.payload['reason']).toBe('Own.');
  });

  it.each<[GateDecision, Partial<Gate>, string]>([
    [{ decision: 'reject' }, {}, "'reject' needs 'feedback'."],
    [{ decision: 'reject', feedback: ' ' }, {}, "'reject' needs 'feedback'."],
    [{ decision: 'ask' }, {}, "'ask' needs 'question'."],
    [{ decision: 'accept' }, FIXABLE, "'accept' needs 'reason'."],
    [{ decision: 'accept', reason: 'Fine.' }, { kind: 'pause' }, "'accept' needs 'artifactHash'."],
    [{ decision: 'close' }, FIXABLE, "'close' needs 'reason'."],
    [{ decision: 'extend' }, {}, "'extend' needs 'minutes'."],
  ])('without what it needs is refused: %j', async (decision, gate, message) => {
    await expect(signalAt(gate, decision)).rejects.toThrow(message);
  });
});

describe('an answer', () => {
  const CHOICE = { responseType: 'single_choice', options: ['a', 'b'] } as const;
  const CHOICES = { responseType: 'multiple_choice', options: ['a', 'b'] } as const;
  const FILES = { responseType: 'file_upload' } as const;

  it.each<[GateDecision['response'], Partial<Question> | undefined, object]>([
    ['Yes.', undefined, { response: 'Yes.' }],
    [[' One. ', '', 'Two.'], { responseType: 'text' }, { response: 'One.\nTwo.' }],
    ['b', CHOICE, { response: 'b', choices: ['b'] }],
    [['a', 'b'], CHOICES, { response: 'a, b', choices: ['a', 'b'] }],
    [['u-1'], FILES, { response: 'a.txt', uploads: [{ id: 'u-1', name: 'a.txt' }] }],
  ])('is what its question wants: %j to %j', async (response, question, payload) => {
    expect(await answered(response, question)).toEqual({
      type: 'CLARIFICATION_ANSWERED',
      payload: { gateId: 'r-1.4', ...payload },
    });
  });

  it.each<[GateDecision['response'], Partial<Question> | undefined, string]>([
    [undefined, undefined, 'The answer is empty.'],
    [[' '], CHOICE, 'The answer is empty.'],
    [['a', 'b'], CHOICE, 'The question takes exactly one of its options.'],
    ['c', CHOICE, "'c' is not an option; the options are 'a', 'b'."],
    [['a', 'c', 'd'], CHOICES, "'c', 'd' is not an option; the options are 'a', 'b'."],
    ['u-2', FILES, "There is no upload 'u-2'."],
  ])('of another form is refused: %j to %j', async (response, question, message) => {
    await expect(answered(response, question)).rejects.toThrow(message);
  });

  function answered(response: GateDecision['response'], question: Partial<Question> | undefined) {
    const gate =
      question === undefined ? {} : { question: { question: 'Which?', context: '', ...question } as Question };
    return signalAt(gate, response === undefined ? { decision: 'answer' } : { decision: 'answer', response });
  }
});

function signalAt(gate: Partial<Gate>, decision: GateDecision) {
  return signalOf(decision, aGate(gate), UPLOADS, undefined, { FIX_DECIDED: {} });
}
