/** Unsent texts that a person has begun at a gate. They are kept after anyone has decided the gate. */
import { createStore } from '@xstate/store';
import { useSelector } from '@xstate/store-react';

/** By gate, then by decision. */
type Drafts = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const drafts = createStore({
  context: none(),
  on: {
    wrote: (all, { gateId, decision, text }: { gateId: string; decision: string; text: string }): Drafts => ({
      ...all,
      [gateId]: { ...all[gateId], [decision]: text },
    }),
    /** They were sent, or are not wanted any more. */
    dropped: (all, { gateId }: { gateId: string }): Drafts => {
      const { [gateId]: _gone, ...others } = all;
      return others;
    },
  },
});

/** Draft for one decision at a gate; empty if there is none. */
export function draftOf(gateId: string, decision: string): string {
  return drafts.getSnapshot().context[gateId]?.[decision] ?? '';
}

/** Drafts at gates of a run that are not open any more. */
export function leftDrafts(
  all: Drafts,
  runId: string,
  openGate: string | undefined,
): readonly { readonly gateId: string; readonly text: string }[] {
  return Object.entries(all).flatMap(([gateId, texts]) => {
    if (gateId === openGate || gateId.slice(0, gateId.lastIndexOf('.')) !== runId) return [];
    const text = Object.values(texts)
      .filter((each) => each.trim() !== '')
      .join('\n\n');
    return text === '' ? [] : [{ gateId, text }];
  });
}

export function useDrafts(): Drafts {
  return useSelector(drafts, ({ context }) => context);
}

function none(): Drafts {
  return {};
}
