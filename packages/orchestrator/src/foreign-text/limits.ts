/** How much is read of what strangers wrote at once, by what it is: bytes of one file, files, and bytes of all. More is left out. */
const MB = 2 ** 20;

export const LIMITS = {
  /** Specifications of a backlog's items. */
  specs: { fileBytes: 2 * MB, files: 20 },
  /** Documents of a roadmap's items. */
  documents: { fileBytes: 4 * MB, files: 10_000, totalBytes: 64 * MB },
  lockfiles: { fileBytes: 4 * MB, totalBytes: 24 * MB },
  tests: { fileBytes: MB, totalBytes: 16 * MB },
  /** Files of which one change is looked at. */
  changed: { fileBytes: 8 * MB },
  /** Contents that are searched for secrets before a push; more is never taken from an agent. */
  outgoing: { fileBytes: 32 * MB },
} as const;
