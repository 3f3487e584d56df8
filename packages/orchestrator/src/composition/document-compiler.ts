/** Compiles documents outside of runs: each in a folder of its own beside those of the runs. */
import { randomUUID } from 'node:crypto';
import { compileLatex } from '../activities/compile-latex.ts';
import type { ActivityTools } from '../activities/tools.ts';
import { removeRunFolder } from '../activities/work-folders.ts';
import type { CompileDocument } from '../server/compiled-documents.ts';

/** A person waits for it. */
const TIMEOUT_MS = 120_000;

/** A folder that a server left behind when it was killed is removed at the next start, as those of ended runs are. */
export function compileWith(tools: ActivityTools): CompileDocument {
  return async (main, files) => {
    const runId = `document-${randomUUID()}`;
    const context = { key: `${runId}/compile`, signal: new AbortController().signal, progress: () => {} };
    try {
      return await compileLatex(tools, context, { runId, folder: 'latex', main, files, timeoutMs: TIMEOUT_MS });
    } finally {
      await removeRunFolder(tools, runId);
    }
  };
}
