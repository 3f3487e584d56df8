/** Everything that a schedule can do to an engine. Each has a counter, and a test fails when one never fired. */

export const FAULTS = [
  'crash before a commit',
  'crash after a commit, before its answer',
  'crash before a request with a key is answered',
  'crash before an outcome is stored',
  'crash before an activity looks for its effect',
  'crash before an effect',
  'crash after an effect',
  'crash before a model call is answered',
  'crash before a timer is looked at',
  'crash in recovery',
  'crash twice in a row',
  'crash at any moment',
  'server stopped and started again',
  'slow disk',
  'appends that overlap',
  'slow read',
  'full disk',
  'failing commit',
  'failing commit that the disk had after all',
  'stale step in the same commit',
  'step that fails half-way in the same commit',
  'activity fails for a while',
  'activity fails after its effect',
  'activity needs a person',
  'activity fails for good',
  'activity has a bug',
  'lost sandbox',
  'model is overloaded',
  'model names a time to come back',
  'output that the machine cannot process',
  'activity outlasts its time',
  'activity ends late, after it was aborted',
  'clock jumps forward',
  'clock jumps back',
  'timer due with an outcome',
  'run without a place',
  'approval twice at once',
  'decisions that conflict',
  'decision on a gate that is gone',
  'cancel against a decision',
  'answer twice at once',
  'message while it runs',
  'signal that is not declared',
  'launch twice at once',
  'launch again later',
  'cancel twice',
  'request sent again after a crash',
  'listener that fails',
  'as many child runs at once as may be',
  'child run left by its parent',
  'child run that does not complete',
] as const;
export type Fault = (typeof FAULTS)[number];

export type FaultCounts = Record<Fault, number>;

export function noFaults(): FaultCounts {
  return Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as FaultCounts;
}

export function addFaults(to: FaultCounts, more: Readonly<FaultCounts>): void {
  for (const fault of FAULTS) to[fault] += more[fault];
}
