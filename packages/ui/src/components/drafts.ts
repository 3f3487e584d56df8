/**
 * Unsent texts that a person has begun at a gate or beside a line. They are kept after anyone has decided the gate, and when the page is
 * loaded again.
 */
import { createStore } from '@xstate/store';
import { persist } from '@xstate/store/persist';
import { useSelector } from '@xstate/store-react';

/** Key of one draft. */
export interface DraftKey {
  /** Id of a gate, id of a comment, or {@link linesOf} a run. */
  readonly owner: string;
  /** Decision at the gate; beside a line its file and number. */
  readonly name: string;
}

/** By owner, then by name. */
type Drafts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The browser's tab, which an editor's view or a strict browser may not have: then the texts last as long as the page. */
const THIS_TAB = {
  getItem: (name: string) => sessionStorage.getItem(name),
  setItem: (name: string, value: string) => sessionStorage.setItem(name, value),
  removeItem: (name: string) => sessionStorage.removeItem(name),
};

export const drafts = createStore({
  context: none(),
  on: {
    /** An empty text is no draft. */
    wrote: (all, { owner, name, text }: DraftKey & { text: string }): Drafts => ({
      ...all,
      [owner]: { ...all[owner], [name]: text },
    }),
    /** They were sent, or are not wanted any more. */
    dropped: (all, { owner }: { owner: string }): Drafts => {
      const { [owner]: _gone, ...others } = all;
      return others;
    },
  },
}).with(persist({ name: 'autonomous.drafts', storage: THIS_TAB, onError: () => {} }));

/** Text of a draft; empty if there is none. */
export function draftOf({ owner, name }: DraftKey): string {
  return drafts.getSnapshot().context[owner]?.[name] ?? '';
}

/** Number of texts beside the lines of a run that were not added. */
export function countLineDrafts(all: Drafts, runId: string): number {
  return Object.values(all[linesOf(runId)] ?? {}).filter((text) => text.trim() !== '').length;
}

/** Owner of the drafts beside the lines of a run. */
export function linesOf(runId: string): string {
  return `${runId}.lines`;
}

/**
 * Drafts of a run whose fields cannot be opened any more.
 * @param open owners whose fields can
 */
export function leftDrafts(
  all: Drafts,
  runId: string,
  open: readonly (string | undefined)[],
): readonly { readonly owner: string; readonly text: string }[] {
  return Object.entries(all).flatMap(([owner, texts]) => {
    if (open.includes(owner) || owner.slice(0, owner.lastIndexOf('.')) !== runId) return [];
    const text = Object.entries(texts)
      .filter(([, each]) => each.trim() !== '')
      .map(([name, each]) => (owner === linesOf(runId) ? `${name}: ${each}` : each))
      .join('\n\n');
    return text === '' ? [] : [{ owner, text }];
  });
}

export function useDrafts(): Drafts {
  return useSelector(drafts, ({ context }) => context);
}

function none(): Drafts {
  return {};
}
