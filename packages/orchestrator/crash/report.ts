/** Report of a sweep for people: a table of its scenarios, all faults, and one line with the figures. */
import { EFFECT_KINDS } from './effects.ts';
import type { Fault } from './judge.ts';
import { type Played, replayOf, type SweepResult } from './sweep.ts';

export interface Report {
  /** The last one has the figures. */
  readonly lines: readonly string[];
  readonly ok: boolean;
}

export function reportOn(result: SweepResult): Report {
  const { unplayable, left, ms } = result;
  const played = result.played.filter(({ reached }) => reached);
  const faulty = result.played.filter(({ faults }) => faults.length > 0);
  const duplicates = faulty.flatMap(({ faults }) => faults.filter(({ kind }) => kind === 'duplicate')).length;
  const differing = faulty.filter(({ faults }) => faults.some(({ kind }) => kind !== 'duplicate')).length;
  const repeatedCalls = sum(played.map(({ verdict }) => verdict?.repeatedCalls ?? 0));
  const unbooked = faulty.flatMap(({ faults }) => faults.filter(({ kind }) => kind === 'unbooked')).length;
  const ok = played.length > 0 && faulty.length === 0 && unplayable.length === 0 && left === 0;
  const figures = [
    `${played.length} points`,
    `${duplicates} duplicates`,
    `${differing + unplayable.length} differences`,
    `${repeatedCalls} repeated model calls (${unbooked === 0 ? 'all booked' : `${unbooked} not booked`})`,
  ].join(', ');
  return {
    lines: [
      ...table(result.played),
      ...EFFECT_KINDS.map((kind) => effectLine(played, kind)),
      ...crashes(played),
      ...unplayable.map(({ what }) => `unplayable: ${what}`),
      ...faulty.map(({ point, faults }) => `wrong (${kindsOf(faults)}): ${replayOf(point)}`),
      ...(left > 0 ? [`There was no time for ${left} points.`] : []),
      `crash-sweep: ${figures} in ${duration(ms)}`,
    ],
    ok,
  };
}

function table(played: readonly Played[]): readonly string[] {
  const rows = [...Map.groupBy(played, ({ point }) => point.scenario.name)].map(([name, of]) => [
    name,
    String(of.filter(({ reached }) => reached).length),
    String(of.filter(({ reached }) => !reached).length),
    String(sum(of.map(({ verdict }) => verdict?.repeatedCalls ?? 0))),
    String(sum(of.map(({ verdict }) => verdict?.repeatedRequests ?? 0))),
    String(of.filter(({ faults }) => faults.length > 0).length),
  ]);
  const head = ['scenario', 'points', 'not reached', 'repeated calls', 'their requests', 'wrong'];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function crashes(played: readonly Played[]): readonly string[] {
  return [1, 2, 3].map((kills) => {
    const count = played.filter(({ point }) => point.kills.length === kills).length;
    return `${count} points with ${kills} ${kills === 1 ? 'crash' : 'crashes'}`;
  });
}

function kindsOf(faults: readonly Fault[]): string {
  return [...new Set(faults.map(({ kind }) => kind))].join(', ');
}

function effectLine(played: readonly Played[], kind: (typeof EFFECT_KINDS)[number]): string {
  const counts = played.flatMap(({ verdict }) => (verdict ? [verdict.effects[kind]] : []));
  const seen = sum(counts.map((count) => count.seen));
  if (seen === 0) return `${kind}: none was made`;
  return `${kind}: ${seen} seen, ${sum(counts.map(({ duplicated }) => duplicated))} duplicated`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function duration(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`;
}
