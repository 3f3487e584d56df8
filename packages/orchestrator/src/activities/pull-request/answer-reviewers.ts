/** Answers to reviewers once what they asked for is pushed: in each thread, which is resolved, and one comment for all else. */
import { type Activity, FORGE_TRIES } from '../../core/activity.ts';
import { harmlessLine } from '../../documents/pull-request-text.ts';
import { ForgeRefusal, type ForgeRepository } from '../../forges/forge.ts';
import { ownPullRequest, placeOf } from './follow-pull-request.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

/** What is answered, and with what. A type, so that it is a JSON value. */
export type Answering = {
  /** Ids of review threads. */
  readonly threads: readonly string[];
  /** Logins of those whose remarks are in no thread. */
  readonly others: readonly string[];
  /** Commit with the changes; `null` while there is none. */
  readonly commit: string | null;
  /** First line of the agent's own summary. */
  readonly summary: string;
  /** Number of the pull request in which they asked. */
  readonly number: number;
};

export type AnswerInput = RunHeader & {
  readonly number: number;
  /** Commit that is published. */
  readonly published: string;
  readonly answering: Answering;
};

export function answerReviewers(tools: ActivityTools): Activity<AnswerInput, { readonly answered: number }> {
  return {
    retry: FORGE_TRIES,
    async perform(input, context) {
      const { number, published, answering } = input;
      const { threads, others, commit } = answering;
      const { repository } = await placeOf(tools, context, input);
      await ownPullRequest(tools, repository, input);
      // Where people have merged it meanwhile, the changes are in another one.
      const isOther = answering.number !== number;
      if (isOther) await ownPullRequest(tools, repository, { ...input, number: answering.number });
      const summary = tools.scrub(harmlessLine(answering.summary));
      const said = summary === '' ? '.' : `: ${summary}`;
      const answerWith = (place: string): string =>
        commit === null ? `Nothing was changed${said}` : `Changed in ${commit.slice(0, 10)}${place}${said}`;
      // The same at a repetition, and another one after the next push.
      const marker = `answer-${published.slice(0, 20)}`;
      let answered = 0;
      // A thread is named by an id alone, which may be of any pull request that the server's account can write to.
      const own = threads.length === 0 ? new Set() : await threadsOf(repository, answering.number);
      for (const thread of threads.filter((id) => own.has(id)))
        try {
          await repository.replyToThread(thread, {
            marker,
            body: answerWith(isOther ? `, which is in #${number}` : ''),
          });
          if (commit !== null) await repository.resolveThread(thread);
          answered += 1;
        } catch (error) {
          // The reviewer may have deleted it, and others may have filled it.
          if (!(error instanceof ForgeRefusal && (error.refusal === 'gone' || error.refusal === 'too_many')))
            throw error;
          if (error.refusal === 'too_many') context.progress({ kind: 'note', text: error.message });
        }
      if (others.length > 0) {
        const asked = others.map(harmlessLine).join(', ');
        const where = isOther ? ` in #${answering.number}` : '';
        await repository.putComment(number, { marker, body: `${answerWith('')}\n\nAsked for by ${asked}${where}.` });
        answered += 1;
      }
      return { answered };
    },
  };
}

/** Ids of the review threads of a pull request. */
async function threadsOf(repository: ForgeRepository, number: number): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let from: string | undefined; ;) {
    const { threads, next } = await repository.discussion(number, undefined, from);
    for (const { id } of threads) ids.add(id);
    if (next === null) return ids;
    from = next;
  }
}
