/** Runs, events, gates and changes as a person is shown them: texts, patches as lists, and warnings of what a text hides. */
export * from './review/diff-review.ts';
export * from './event-text.ts';
export { clippedPath, foreseenConflictText, foreseenConflictsBrief } from './review/foreseen-conflicts.ts';
export * from './gates/gate-details.ts';
export * from './text/look-alikes.ts';
export { branchConflictOf, conflictCommands } from './review/merge-conflict.ts';
export * from './text/mermaid-fault.ts';
export * from './review/patch.ts';
export { pulseOf, pulseText, withPulse, withoutPulse } from './pulse.ts';
export * from './review/reordered-lines.ts';
export * from './review/review-comments.ts';
export * from './text/sanitize-text.ts';
export * from './text/server-address.ts';
export * from './text/sign-in-link.ts';
export { shellWord } from './text/shell-word.ts';
export * from './test-count.ts';
export * from './text/text-warnings.ts';
export * from './times.ts';
