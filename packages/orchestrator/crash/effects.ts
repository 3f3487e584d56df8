/** The kinds of effects that others can see outside of a server, and how often each was seen. */

/** How often each effect was seen outside, by kind and by a name that is the same in every playback. */
export type Effects = Readonly<Record<EffectKind, ReadonlyMap<string, number>>>;

export const EFFECT_KINDS = [
  'commit',
  'push',
  'merge',
  'pull request',
  'comment',
  'resolved thread',
  'effect of an own workflow',
] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];
