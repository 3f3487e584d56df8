import { describe, expect, it } from 'vitest';
import { STALL_LIMITS, StallWatch, type Verdict, type WatchedCall } from './stall-watch.ts';

const call = (name: string, input: object, result: string, ok = true): WatchedCall => ({ name, input, ok, result });
const read = (path: string, content: string) => call('read', { path }, content);
const edit = (path: string, newText: string) => call('edit', { path, newText }, `Changed ${path} at line 1.`);
const run = (command: string, output: string) => call('run', { command }, output);

type Step = readonly WatchedCall[];

/** Verdicts that are no `go_on`, with the step that they came at. */
function judged(steps: readonly Step[], watch = new StallWatch()): [step: number, kind: Verdict['kind']][] {
  return steps.flatMap((step, index) => {
    const { kind } = watch.step(step);
    return kind === 'go_on' ? [] : [[index + 1, kind]];
  });
}

const times = (count: number, step: (index: number) => Step) =>
  Array.from({ length: count }, (_, index) => step(index));
/** The same with several steps each time. */
const rounds = (count: number, steps: (index: number) => readonly Step[]) =>
  Array.from({ length: count }, (_, index) => steps(index)).flat();

describe('work that goes on is left alone', () => {
  it('a hundred small edits, each followed by the same failing tests', () => {
    const steps = rounds(100, (index) => [
      [edit('src/a.ts', `try ${index}`)],
      [run('npm test', 'Exit code 1.\n1 failed (12 ms)')],
    ]);
    expect(judged(steps)).toEqual([]);
  });

  it('reading the same files again and again between edits', () => {
    const files = ['a', 'b', 'c', 'd', 'e'];
    const steps = rounds(20, (round) => [
      ...files.map((file): Step => [read(`src/${file}.ts`, `unchanged ${file}`)]),
      [edit('src/f.ts', `round ${round}`)],
    ]);
    expect(judged(steps)).toEqual([]);
  });

  it('paging through a large file, and exploring a large project', () => {
    const paging = times(40, (page) => [call('read', { path: 'big.ts', offset: page * 1_000 + 1 }, `page ${page}`)]);
    const exploring = times(60, (file) => [
      read(`src/${file}.ts`, 'export {};'),
      call('search', { pattern: `f${file}` }, 'No line matches.'),
    ]);
    expect(judged([...paging, ...exploring])).toEqual([]);
  });

  it('taking an edit back and making it again with another beside it', () => {
    const steps: Step[] = [];
    for (let round = 0; round < 10; round++) {
      steps.push(
        [edit('a.ts', 'x')],
        [run('npm test', 'Exit code 1.')],
        [edit('a.ts', 'y')],
        [run('npm test', 'Exit code 1.')],
      );
      steps.push([edit('b.ts', `round ${round}`)]);
    }
    expect(judged(steps)).toEqual([]);
  });

  it('looking at a file three times while thinking about it', () => {
    expect(judged([[read('a.ts', 'x')], [read('a.ts', 'x')], [read('a.ts', 'x')], [edit('a.ts', 'y')]])).toEqual([]);
  });
});

describe('going in circles', () => {
  it('is noticed where the same call gives the same result: a nudge, a new beginning, a person', () => {
    const same: Step = [read('a.ts', 'x')];
    expect(judged(times(20, () => same)).slice(0, 3)).toEqual([
      [4, 'nudge'],
      [7, 'restart'],
      [11, 'give_up'],
    ]);
  });

  it('is noticed where the result differs only in times and durations', () => {
    const steps = times(4, (index) => [run('npm test', `Exit code 1.\n1 failed (${index}.5 ms) at 12:00:0${index}`)]);
    expect(judged(steps)).toEqual([[4, 'nudge']]);
  });

  it('is noticed where a few calls go round', () => {
    const steps = times(30, (index) => [read(`${index % 5}.ts`, 'x')]);
    expect(judged(steps)[0]).toEqual([5 + STALL_LIMITS.idleSteps, 'nudge']);
  });

  it('is noticed where an edit is made and taken back for ever', () => {
    const steps = times(40, (index) => [edit('a.ts', index % 2 === 0 ? 'x' : 'y')]);
    expect(judged(steps)[0]?.[1]).toBe('nudge');
  });

  it('is noticed where every call fails, each in its own way', () => {
    const steps = times(30, (index) => [
      call('read', { path: `guess-${index}` }, `There is no file "guess-${index}".`, false),
    ]);
    expect(judged(steps)[0]).toEqual([STALL_LIMITS.failedSteps, 'nudge']);
  });

  it('is noticed where one command is made for ever, whatever it says', () => {
    const steps = times(30, (index) => [run('echo $RANDOM', `Exit code 0.\nstdout:\n${index * 7919}`)]);
    expect(judged(steps)[0]).toEqual([STALL_LIMITS.sameCall, 'nudge']);
  });

  it('is noticed where answers come without any call', () => {
    expect(judged(times(8, () => []))).toEqual([[8, 'nudge']]);
  });
});

describe('what follows a nudge', () => {
  const same: Step = [read('a.ts', 'x')];
  const work = (count: number, from = 0) => times(count, (index) => [edit('a.ts', `work ${from + index}`)]);

  it('is forgiven after enough work, so that the next stall is nudged again', () => {
    const steps = [...times(4, () => same), ...work(10), ...times(3, () => same)];
    expect(judged(steps)).toEqual([
      [4, 'nudge'],
      [17, 'nudge'],
    ]);
  });

  it('is a new beginning where it stalls again soon', () => {
    const steps = [...times(4, () => same), ...work(3), ...times(3, () => same)];
    expect(judged(steps)).toEqual([
      [4, 'nudge'],
      [10, 'restart'],
    ]);
  });

  it('begins from its first step where a long time of work lay after a new beginning', () => {
    const stalledTwice = [...times(4, () => same), ...times(3, () => same), ...work(28)];
    expect(judged([...stalledTwice, ...times(4, () => same)])).toEqual([
      [4, 'nudge'],
      [7, 'restart'],
      [39, 'give_up'],
    ]);
    expect(judged([...stalledTwice, ...work(2, 28), ...times(10, () => same)])).toEqual([
      [4, 'nudge'],
      [7, 'restart'],
      [41, 'nudge'],
      [44, 'restart'],
    ]);
  });

  it('is judged anew when a person says something', () => {
    const watch = new StallWatch();
    expect(
      judged(
        times(3, () => same),
        watch,
      ),
    ).toEqual([]);
    watch.resetCounts();
    expect(
      judged(
        times(2, () => same),
        watch,
      ),
    ).toEqual([]);
  });

  it('comes with what was tried, shortened and the newest last', () => {
    const watch = new StallWatch();
    for (let index = 0; index < 20; index++) watch.step([read(`f${index}.ts`, `${'x'.repeat(500)}\nsecond line`)]);
    expect(watch.tried).toHaveLength(12);
    expect(watch.tried.at(-1)).toMatch(/^read \{"path":"f19\.ts"\} → x{160}…$/);
  });
});
