/** Comments beside the lines of results, kept until the result is sent back: then they are its feedback. */
import type { ReviewNote } from '@autonomous/shared';
import { createStore } from '@xstate/store';
import { useSelector } from '@xstate/store-react';

const MEMORY = 'autonomous.line-notes';
const NONE: readonly ReviewNote[] = [];

type Notes = Readonly<Record<string, readonly ReviewNote[]>>;

export const lineNotes = createStore({
  context: remembered(),
  on: {
    added: (notes, { runId, note }: { runId: string; note: ReviewNote }): Notes => ({
      ...notes,
      [runId]: [...(notes[runId] ?? NONE), note],
    }),
    removed: (notes, { runId, note }: { runId: string; note: ReviewNote }): Notes => ({
      ...notes,
      [runId]: (notes[runId] ?? NONE).filter((other) => other !== note),
    }),
    /** They were sent. */
    cleared: (notes, { runId }: { runId: string }): Notes => {
      const { [runId]: _sent, ...others } = notes;
      return others;
    },
  },
});
lineNotes.subscribe(({ context }) => {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(context));
  } catch {
    // A browser that keeps nothing: they last as long as the page.
  }
});

export function useLineNotes(runId: string): readonly ReviewNote[] {
  return useSelector(lineNotes, ({ context }) => context[runId] ?? NONE);
}

function remembered(): Notes {
  try {
    // Written by the subscription above alone.
    return JSON.parse(localStorage.getItem(MEMORY) ?? '{}') as Notes;
  } catch {
    return {};
  }
}
