/**
 * The clock of a stage, a region beside its work: it fires once after the stage's time, and an extension starts it again
 * without touching the work.
 */
import type { AtWork } from '@autonomous/shared';
import { assign, type EventObject, type MachineContext } from 'xstate';
import { changeOf } from './change.ts';
import type { PausableContext } from './pausing.ts';

export interface TimedContext<Stage extends string = string> {
  readonly config: {
    /** Minutes that each stage may take. */
    readonly timeoutMinutes: Readonly<Record<Stage, number>>;
  };
}

/** Actions of clocks. */
export function clockActions<
  Context extends MachineContext & TimedContext & PausableContext,
  Event extends EventObject,
>() {
  const extended = ({ config }: TimedContext, stage: string, minutes: number) =>
    changeOf<Context, TimedContext>({
      config: { ...config, timeoutMinutes: { ...config.timeoutMinutes, [stage]: minutes } },
    });
  return {
    rememberTimeout: assign<Context, Event, { stage: string }, Event, never>(({ context, event }, { stage }) =>
      changeOf<Context, PausableContext>({
        paused: {
          reason: 'timeout',
          message: `The stage ${stage} took longer than ${context.config.timeoutMinutes[stage]} minutes.${wayOn(event, stage)}`,
          stage,
        },
      }),
    ),
    extendStage: assign<Context, Event, { stage: string; minutes: number }, Event, never>(
      ({ context }, { stage, minutes }) => extended(context, stage, minutes),
    ),
    /** Extends the stage that the pause names. */
    extendPausedStage: assign<Context, Event, { minutes: number }, Event, never>(({ context }, { minutes }) =>
      context.paused === null ? {} : extended(context, context.paused.stage, minutes),
    ),
  };
}

/** At most so many of the activities that were under way are named. */
const NAMED = 2;

/** Work that was under way, and the setting; empty where nothing was under way. */
function wayOn(event: object, stage: string): string {
  const { during } = event as { readonly during?: readonly AtWork[] }; // the engine adds it to every timer's event
  if (during === undefined) return '';
  const work = during.slice(0, NAMED).map(({ what, elapsedMs, lastLine }) => {
    const said = lastLine === undefined ? '' : `; its last line: ${lastLine}`;
    return ` Under way was \`${what.replaceAll('`', "'")}\`, for ${duration(elapsedMs)}${said}.`;
  });
  return `${work.join('')} Extend the stage for this run, or set defaultRunConfig.timeoutMinutes.${stage} in .autonomous/config.json for the next ones.`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Delay of a stage's clock by the name `<stage>Timeout`, in milliseconds. */
export function clockDelays<const Stage extends string>(stages: readonly Stage[]) {
  const delays = stages.map((stage) => [
    `${stage}Timeout`,
    ({ context }: { readonly context: TimedContext<Stage> }) =>
      Math.round(context.config.timeoutMinutes[stage] * 60_000),
  ]);
  // The names are made of the stages, which `fromEntries` does not see.
  return Object.fromEntries(delays) as Record<
    `${Stage}Timeout`,
    (args: { readonly context: TimedContext<Stage> }) => number
  >;
}

/**
 * Makes clocks that lead to one pause.
 * @param target state that pauses the run, as in `pausesAt`
 */
export function clockTo<const Target extends string>(target: Target) {
  return <const Stage extends string>(stage: Stage) =>
    ({
      initial: 'running',
      states: {
        running: {
          // A computed key has the type `string`; the name of the delay is known.
          after: { [`${stage}Timeout`]: { target, actions: { type: 'rememberTimeout', params: { stage } } } } as Record<
            `${Stage}Timeout`,
            { target: Target; actions: { type: 'rememberTimeout'; params: { stage: Stage } } }
          >,
          on: {
            STAGE_EXTENDED: {
              target: 'running',
              reenter: true,
              actions: {
                type: 'extendStage',
                params: ({ event }: { readonly event: { readonly minutes: number } }) => ({
                  stage,
                  minutes: event.minutes,
                }),
              },
            },
          },
        },
      },
    }) as const;
}
