/** Runs, events, gates and changes as a person is shown them: texts, patches as lists, and warnings of what a text hides. */
export * from './diff-review.ts';
export * from './event-text.ts';
export { clippedPath, foreseenConflictText, foreseenConflictsBrief } from './foreseen-conflicts.ts';
export * from './gate-details.ts';
export * from './look-alikes.ts';
export { branchConflictOf, conflictCommands } from './merge-conflict.ts';
export * from './mermaid-fault.ts';
export * from './patch.ts';
export { pulseOf, pulseText, withPulse, withoutPulse } from './pulse.ts';
export * from './reordered-lines.ts';
export * from './review-comments.ts';
export * from './sanitize-text.ts';
export * from './test-count.ts';
export * from './text-warnings.ts';
export * from './times.ts';
