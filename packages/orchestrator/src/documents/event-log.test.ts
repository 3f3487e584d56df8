/** The lines of `events.jsonl`: bytes, chain, and how they are read again. */
import type { JsonObject, WorkflowEvent } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { type ChainedStep, eventLineSchema, readEventLog, renderEventLog, withChain } from './event-log.ts';

const hash = (digit: string): string => digit.repeat(64);
const STEPS: readonly ChainedStep[] = [
  { first: 1, last: 2, hash: hash('a'), payloadHashes: [hash('1'), hash('2')], context: { count: 'abc' } },
  { first: 3, last: 3, hash: hash('b'), payloadHashes: [hash('3')], context: null },
];
const anEvent = (sequence: number, payload: JsonObject, position = sequence): WorkflowEvent => ({
  id: `r1.${sequence}`,
  position,
  workflowRunId: 'r1',
  sequence,
  type: 'NOTICE',
  origin: sequence === 2 ? 'emitted' : 'input',
  payload,
  timestamp: '2026-02-21T10:00:00.000Z',
});
const EVENTS = [anEvent(1, { b: 1, a: 'x' }), anEvent(2, { message: 'a\nb\r\n{"sequence":2}\u2028' }), anEvent(3, {})];
// oxlint-disable-next-line typescript/no-explicit-any -- lines of any shape
const parsed = (text: string): any[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('events.jsonl', () => {
  it('has the same bytes whatever the place in the database, with payloads as they are stored', () => {
    const [first] = EVENTS;
    const log = renderEventLog(first ? [first] : []);
    expect(log).toBe(
      '{"sequence":1,"type":"NOTICE","origin":"input","timestamp":"2026-02-21T10:00:00.000Z","id":"r1.1","workflowRunId":"r1","payload":{"b":1,"a":"x"}}\n',
    );
    expect(renderEventLog([anEvent(1, { b: 1, a: 'x' }, 900)])).toBe(log);
    expect(renderEventLog([])).toBe('');
  });

  it('has one line for each event, which names its step and hashes, whatever its texts hold', () => {
    const log = renderEventLog(EVENTS);
    const lines = parsed(withChain(log, log, STEPS));
    expect(lines.map(({ payloadHash, step }) => [payloadHash, step])).toEqual([
      [hash('1'), { first: 1, last: 2, hash: hash('a') }],
      [hash('2'), { first: 1, last: 2, hash: hash('a'), context: { count: 'abc' } }],
      [hash('3'), { first: 3, last: 3, hash: hash('b') }],
    ]);
    expect(lines[1].payload.message).toBe('a\nb\r\n{"sequence":2}\u2028');
    for (const line of lines) expect(eventLineSchema.parse(line)).toEqual(line);
    expect(() => eventLineSchema.parse({ ...lines[0], other: 1 })).toThrow(/other/);
  });

  it('says of a line whose payload is not the one that was hashed why that is so', () => {
    const log = renderEventLog(EVENTS);
    const steps = STEPS.map((step) =>
      step.first === 3 ? { ...step, withheld: new Map([[3, 'erased' as const]]) } : step,
    );
    const chained = withChain(log, log.replace('"x"', '"[secret: token]"'), steps);
    expect(parsed(chained).map(({ withheld }) => withheld)).toEqual(['redacted', undefined, 'erased']);
    const read = readEventLog(chained, 'r1');
    expect(read.ok && read.lines.map(({ withheld }) => withheld)).toEqual(['redacted', null, 'erased']);
  });

  it('leaves out events that came after the steps were read, and the other way round', () => {
    const log = renderEventLog(EVENTS.slice(0, 2));
    expect(parsed(withChain(log, log, STEPS))).toHaveLength(2);
    expect(parsed(withChain(renderEventLog(EVENTS), renderEventLog(EVENTS), STEPS.slice(0, 1)))).toHaveLength(2);
  });

  it('is read with its chain and with keys of later versions, and not without its chain', () => {
    const log = renderEventLog(EVENTS);
    const read = readEventLog(withChain(log, log, STEPS).replaceAll('"step":{', '"later":1,"step":{"later":2,'), 'r1');
    expect(read.ok && read.lines[1]).toMatchObject({
      payloadHash: hash('2'),
      step: { first: 1, last: 2, hash: hash('a'), context: { count: 'abc' } },
    });
    expect(readEventLog(log, 'r1')).toMatchObject({
      ok: false,
      line: 1,
      message: expect.stringContaining('payloadHash'),
    });
  });

  it.each([
    ['cut within a line', (log: string) => log.slice(0, -20), 3, 'is cut off'],
    ['with a line that is no JSON', (log: string) => log.replace('{"sequence":2', '{sequence:2'), 2, 'is not JSON'],
    [
      'without a line',
      (log: string) => log.split('\n').toSpliced(1, 1).join('\n'),
      2,
      'is event 3, where event 2 belongs',
    ],
    [
      'of another run',
      (log: string) => log.replaceAll('"workflowRunId":"r1"', '"workflowRunId":"r2"'),
      1,
      'is of run r2',
    ],
    [
      'with another origin',
      (log: string) => log.replace('"emitted"', '"dreamt"'),
      2,
      'is not a line of an event log: origin',
    ],
  ])('%s is refused with the line', (_how, damage, line, message) => {
    const log = renderEventLog(EVENTS);
    expect(readEventLog(damage(withChain(log, log, STEPS)), 'r1')).toMatchObject({
      ok: false,
      line,
      message: expect.stringContaining(message),
    });
  });
});
