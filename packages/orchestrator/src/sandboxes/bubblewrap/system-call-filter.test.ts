import { describe, expect, it } from 'vitest';
import { systemCallFilter } from './system-call-filter.ts';

/** Plays the program as the kernel would. @returns its answer: "allow" or the error number */
function answerTo(
  program: Uint8Array,
  call: { architecture: number; number: number; first?: number; second?: bigint },
): string {
  const bytes = Buffer.from(program);
  const { number, architecture, first = 0, second = 0n } = call;
  const low = Number(second & 0xffffffffn);
  const data: Record<number, number> = { 0: number, 4: architecture, 16: first, 24: low, 28: Number(second >> 32n) };
  let register = 0;
  for (let at = 0; at * 8 < bytes.length; at += 1) {
    const code = bytes.readUInt16LE(at * 8);
    const operand = bytes.readUInt32LE(at * 8 + 4);
    const [then, otherwise] = [bytes.readUInt8(at * 8 + 2), bytes.readUInt8(at * 8 + 3)];
    if (code === 0x20) register = data[operand] ?? Number.NaN;
    else if (code === 0x15) at += register === operand ? then : otherwise;
    else if (code === 0x35) at += register >= operand ? then : otherwise;
    else if (code === 0x06) return operand === 0x7fff0000 ? 'allow' : `refuse with ${operand & 0xffff}`;
    else throw new Error(`instruction ${code} at ${at}`);
  }
  throw new Error('the program runs off its end');
}

describe('The filter of system calls', () => {
  it.each([
    ['x64', 0xc000003e, 41, 1],
    ['arm64', 0xc00000b7, 198, 63],
  ])(
    'lets through on %s what builds use, and refuses what namespaces leave open',
    (name, architecture, socket, write) => {
      const program = systemCallFilter(name);
      if (program === null) throw new Error('no program');
      expect(answerTo(program, { architecture, number: write })).toBe('allow');
      expect([1, 2, 10, 16].map((first) => answerTo(program, { architecture, number: socket, first }))).toEqual(
        Array.from({ length: 4 }, () => 'allow'),
      );
      expect([0, 17, 38, 40].map((first) => answerTo(program, { architecture, number: socket, first }))).toEqual(
        Array.from({ length: 4 }, () => 'refuse with 97'),
      );
      expect(answerTo(program, { architecture, number: 425 })).toBe('refuse with 38');
      expect(answerTo(program, { architecture: 0x40000003, number: write })).toBe('refuse with 38');
    },
  );

  it.each([
    ['x64', 0xc000003e, { shmget: 29, semget: 64, msgget: 68, memfd: 319 }],
    ['arm64', 0xc00000b7, { shmget: 194, semget: 190, msgget: 186, memfd: 279 }],
  ])('refuses on %s memory that no process holds, but for segments of a few pages', (name, architecture, calls) => {
    const program = systemCallFilter(name);
    if (program === null) throw new Error('no program');
    const segment = (second: bigint) => answerTo(program, { architecture, number: calls.shmget, second });
    expect([56n, 16_384n].map(segment)).toEqual(['allow', 'allow']);
    expect([16_385n, 64n << 20n, 1n << 32n, (1n << 32n) + 56n].map(segment)).toEqual(
      Array.from({ length: 4 }, () => 'refuse with 28'),
    );
    expect([calls.semget, calls.msgget].map((number) => answerTo(program, { architecture, number }))).toEqual(
      Array.from({ length: 2 }, () => 'refuse with 28'),
    );
    expect([calls.memfd, 447].map((number) => answerTo(program, { architecture, number }))).toEqual(
      Array.from({ length: 2 }, () => 'refuse with 38'),
    );
  });

  it('refuses the calls of x32, whose numbers are others', () => {
    const program = systemCallFilter('x64');
    if (program === null) throw new Error('no program');
    const call = { architecture: 0xc000003e, number: 0x40000000 + 41, first: 40 };
    expect(answerTo(program, call)).toBe('refuse with 38');
  });

  it('is none where the numbers of calls are not known', () => {
    expect(systemCallFilter('riscv64')).toBeNull();
  });
});
