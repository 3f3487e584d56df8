/** Two texts line by line, side by side. */

export interface LinePair {
  readonly kind: 'same' | 'changed' | 'added' | 'removed';
  /** With its number, from 1; `null` where that side has no such line. */
  readonly before: NumberedLine | null;
  readonly after: NumberedLine | null;
}

export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** Comparing costs the product of both lengths: longer middles are shown as gone and new. */
const MAX_CELLS = 4_000_000;

/** Every line of both, in order; a removed line stands beside the added one that took its place. */
export function lineDiff(before: string, after: string): readonly LinePair[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end += 1;
  }
  const pairs: LinePair[] = [];
  const gone: NumberedLine[] = [];
  const fresh: NumberedLine[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(gone.length, fresh.length); index += 1) {
      const [was, is] = [gone[index] ?? null, fresh[index] ?? null];
      pairs.push({ kind: was === null ? 'added' : is === null ? 'removed' : 'changed', before: was, after: is });
    }
    gone.length = 0;
    fresh.length = 0;
  };
  for (const [one, other] of walk(old, now, start, end)) {
    if (one !== null && other !== null) {
      flush();
      pairs.push({ kind: 'same', before: numbered(old, one), after: numbered(now, other) });
    } else if (one !== null) gone.push(numbered(old, one));
    else if (other !== null) fresh.push(numbered(now, other));
  }
  flush();
  return pairs;
}

function numbered(lines: readonly string[], index: number): NumberedLine {
  return { number: index + 1, text: lines[index] ?? '' };
}

type Step = readonly [number | null, number | null];

/** Lines of both sides that belong together, or stand alone: along the longest common subsequence of the middle. */
function walk(old: readonly string[], now: readonly string[], start: number, end: number): readonly Step[] {
  const steps: Step[] = Array.from({ length: start }, (_, index): Step => [index, index]);
  const [rows, columns] = [old.length - start - end, now.length - start - end];
  const isTooLong = rows * columns > MAX_CELLS;
  const lengths = new Uint16Array(isTooLong ? 0 : (rows + 1) * (columns + 1));
  const at = (row: number, column: number): number => lengths[row * (columns + 1) + column] ?? 0;
  for (let row = (isTooLong ? 0 : rows) - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      lengths[row * (columns + 1) + column] =
        old[start + row] === now[start + column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    if (row < rows && column < columns && !isTooLong && old[start + row] === now[start + column]) {
      steps.push([start + row++, start + column++]);
    } else if (row < rows && (column >= columns || at(row + 1, column) >= at(row, column + 1))) {
      steps.push([start + row++, null]);
    } else {
      steps.push([null, start + column++]);
    }
  }
  for (let index = 0; index < end; index += 1) steps.push([old.length - end + index, now.length - end + index]);
  return steps;
}
