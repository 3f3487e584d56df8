import { describe, expect, it } from 'vitest';
import { CHAIN_START, type ChainLink, linkEvent, verifyChain } from './hash-chain.ts';

function aChain(length: number): readonly ChainLink[] {
  const links: ChainLink[] = [];
  for (let sequence = 1; sequence <= length; sequence += 1) {
    const event = {
      workflowRunId: 'r-1',
      sequence,
      type: 'NOTICE',
      origin: 'input',
      timestamp: '2026-03-01T12:00:00.000Z',
    } as const;
    links.push(
      linkEvent(links.at(-1)?.hash ?? CHAIN_START.hash, {
        ...event,
        payload: JSON.stringify({ text: `number ${sequence}` }),
      }),
    );
  }
  return links;
}

const tipOf = (links: readonly ChainLink[]) => ({ sequence: links.length, hash: links.at(-1)?.hash ?? '' });

describe('the hash chain', () => {
  it('holds for what was linked, the empty run included', () => {
    const links = aChain(5);
    expect(verifyChain(links, tipOf(links))).toBeNull();
    expect(verifyChain([], CHAIN_START)).toBeNull();
  });

  it('notices every flipped byte of every field', () => {
    const links = aChain(3);
    const fields = ['workflowRunId', 'type', 'origin', 'timestamp', 'payload', 'payloadHash', 'hash'] as const;
    for (const field of fields) {
      const text = links[1]?.[field] ?? '';
      for (let at = 0; at < text.length; at += 1) {
        const flipped = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
        const damaged = links.with(1, { ...(links[1] as ChainLink), [field]: flipped });
        expect(verifyChain(damaged), `${field} ${at}`).toMatchObject({ sequence: 2 });
      }
    }
  });

  it('notices what is missing, doubled, moved or cut off', () => {
    const links = aChain(4);
    const [one, two, three, four] = links as [ChainLink, ChainLink, ChainLink, ChainLink];
    expect(verifyChain([one, three, four])).toMatchObject({ sequence: 2 });
    expect(verifyChain([one, two, two, three])).toMatchObject({ sequence: 3 });
    expect(verifyChain([two, one, three])).toMatchObject({ sequence: 1 });
    expect(verifyChain([one, two], tipOf(links))).toEqual({ sequence: 3, message: 'events 3 to 4 are missing' });
    expect(verifyChain([one, two])).toBeNull();
    expect(verifyChain(links, tipOf(links.slice(0, 3)))).toMatchObject({ sequence: 4 });
  });

  it('notices an end that was written anew', () => {
    const links = aChain(2);
    const forged = linkEvent(links[0]?.hash ?? '', { ...(links[1] as ChainLink), payload: '{"text":"forged"}' });
    expect(verifyChain([links[0] as ChainLink, forged])).toBeNull();
    expect(verifyChain([links[0] as ChainLink, forged], tipOf(links))).toMatchObject({ sequence: 2 });
  });

  it('holds without a payload that was erased', () => {
    const links = aChain(3);
    const erased = links.with(1, { ...(links[1] as ChainLink), payload: null });
    expect(verifyChain(erased, tipOf(erased))).toBeNull();
  });
});
