import { NeedsHuman, type RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import type { LatexFile, LatexOutcome } from '../activities/compile-latex.ts';
import { aView } from '../event-store/sqlite/steps.fixture.ts';
import { CompiledDocuments } from './compiled-documents.ts';

const TEX = 'docs/research-bells/bells-report.tex';
const FILES: Readonly<Record<string, string>> = {
  [TEX]: '\\documentclass{article}',
  'docs/research-bells/sources.bib': '@misc{one}',
  'docs/research-bells/notes/other.bib': '@misc{two}',
  'docs/other.bib': '@misc{three}',
};
const PDF: LatexOutcome = { kind: 'compiled', pdf: Buffer.from('%PDF'), pages: 3, log: '' };

const reported = (commitSha: string): RunView => ({
  ...aView('r-1'),
  artifacts: [
    { type: 'research_report', gitPath: TEX.replace('.tex', '.md'), commitSha, version: 4 },
  ] as unknown as RunView['artifacts'],
});

function documentsOf(
  compile: (main: string, files: readonly LatexFile[]) => Promise<LatexOutcome>,
  {
    viewOf = () => reported('c1'),
    files = FILES,
  }: { readonly viewOf?: (id: string) => RunView; readonly files?: Readonly<Record<string, string>> } = {},
) {
  return new CompiledDocuments({
    engine: { view: async (id) => viewOf(id) },
    repository: {
      listFiles: async () => Object.keys(files),
      readFiles: async (_project, _commit, paths) =>
        new Map(paths.flatMap((path) => (files[path] === undefined ? [] : [[path, files[path]] as const]))),
    },
    workflows: { latest: () => ({}) as never },
    describeWorkflow: () =>
      ({
        documents: {
          research_report: { title: 'Report', drawnAs: 'markdown' },
          research_pdf: { title: 'PDF', drawnAs: 'pdf', compiledFrom: 'research_report' },
        },
      }) as never,
    projects: { of: async () => ({}) as never },
    compile,
  });
}

it('compiles the file beside the text with the bibliographies of its folder alone', async () => {
  const given: unknown[] = [];
  const documents = documentsOf(async (main, files) => {
    given.push(main, files);
    return PDF;
  });
  expect(await documents.compile('r-1')).toEqual({
    outcome: 'compiled',
    fileName: 'bells-report.pdf',
    commit: 'c1',
    version: 4,
    pages: 3,
    content: Buffer.from('%PDF').toString('base64'),
  });
  expect(given).toEqual([
    'bells-report.tex',
    [
      { name: 'bells-report.tex', content: FILES[TEX] },
      { name: 'sources.bib', content: '@misc{one}' },
    ],
  ]);
});

it('names what is missing, the errors, and a sandbox that cannot be opened', async () => {
  expect(await documentsOf(async () => ({ kind: 'absent', missing: ['latexmk'] })).compile('r-1')).toMatchObject({
    outcome: 'absent',
    missing: ['latexmk'],
  });
  const errors = [
    { file: null, line: 3, message: 'Undefined control sequence.' },
    { file: null, line: null, message: 'Emergency stop.' },
  ] as never;
  expect(await documentsOf(async () => ({ kind: 'failed', errors, log: '' })).compile('r-1')).toMatchObject({
    outcome: 'failed',
    errors: ['line 3: Undefined control sequence.', 'Emergency stop.'],
  });
  const closed = documentsOf(async () => {
    throw new NeedsHuman('sandbox_unavailable', 'bwrap is not installed.');
  });
  await expect(closed.compile('r-1')).rejects.toThrow('The document cannot be compiled now: bwrap is not installed.');
  await expect(closed.compile('r-1')).rejects.toMatchObject({ status: 503 });
});

it('refuses a text whose LaTeX file is gone, and a run without a text', async () => {
  await expect(documentsOf(async () => PDF, { files: {} }).compile('r-1')).rejects.toThrow(
    `The repository has no ${TEX} at c1.`,
  );
  await expect(documentsOf(async () => PDF, { viewOf: aView }).compile('r-2')).rejects.toMatchObject({
    status: 409,
    message: 'Run r-2 has no report yet: it is written at the end of each round. Ask again then.',
  });
});

it('compiles one document at a time, the same one once for all who ask, and refuses a sixth that would wait', async () => {
  let running = 0;
  let most = 0;
  let times = 0;
  const documents = documentsOf(
    async () => {
      running += 1;
      times += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return PDF;
    },
    { viewOf: (id) => reported(id) },
  );
  const asked = ['c1', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((commit) =>
    documents.compile(commit).catch((error: unknown) => error),
  );
  const answers = await Promise.all(asked);
  expect(answers.map((answer) => (answer instanceof Error ? answer.message : 'compiled'))).toEqual([
    ...Array.from({ length: 6 }, () => 'compiled'),
    '5 documents are being compiled already. Ask again in a minute.',
  ]);
  expect({ most, times }).toEqual({ most: 1, times: 5 });
});
