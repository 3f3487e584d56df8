/** The projection of a full-auto run: its features with where each stands, and the attempts at them. Pure. */
import {
  type JsonObject,
  MOST_PROJECTED,
  type Projected,
  type ProjectedEntry,
  type ProjectedText,
  type ProjectionSection,
  type RunView,
  type WorkflowEvent,
} from '@autonomous/shared';
import { shortened } from '../parts/projected-text.ts';
import { factsIn, type StoredFact } from '../parts/run-facts.ts';
import type { FullAutoFact } from './events.ts';
import { type Feature, named, reasonOf, unreachable } from './features.ts';
import type { FullAutoContext } from './types.ts';

type Change = StoredFact<FullAutoFact, 'FEATURE_CHANGED'>;

const NOTHING: ProjectedText = { text: '–', tone: 'quiet' };

export function projectionOf(view: RunView, events: readonly WorkflowEvent[], json: JsonObject): Projected {
  const context = json as unknown as FullAutoContext; // The machine's own context, which is plain JSON.
  const isOver = view.completedAt !== undefined;
  const changes = factsIn<FullAutoFact>(events)('FEATURE_CHANGED');
  const attempts = attemptsOf(changes);
  const { features } = context;
  const rows = rowsOf(context, changes, isOver);
  const sections: readonly ProjectionSection[] = [
    {
      kind: 'table',
      id: 'features',
      title: 'Features',
      empty: isOver ? 'The run ended before its features were listed.' : 'The features are not listed yet.',
      columns: ['Feature', 'Status', 'Attempts', 'Depends on'],
      rows: rows.slice(0, MOST_PROJECTED),
      total: features.length,
    },
    {
      kind: 'timeline',
      id: 'attempts',
      title: 'Attempts',
      empty: isOver ? 'No feature was begun.' : 'No feature has been begun yet.',
      entries: attempts.slice(-MOST_PROJECTED),
      total: attempts.length,
    },
  ];
  return { sections };
}

function rowsOf(
  context: FullAutoContext,
  changes: readonly Change[],
  isOver: boolean,
): readonly (readonly ProjectedText[])[] {
  const held = unreachable(context);
  const begun = Map.groupBy(
    changes.filter(({ status }) => status === 'started'),
    ({ feature }) => feature,
  );
  const failed = new Map(
    changes.filter(({ status }) => status === 'failed').map(({ feature, reason }) => [feature, reason]),
  );
  return context.features.map((feature) => {
    const attempts = begun.get(feature.id)?.length ?? 0;
    const reason = failed.get(feature.id);
    return [
      { text: shortened(named(feature)), note: shortened(feature.component) },
      statusOf(context, feature, { held: held.get(feature.id), reason, isOver }),
      attempts === 0 ? NOTHING : { text: String(attempts) },
      feature.dependencies.length === 0 ? NOTHING : { text: feature.dependencies.join(', ') },
    ];
  });
}

interface Known {
  /** The skipped feature on which it depends. */
  readonly held: string | undefined;
  /** Why its last attempt came to nothing. */
  readonly reason: string | undefined;
  readonly isOver: boolean;
}

function statusOf(context: FullAutoContext, feature: Feature, { held, reason, isOver }: Known): ProjectedText {
  const accepted = context.log.findLast(
    ({ feature: id, outcome }) => id === feature.id && outcome === 'passes',
  )?.reason;
  if (feature.passes && accepted) return { text: 'passes', note: shortened(accepted), tone: 'plain' };
  if (feature.passes) return { text: 'passes', tone: 'good' };
  const skipped = reasonOf(context, feature.id);
  if (skipped !== undefined) return { text: 'skipped', note: shortened(skipped), tone: 'bad' };
  if (held !== undefined)
    return { text: 'cannot be reached', note: `It depends on ${held}, which is skipped.`, tone: 'bad' };
  const note = reason === undefined ? {} : { note: `The last attempt failed: ${shortened(reason)}` };
  if (isOver || context.isOver) return { text: 'not begun', tone: 'bad', ...note };
  const asked = Object.values(context.open).find((attempt) => attempt.feature === feature.id);
  if (asked?.waitsFor !== undefined)
    return { text: 'under way', note: `Its run asked you: ${shortened(asked.waitsFor)}` };
  const ended = [context.judged, ...context.ended].some((attempt) => attempt?.feature === feature.id);
  if (asked !== undefined || ended) return { text: 'under way', ...note };
  return { text: 'to do', tone: 'quiet', ...note };
}

/** One entry an attempt; its end is the next change of that attempt. */
function attemptsOf(changes: readonly Change[]): readonly ProjectedEntry[] {
  const ends = new Map(
    changes.filter(({ status }) => status !== 'started').map((change) => [change.iteration, change]),
  );
  return changes
    .filter(({ status }) => status === 'started')
    .map((started): ProjectedEntry => {
      const end = ends.get(started.iteration);
      return {
        title: `${started.iteration}. ${shortened(named({ id: started.feature, name: started.name }))}`,
        startedAt: started.storedAt,
        endedAt: end?.storedAt ?? null,
        ...(end === undefined
          ? {}
          : { mark: { text: end.status, tone: end.status === 'passes' ? ('good' as const) : ('bad' as const) } }),
        facts: end === undefined || end.reason === '' ? [] : [shortened(end.reason)],
        parts: [],
      };
    });
}
