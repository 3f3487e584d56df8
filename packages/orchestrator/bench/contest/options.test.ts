import { InvalidRequest } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { ENTRANTS } from './entrants.ts';
import { readNumbers, readPartsAndNumbers, readPeersOptions } from './options.ts';

describe('the options of the bench of peers', () => {
  it('are everything, three times, when none is given', () => {
    const options = readPeersOptions([]);
    expect(options.entrants).toEqual(ENTRANTS);
    expect([...options.parts]).toEqual(['throughput', 'restart', 'memory', 'growth']);
    expect(options.repeat).toBe(3);
  });

  it('choose contenders and parts, in the order of the bench', () => {
    const options = readPeersOptions(['--only', 'raw, autonomous', '--parts=growth,restart', '--repeat', '5']);
    expect(options.entrants.map(({ name }) => name)).toEqual(['autonomous', 'raw']);
    expect([...options.parts]).toEqual(['restart', 'growth']);
    expect(options.repeat).toBe(5);
  });

  it.each([
    [['--only', 'temporal'], "There is no contender 'temporal'; there are autonomous, raw,"],
    [['--parts', 'speed'], "There is no part 'speed'; there are throughput,"],
    [['--repeat', '0'], "--repeat is '0'"],
    [['--seconds', 'ten'], "--seconds is 'ten'"],
    [['--repetitions', '3'], '--only --parts --repeat --runs --seconds'],
  ])('refuse %j and say what would do', (args, message) => {
    expect(() => readPeersOptions(args)).toThrow(InvalidRequest);
    expect(() => readPeersOptions(args)).toThrow(message);
  });
});

describe('options that are numbers', () => {
  it('have their defaults', () => {
    expect(readNumbers(['--runs', '7'], { runs: 10_000, events: 100 })).toEqual({ runs: 7, events: 100 });
  });

  it('are whole and above 0', () => {
    expect(() => readNumbers(['--runs', '1.5'], { runs: 1 })).toThrow("--runs is '1.5'");
  });
});

describe('parts beside numbers', () => {
  const read = (...args: string[]) => readPartsAndNumbers(args, ['screen', 'list'], { runs: 50 });

  it('are all of them when none is named', () => {
    expect(read('--runs', '7')).toEqual({ parts: new Set(['screen', 'list']), numbers: { runs: 7 } });
  });

  it('are those that are named', () => {
    expect(read('--parts', 'list')).toEqual({ parts: new Set(['list']), numbers: { runs: 50 } });
    expect(() => read('--parts', 'lists')).toThrow("There is no part 'lists'; there are screen, list.");
  });
});
