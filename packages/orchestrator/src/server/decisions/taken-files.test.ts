/** Files of another run that a decision may not take. */
import type { Gate, Project, RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { takenFiles } from './taken-files.ts';

/** What becomes of taking such files of another run into a run that owns some, whose branch has these files. */
async function taking(paths: readonly string[], owned: readonly string[], files: readonly string[] = []) {
  const state = { mode: '100644', oid: 'o' };
  const view = {
    id: 'r-1',
    projectId: 'p-1',
    baseCommit: 'c',
    headCommit: 'own',
    workflow: { name: 'backlog', version: 1 },
  };
  const other = { ...view, id: 'r-2', headCommit: 'h', codeTree: 't', scriptedModels: [] } as unknown as RunView;
  return takenFiles(
    {
      repository: {
        changes: async () => paths.map((path) => ({ path, before: null, after: state })),
        // The code tree has no engine-owned files.
        listFiles: async (_project, treeish) => (treeish === 'own' ? files : []),
        restorePaths: async () => 'another',
        treeOf: async () => 't',
      },
      view: async () => other,
      projectOf: async () => ({ id: 'p-1' }) as Project,
      gateInfo: () => ({ title: 'Result', presents: 'changes', takesFilesOn: 'reject' }),
    },
    { ...view, ownedFiles: { paths: [], inherited: owned, to: 'base' } } as unknown as RunView,
    { id: 'r-1.5', kind: 'result', codeTree: 't' } as Gate,
    { decision: 'reject' as const, feedback: 'Take it.', take: { runId: 'r-2', commit: 'h', paths } },
  );
}

it('refuses an engine-owned file by its path', async () => {
  await expect(taking(['src/app.ts', 'ai/backlog.md'], ['ai/*.md'])).rejects.toThrow(
    'Run r-1 cannot take ai/backlog.md: engine-owned files are written by the server alone.',
  );
});

it('refuses a file that would take the place of a folder with engine-owned files', async () => {
  await expect(taking(['AI'], ['ai/*.md'])).rejects.toThrow('Run r-1 cannot take AI: engine-owned files');
  await expect(taking(['docs/a'], ['docs/**/status.md'], ['docs/a/status.md'])).rejects.toThrow(
    'docs/a cannot be taken: a path is a file in one of the two results and a folder in the other.',
  );
  await expect(taking(['docs/b'], ['docs/**/status.md'], ['docs/a/status.md'])).resolves.toBeDefined();
});
