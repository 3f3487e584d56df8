/**
 * Protocol between the bench and a measuring process: one JSON argument with the order, then messages with the results.
 */
import { z } from 'zod';

const order = <Part extends string, Shape extends z.ZodRawShape>(part: Part, shape: Shape) =>
  z.strictObject({
    part: z.literal(part),
    /** The adapter's module, from this folder. */
    adapter: z.string(),
    folder: z.string(),
    settings: z.record(z.string(), z.string()),
    ...shape,
  });

const orderSchema = z.discriminatedUnion('part', [
  /** So many runs, `concurrency` at a time, none begun after `seconds`. */
  order('throughput', { concurrency: z.int(), runs: z.int(), seconds: z.number() }),
  /** Runs that wait for their approval, as many as each count says; the process then stays until it is killed. */
  order('waiting', { counts: z.array(z.int()).readonly() }),
  /** Opens what such a process left, approves all and finishes them. */
  order('restart', { runs: z.int() }),
  /** Runs of so many steps with growing state, none of which may take longer than `seconds`. */
  order('growth', { steps: z.array(z.int()).readonly(), seconds: z.number() }),
]);

export type Order = z.infer<typeof orderSchema>;

export type Report =
  | {
      readonly part: 'throughput';
      readonly concurrency: number;
      readonly runsPerS: number;
      /** From before the approval is sent until the implementation begins. */
      readonly approveP50Ms: number | null;
      readonly approveP99Ms: number | null;
      readonly bytesPerRun: number | null;
    }
  | {
      readonly part: 'waiting';
      readonly waiting: number;
      readonly rssMb: number;
      /** Of the processes beside this one; `null` when there are none. */
      readonly enginePssMb: number | null;
    }
  /** From before the store is opened until the last run is completed. */
  | { readonly part: 'restart'; readonly seconds: number }
  | { readonly part: 'growth'; readonly steps: number; readonly stepMs: number }
  /** Something of an order came to nothing; the rest goes on. */
  | { readonly part: 'failed'; readonly message: string };

export function readOrder(argument: string | undefined): Order {
  return orderSchema.parse(JSON.parse(argument ?? ''));
}
