/** The words for a child run that was cancelled. A machine tells it by them from one that failed. */

const CANCELLED = /^Child run \S{1,100} of workflow '[^'\n]{1,200}' was cancelled/;

/** The message of the error of a cancelled child run. @param reason such as ` by local: Enough`; may be empty */
export function cancelledChildText(runId: string, workflow: string, reason: string): string {
  return `Child run ${runId} of workflow '${workflow}' was cancelled${reason}.`;
}

/** @param message of the error of a child run */
export function isCancelledChild(message: string): boolean {
  return CANCELLED.test(message);
}
