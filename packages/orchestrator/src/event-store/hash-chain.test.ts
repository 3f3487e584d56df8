import { describe, expect, it } from 'vitest';
import {
  CHAIN_START,
  type ChainFault,
  ChainReader,
  type ChainStep,
  type ChainTip,
  linkStep,
  sha256,
} from './hash-chain.ts';

const RUN = 'r-1';
/** Events of the steps of every chain here: 1, 2 to 3, 4 to 6, … */
const sizes = (steps: number) => Array.from({ length: steps }, (_, step) => step + 1);

function aStep(previous: ChainTip, events: number): ChainStep {
  const payloads = Array.from({ length: events }, (_, event) =>
    JSON.stringify({ number: previous.sequence + event + 1 }),
  );
  const step = {
    sequence: previous.sequence + events,
    at: 1_772_366_400_000,
    events: payloads.map((payload, index) => ({
      type: 'NOTICE',
      origin: index === 0 ? (0 as const) : (1 as const),
      payload,
      payloadHash: sha256(payload),
      at: index === 1 ? 1_772_366_400_001 : 0,
    })),
  };
  return { ...step, hash: linkStep(previous.hash, RUN, step) };
}

function aChain(length: number): ChainStep[] {
  const steps: ChainStep[] = [];
  for (const events of sizes(length)) steps.push(aStep(steps.at(-1) ?? CHAIN_START, events));
  return steps;
}

function verify(steps: readonly ChainStep[], tip?: ChainTip, runId = RUN): ChainFault | null {
  const reader = new ChainReader(runId);
  for (const step of steps) {
    const fault = reader.next(step);
    if (fault !== null) return fault;
  }
  return tip === undefined ? null : reader.end(tip);
}

function tipOf(steps: readonly ChainStep[]): ChainTip {
  return steps.at(-1) ?? CHAIN_START;
}

function changeEvent(step: ChainStep, index: number, change: Partial<ChainStep['events'][number]>): ChainStep {
  return { ...step, events: step.events.map((event, at) => (at === index ? { ...event, ...change } : event)) };
}

describe('the hash chain', () => {
  it('holds for what was linked, the empty run included', () => {
    const steps = aChain(4);
    expect(verify(steps, tipOf(steps))).toBeNull();
    expect(verify([], CHAIN_START)).toBeNull();
  });

  it('holds from any step on whose predecessor is trusted', () => {
    const steps = aChain(4);
    const reader = new ChainReader(RUN, steps[1]);
    expect(steps.slice(2).map((step) => reader.next(step))).toEqual([null, null]);
    expect(reader.end(tipOf(steps))).toBeNull();
    expect(new ChainReader(RUN, steps[1]).next(steps[3] as ChainStep)).toMatchObject({ sequence: 4 });
  });

  it('names the event whose payload has a flipped byte', () => {
    const steps = aChain(3);
    const third = steps[2] as ChainStep;
    for (const [index, { payload }] of third.events.entries()) {
      const text = payload ?? '';
      for (let at = 0; at < text.length; at += 1) {
        const damaged = steps.with(2, changeEvent(third, index, { payload: flip(text, at) }));
        expect(verify(damaged), `${index} ${at}`).toMatchObject({ sequence: 4 + index });
      }
    }
  });

  it('notices a change to everything else of a step', () => {
    const steps = aChain(3);
    const third = steps[2] as ChainStep;
    const changes: readonly ChainStep[] = [
      { ...third, at: third.at + 1 },
      { ...third, hash: flip(third.hash, 5) },
      { ...third, events: third.events.toReversed() },
      ...third.events.flatMap((event, index) => [
        changeEvent(third, index, { type: 'NOTICF' }),
        changeEvent(third, index, { origin: event.origin === 0 ? 1 : 0 }),
        changeEvent(third, index, { at: event.at + 1 }),
        changeEvent(third, index, { payloadHash: flip(event.payloadHash, 7) }),
        changeEvent(third, index, { payload: null, payloadHash: flip(event.payloadHash, 7) }),
      ]),
    ];
    for (const changed of changes) {
      const fault = verify(steps.with(2, changed));
      expect(fault?.sequence).toBeGreaterThanOrEqual(4);
      expect(fault?.sequence).toBeLessThanOrEqual(6);
    }
    expect(verify(steps, undefined, 'r-2')).toMatchObject({ sequence: 1 });
  });

  it('notices what is missing, doubled, moved or cut off', () => {
    const steps = aChain(4);
    const [one, two, three, four] = steps as [ChainStep, ChainStep, ChainStep, ChainStep];
    expect(verify([one, three, four])).toEqual({ sequence: 2, message: 'event 2 is missing, 4 comes instead' });
    expect(verify([one, two, two, three])).toMatchObject({ sequence: 4 });
    expect(verify([two, one, three])).toMatchObject({ sequence: 1 });
    expect(verify([one, two], tipOf(steps))).toEqual({ sequence: 4, message: 'events 4 to 10 are missing' });
    expect(verify([one, two])).toBeNull();
    expect(verify(steps, tipOf(steps.slice(0, 3)))).toMatchObject({ sequence: 10 });
    const shorter = { ...three, events: three.events.slice(0, 2) };
    expect(verify([one, two, shorter])).toMatchObject({ sequence: 4 });
  });

  it('notices an end that was written anew', () => {
    const [one, two] = aChain(2) as [ChainStep, ChainStep];
    const payload = '{"text":"forged"}';
    const events = [{ type: 'NOTICE', origin: 0, payload, payloadHash: sha256(payload), at: 0 } as const];
    const step = { sequence: 2, at: two.at, events };
    const forged = { ...step, hash: linkStep(one.hash, RUN, step) };
    expect(verify([one, forged])).toBeNull();
    expect(verify([one, forged], { sequence: 2, hash: two.hash })).toMatchObject({ sequence: 2 });
  });

  it('holds without a payload that was erased', () => {
    const steps = aChain(3);
    const erased = steps.with(1, changeEvent(steps[1] as ChainStep, 1, { payload: null }));
    expect(verify(erased, tipOf(erased))).toBeNull();
  });
});

function flip(text: string, at: number): string {
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
}
