import { describe, expect, it } from 'vitest';
import type { fieldsText } from './event-text.ts';
import { eventTextFault, ownEventText } from './event-text.ts';

const events = {
  STEP_CHANGED: { text: 'Step {step} {status}[, retry {retryCount}][: {lastError}]' },
  STEP_STORED: { text: '{message}: commit {hash}' },
  STEP_COUNTED: { text: '' },
};
const lineOf = (type: string, payload: Parameters<typeof fieldsText>[0]) => ownEventText({ type, payload }, { events });

describe('The line of an event of a workflow', () => {
  it('is the declared text with the fields of the event; parts whose field is empty are left out', () => {
    const changed = { step: 2, status: 'verifying', retryCount: 0, lastError: null };
    expect(lineOf('STEP_CHANGED', changed)).toBe('Step 2 verifying');
    expect(lineOf('STEP_CHANGED', { ...changed, retryCount: 1, lastError: 'exit\n code 1' })).toBe(
      'Step 2 verifying, retry 1: exit code 1',
    );
    expect(lineOf('STEP_CHANGED', {})).toBe('Step');
  });

  it('has a field of 0 outside of brackets, short hashes, and nothing that steers a terminal', () => {
    expect(lineOf('STEP_CHANGED', { step: 0, status: 'done' })).toBe('Step 0 done');
    expect(lineOf('STEP_STORED', { message: 'a\u001B[2Jb', hash: 'c0ffee'.padEnd(40, '0') })).toBe(
      'ab: commit c0ffee0000',
    );
    expect(lineOf('STEP_CHANGED', { step: 1, status: '[x {step}]', lastError: 'y'.repeat(500) })).toMatch(
      /^Step 1 \[x \{step\}\]: y+…$/,
    );
  });

  it('does not exist for an event that is declared not to be shown', () => {
    expect(lineOf('STEP_COUNTED', { step: 1 })).toBeNull();
  });

  it('is its name and its fields where nothing is declared, never JSON', () => {
    const payload = { fileName: 'a.txt', cents: 500, late: true, none: null, lines: [{ a: 1 }], tags: ['x', 'y'] };
    expect(lineOf('INVOICE_WRITTEN', { ...payload, text: 'z'.repeat(100) })).toBe(
      `Invoice written: file name a.txt, cents 500, late yes, tags x, y, text ${'z'.repeat(80)}…`,
    );
    expect(ownEventText({ type: 'toString', payload: {} }, { events })).toBe('Tostring');
    expect(ownEventText({ type: 'DONE', payload: {} }, undefined)).toBe('Done');
  });
});

it('A declared text with more than one line or a bracket without its other half is faulty', () => {
  expect(eventTextFault('Step {step}[: {lastError}]')).toBeNull();
  expect(eventTextFault('')).toBeNull();
  expect(eventTextFault('a\nb')).toMatch(/more than one line/);
  for (const text of ['Step {step', '[a [b]]', 'Step {}', ']']) expect(eventTextFault(text)).toMatch(/bracket/);
});
