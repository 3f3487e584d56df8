/** Compares what two sizes of one input cost, so that a test of growth needs no limit in milliseconds. */

/** Below this a measurement says more about the machine than about the code. */
const LEAST_MS = 2;
const TIMES_LARGER = 8;

/** Leaves room for a collector's pause above the 8 times of linear growth; the square of the size would be 64 times. */
export const LINEAR = 32;

/**
 * How many times as long an input that is eight times as large takes this thread.
 * @param size of the smaller input; the larger one has to be large enough for a square to show
 */
export async function growthOf<Input>(
  size: number,
  make: (size: number) => Input,
  read: (input: Input) => unknown,
): Promise<number> {
  const [small, large] = [make(size), make(size * TIMES_LARGER)];
  const base = Math.max(LEAST_MS, Math.min(await cpuMs(read, small), await cpuMs(read, small)));
  return (await cpuMs(read, large)) / base;
}

async function cpuMs<Input>(read: (input: Input) => unknown, input: Input): Promise<number> {
  const before = process.threadCpuUsage();
  await read(input);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
