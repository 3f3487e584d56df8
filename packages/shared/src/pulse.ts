/** Words for what a running activity is at, made from its newest pulse. */
import type { Progress } from './feed.ts';
import { durationText } from './times.ts';

/** Newest pulse of each activity of a run, by activity, the one that began first in front. */
export type Pulses = Readonly<Record<string, Progress>>;

/**
 * `npm ci · 1 min 20 s · 212 MB · 3,400 files · added 12 packages`
 * @param isShort without the last line and the files, for a row of a list
 * @param isTimeFirst with the elapsed time and the size before the command, for a line that may be cut at its end
 */
export function pulseText(
  { what, text, elapsedMs = 0, lastLine, bytes, files }: Progress,
  { isShort = false, isTimeFirst = false }: { readonly isShort?: boolean; readonly isTimeFirst?: boolean } = {},
): string {
  const command = what ?? text;
  return [
    ...(isTimeFirst ? [] : [command]),
    durationText(elapsedMs),
    ...(bytes === undefined ? [] : [sizeText(bytes)]),
    ...(files === undefined || isShort ? [] : [`${files.toLocaleString('en')} ${files === 1 ? 'file' : 'files'}`]),
    ...(isTimeFirst ? [command] : []),
    ...(lastLine === undefined || isShort ? [] : [lastLine]),
  ].join(' · ');
}

/** The pulse that stands for a run in a list; `undefined` where nothing is under way or known. */
export function pulseOf(pulses: Pulses | undefined): Progress | undefined {
  return pulses === undefined ? undefined : Object.values(pulses)[0];
}

/** The pulses with a newer one of the same activity in its place. */
export function withPulse(pulses: Pulses | undefined, pulse: Progress): Pulses {
  return { ...pulses, [pulse.activity]: pulse };
}

/** The pulses without an activity that has ended; `undefined` where none is left. */
export function withoutPulse(pulses: Pulses | undefined, activity: string): Pulses | undefined {
  const left = Object.entries(pulses ?? {}).filter(([name]) => name !== activity);
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function sizeText(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.ceil(bytes / 1_000)} kB`
    : `${Math.round(bytes / 1_000_000).toLocaleString('en')} MB`;
}
