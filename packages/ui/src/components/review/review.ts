/** The comments of a run as its page uses them. The server keeps them, and the feed sends them to every client. */
import type { RunView } from '@autonomous/shared';
import { takesComments } from '@autonomous/shared/presentation';
import { useHost } from '../../hosts/host.ts';
import { linesOf } from '../drafts.ts';
import type { Margin } from './line-comments.tsx';

/** A run's comments and the actions on them; `marginOf` gives those of one file. */
export interface Review {
  readonly margin: Pick<Margin, 'comments' | 'onEdit' | 'onDelete'>;
  marginOf(path: string): Margin;
}

export function useReview({ id, gate, comments = [] }: RunView): Review {
  const { client, runs } = useHost();
  const listed = async (changed: Promise<RunView>): Promise<void> => {
    runs.trigger.listed({ runs: [await changed] });
  };
  const margin = {
    comments,
    onEdit: (comment: { readonly id: string }, text: string) => listed(client.editComment(comment.id, text)),
    onDelete: (comment: { readonly id: string }) => listed(client.deleteComment(comment.id)),
  };
  const gateId = gate !== null && takesComments(gate) ? gate.id : `${id}.`;
  return {
    margin,
    marginOf: (path) => ({
      ...margin,
      draftAt: (line) => ({ owner: linesOf(id), name: `${path}:${line}` }),
      comments: comments.filter((comment) => comment.path === path),
      onAdd: takesComments(gate) ? (line, text) => listed(client.addComment(gateId, { path, line, text })) : undefined,
    }),
  };
}
