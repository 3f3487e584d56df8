/** Files of a run in the repository, `docs/research-<topic>/`, which the server alone writes. Pure. */
import { topicFiles, topicSlug } from '../parts/topics/topic-files.ts';
import { failuresOf, type Feature, type Features, named, passText, reasonOf, unreachable } from './features.ts';

export interface FullAutoFiles {
  readonly folder: string;
  readonly features: string;
  readonly init: string;
  readonly progress: string;
  readonly state: string;
}

export function fullAutoFiles(topic: string): FullAutoFiles {
  const { folder, state } = topicFiles(topicSlug(topic));
  return {
    folder,
    features: `${folder}/feature-list.json`,
    init: `${folder}/init.sh`,
    progress: `${folder}/progress.txt`,
    state,
  };
}

/** Paths that the server owns in the run of a topic: plan and report are as little of the agents that build as the list of the features. */
export function ownedPathsOf(topic: string): readonly string[] {
  const { folder, features, init, progress } = fullAutoFiles(topic);
  return [features, init, progress, `${folder}/**/*`];
}

export function renderFeatureList(features: readonly Feature[]): string {
  const ordered = features.map(({ id, name, description, component, dependencies, passes }) => ({
    id,
    name,
    description,
    component,
    dependencies,
    passes,
  }));
  return `${JSON.stringify({ features: ordered }, null, 2)}\n`;
}

/** The script that sets a checkout up. @param setup the project's own command; `null`: it needs none */
export function renderInit(setup: string | null): string {
  const lines = [
    '#!/bin/sh',
    '# Sets a checkout up, as the server does before it runs the checks. The server writes this file.',
    'set -eu',
    setup ?? '# The project needs no setup so far.',
  ];
  return `${lines.join('\n')}\n`;
}

/** One attempt at a feature that has ended. */
export type Iteration = {
  /** Counts all attempts of the run, from 1. An attempt that waits for a person may end after later ones. */
  readonly iteration: number;
  readonly feature: string;
  readonly outcome: 'passes' | 'failed' | 'skipped';
  /** Empty where the feature passes by its evidence. */
  readonly reason: string;
};

/** An agent in a run below began to compact its context: the transcript of that run has all that it said and did until then. */
export interface Compaction {
  /** ISO 8601. */
  readonly at: string;
  readonly run: string;
  /** Name of its workflow. */
  readonly workflow: string;
}

/** Newest ones with a line each: an agent decides how often it compacts. */
const MOST_COMPACTIONS = 50;

export interface Progress extends Features {
  readonly topic: string;
  readonly plan: string;
  readonly log: readonly Iteration[];
  /** Attempts that wait for a person, with the words for their gates. */
  readonly waiting: readonly { readonly iteration: number; readonly feature: string; readonly why: string }[];
  /** Oldest first. */
  readonly compactions: readonly Compaction[];
  /** Nothing more is begun. */
  readonly isOver: boolean;
}

/** First line of the commit of the files: the latest news in them. */
export function newsOf({ topic, log, waiting, isOver, ...features }: Omit<Progress, 'plan' | 'compactions'>): string {
  const last = log.at(-1);
  const asked = waiting.findLast(({ iteration }) => iteration > (last?.iteration ?? 0));
  if (isOver) return `${topic}: ${passText(features)}`;
  if (asked !== undefined) return `${asked.feature}: waits for a person`;
  return last === undefined ? `Features of ${topic}` : `${last.feature}: ${last.outcome}`;
}

export function renderProgress(state: Progress): string {
  const { topic, plan, log, features, waiting, isOver, compactions } = state;
  const held = unreachable(state);
  const standing = (feature: Feature): string => {
    const passed = log.findLast((each) => each.feature === feature.id && each.outcome === 'passes')?.reason ?? '';
    if (feature.passes) return passed === '' ? 'passes' : `passes: ${passed.replaceAll(/\s+/g, ' ')}`;
    const reason = reasonOf(state, feature.id);
    if (reason !== undefined) return `skipped: ${reason}`;
    const by = held.get(feature.id);
    if (by !== undefined) return `cannot be reached: it depends on ${by}`;
    const asked = waiting.find((attempt) => attempt.feature === feature.id);
    if (asked !== undefined) return `waits for you: ${asked.why.replaceAll(/\s+/g, ' ')}`;
    return isOver ? 'not begun' : 'to do';
  };
  const lines = [
    `Full auto: ${topic}`,
    `Plan: ${plan}`,
    `${passText(state)}.${isOver && failuresOf(state).length > 0 ? ' Completed with failures.' : ''}`,
    '',
    ...features.map((feature) => `${feature.passes ? '[x]' : '[ ]'} ${named(feature)}: ${standing(feature)}`),
    ...(log.length === 0 ? [] : ['', 'Iterations']),
    ...log.map(({ iteration, feature, outcome, reason }) => {
      const [first = ''] = reason.split('\n');
      return `${iteration}. ${feature} ${outcome}${first === '' ? '' : `: ${first}`}`;
    }),
    ...(compactions.length === 0 ? [] : ['', 'Contexts of agents that were compacted']),
    ...(compactions.length > MOST_COMPACTIONS ? [`${compactions.length - MOST_COMPACTIONS} earlier ones`] : []),
    ...compactions
      .slice(-MOST_COMPACTIONS)
      .map(({ at, run, workflow }) => `${at} ${workflow}, run ${run}: its transcript has all until then`),
  ];
  return `${lines.join('\n')}\n`;
}
