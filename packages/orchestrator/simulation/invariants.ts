/** Invariants of every schedule, whatever happens. A violation shows these sentences. */

export const INVARIANTS = {
  acknowledged: 'What was acknowledged is in the log, after every crash too.',
  unique: 'No event is stored twice, and each run counts its events without gaps.',
  effects: 'Each effect happens at most once for its key.',
  done: 'What a stored outcome says was done has been done, and its output is what the activity gave.',
  calls: 'A model is called again only after a crash or an end, each call under an attempt of its own.',
  replay: 'Replaying the log gives the stored activities, timers and snapshot.',
  chain: "Every run's hash chain verifies.",
  view: 'The stored view, the one that listeners get and the one that commands answer are folds of the events.',
  start: 'No activity is performed before its start is on disk, nor for a run that has ended or is quarantined.',
  late: 'An outcome is taken once, and only while its activation is open.',
  gate: 'A gate has one winner, and a decision counts only for the gate that it names.',
  alive:
    'Once the faults stop, every run comes to its end or to a named wait, and what waits goes on when it is decided.',
  ended: 'A run that has ended has no open activity or timer and takes no further event but what its calls came to.',
  places: 'No more runs of a user work than there are places, and places come free again.',
  timers: 'A timer is armed for the time that its machine names, never fires early and is never lost.',
  feed: 'Listeners get each stored event once, in order, and only after the commit.',
  children:
    'A child is started by an activation of its parent, its end is what the parent gets, and it ends when nobody waits for it.',
  refusals: 'A command or step is refused only for a reason of its own.',
  launch: 'A launch that is repeated under its id gives the run that is there.',
  quiet: 'Nothing fails inside the engine that nobody handles.',
} as const;
export type Invariant = keyof typeof INVARIANTS;

/** The first thing that was wrong in a schedule; the schedule ends with it. */
export class Violation extends Error {
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(message);
    this.name = 'Violation';
    this.invariant = invariant;
  }
}
