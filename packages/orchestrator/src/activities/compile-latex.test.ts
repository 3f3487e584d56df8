/** Compiles with the real TeX of this machine in the real sandbox. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bibliographyOf } from '../documents/latex/bibliography.ts';
import { texCode, texText, texUrl } from '../documents/latex/escape.ts';
import { isSetAsItIs, LOWERED, mathematicsOf, RAISED, transliterated } from '../documents/latex/characters.ts';
import { renderPlan } from '../documents/latex/render-plan.ts';
import { renderReport } from '../documents/latex/render-report.ts';
import { aLongReport, aPlan, aReport, aSource } from '../documents/latex/report.fixture.ts';
import { createBubblewrapProvider } from '../sandboxes/bubblewrap/bubblewrap.ts';
import { TEST_LIMITS } from '../sandboxes/sandbox.contract.ts';
import type { SandboxProvider } from '../sandboxes/sandbox.ts';
import { compileLatex, type LatexFile, type LatexOutcome, type LatexRequest } from './compile-latex.ts';

const provider = createBubblewrapProvider();
const available = await provider.availability();
const absent = ['latexmk', 'pdflatex', 'pdftotext'].filter((name) => spawnSync(name, ['-v']).error !== undefined);
const whyNot = available.ok
  ? absent.length === 0
    ? null
    : `${absent.join(', ')} not installed: apt-get install texlive-latex-extra texlive-fonts-recommended lmodern latexmk poppler-utils`
  : `${available.reason}. ${available.remedy}`;
if (whyNot !== null) process.stderr.write(`tests of LaTeX are skipped: ${whyNot}\n`);

describe.skipIf(whyNot !== null)('a compilation of LaTeX', () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'latex-'));
  });

  afterEach(() => rm(root, { recursive: true, force: true }));

  const compile = (files: readonly LatexFile[], given: Partial<LatexRequest> = {}): Promise<LatexOutcome> =>
    compileLatex(
      { sandboxes: provider, limits: TEST_LIMITS, workFolder: root, scrub: (text) => text.replaceAll('secret', '***') },
      { key: 'r-1/1/compile', signal: new AbortController().signal, progress: () => {} },
      { runId: 'r-1', folder: 'latex', main: 'report.tex', files, ...given },
    );
  const compileBody = (body: string, more: readonly LatexFile[] = []): Promise<LatexOutcome> =>
    compile([{ name: 'report.tex', content: `${PREAMBLE}\\begin{document}\n${body}\n\\end{document}\n` }, ...more]);

  it('gives a report as PDF, with its pages, all citations and all sources', async () => {
    const report = aLongReport();
    const rendered = await renderReport(report);
    if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
    const files = [
      { name: 'report.tex', content: rendered.tex },
      { name: 'sources.bib', content: rendered.bib },
    ];
    const outcome = compiled(await compile(files));
    expect(outcome.pages).toBeGreaterThan(5);
    expect(outcome.log).not.toMatch(/Missing character|Overfull|multiply defined/);
    const text = textOf(outcome.pdf);
    const headings = /^\f?(?:\d|[AB]) {2,}(.+)$/gm;
    expect(
      [...new Set([...text.matchAll(headings)].map(([, name = '']) => name.trim()))].filter(
        (name) => !/\d$/.test(name),
      ),
    ).toEqual([
      'Executive Summary',
      'Background & Context',
      'Key Findings',
      'Analysis & Synthesis',
      'Open Questions',
      'Methodology',
      'Sources',
      'Left out',
    ]);
    expect(text).not.toContain('?)');
    expect(text).toContain('[U+65E5 U+672C U+8A9E]');
    const [links] = [spawnSync('pdfinfo', ['-url', '-'], { input: outcome.pdf }).stdout.toString()];
    for (const { address } of report.sources) expect(links).toContain(address);
    expect(links).not.toContain('this-page-does-not-exist');
    const again = await compile(files);
    expect(again.kind === 'compiled' && again.pdf.equals(outcome.pdf)).toBe(true);
    expect(await readdir(path.join(root, 'r-1'))).toEqual([]);
  });

  it('gives a plan as PDF', async () => {
    const rendered = await renderPlan(aPlan(), aReport());
    if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
    const outcome = compiled(
      await compile([
        { name: 'report.tex', content: rendered.tex },
        { name: 'sources.bib', content: rendered.bib },
      ]),
    );
    expect(textOf(outcome.pdf)).toContain('Implementation Sequence');
  });

  it('sets every character that is taken for one that can be set', async () => {
    const characters = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code)).filter(
      (character) =>
        /[!-~]/.test(character) ||
        isSetAsItIs(character) ||
        mathematicsOf(character) !== null ||
        RAISED.has(character) ||
        LOWERED.has(character) ||
        transliterated(character) !== null ||
        /^\p{L}\p{M}*$/u.test(character.normalize('NFD')),
    );
    const lines = characters.map(
      (character) => `${texText(`${character} ${character}x`).source} ${texCode(character).source}\n\n`,
    );
    const outcome = compiled(await compileBody(lines.join('')));
    expect(outcome.log).not.toContain('Missing character');
    const text = textOf(outcome.pdf);
    // Some are given back as others: a straight quote as a curved one, an ellipsis as three full stops.
    const expected = Array.from('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~äßŁő†‡•‰›€№™→');
    expect(expected.filter((character) => !text.includes(character))).toEqual([]);
  });

  it(
    'sets text, code, addresses and bibliographies that hold everything LaTeX acts on',
    { timeout: 300_000 },
    async () => {
      const hostile = [
        '\\write18{touch pwned} \\input{/etc/passwd} \\end{document} } { $ & # % _ ^ ~ ^^5c ^^4d',
        "\\csname end\\endcsname \\makeatletter @ \\catcode`\\%=12 --- ``quoted'' ?` !` ,, << >>",
        '* [p] 🎉 日本語 \u202Eevil\u202C \u0000 مرحبا {{ nunjucks }} << title >> <% if %> <# x #>',
      ];
      const sources = hostile.flatMap((text, index) => [
        aSource({ address: `https://e.com/${index}/a_b%20c?x={y}&z=$1#~^|`, title: text, authors: [text, '{', '}'] }),
        aSource({ address: `src/${text}`, title: '', authors: [], published: null }),
      ]);
      const rendered = await renderReport(
        aReport({
          topic: hostile.join(' '),
          executiveSummary: hostile.map((text) => `${text} *${text}* \`${text}\``).join('\n\n'),
          openQuestions: hostile.map((question) => ({ question, detail: question })),
          findings: [
            { ...aFindingOf(sources.map(({ address }) => address)), title: hostile.join(' '), caveats: hostile },
          ],
          sources,
          leftOut: hostile.map((text) => ({ claim: text, address: text, reason: text })),
        }),
      );
      if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
      const outcome = await compile([
        { name: 'report.tex', content: rendered.tex },
        { name: 'sources.bib', content: rendered.bib },
      ]);
      if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome));
      const text = textOf(outcome.pdf).replaceAll(/\s+/g, ' ');
      expect(text).toContain('\\write18{touch pwned} \\input{/etc/passwd}');
      expect(text).toContain('^^5c ^^4d');
      expect(text).toContain('<< title >>');
    },
  );

  it(
    'sets an address in an argument, and more sources of a host than there are letters',
    { timeout: 300_000 },
    async () => {
      const address = 'https://e.com/a_b%20c?x=1&y=%7B#frag_ment';
      const sources = Array.from({ length: 60 }, (_, index) =>
        aSource({ address: `https://e.com/${index}`, authors: [], published: null, title: `Page ${index}` }),
      );
      const { bib } = bibliographyOf(sources);
      const body = `\\begin{tabular}{l}${texUrl(address).source}\\\\\\end{tabular}\\footnote{${texUrl(address).source}}\\nocite{*}\\bibliographystyle{plainnat}\\bibliography{sources}`;
      const outcome = await compileBody(body, [{ name: 'sources.bib', content: bib }]);
      if (outcome.kind !== 'compiled') throw new Error(JSON.stringify(outcome));
      expect(spawnSync('pdfinfo', ['-url', '-'], { input: outcome.pdf }).stdout.toString()).toContain(address);
      expect(textOf(outcome.pdf)).toContain('Page 59');
    },
  );

  it('names file, line and message of errors', async () => {
    const outcome = await compileBody('Fine.\n\n\\undefinedcommand');
    expect(outcome).toMatchObject({
      kind: 'failed',
      errors: [
        {
          file: 'report.tex',
          line: 5 + PREAMBLE.split('\n').length - 2,
          message: 'Undefined control sequence. At: \\undefinedcommand',
        },
      ],
    });
  });

  it(
    'fails for a citation without an entry, and for a bibliography that cannot be read',
    { timeout: 300_000 },
    async () => {
      const body = 'See \\citep{absent-2024-1}.\\bibliographystyle{plainnat}\\bibliography{sources}';
      const good = { name: 'sources.bib', content: bibliographyOf([aSource()]).bib };
      expect(await compileBody(body, [good])).toMatchObject({
        kind: 'failed',
        errors: expect.arrayContaining([
          expect.objectContaining({ message: "Citation 'absent-2024-1' has no entry in the bibliography." }),
        ]),
      });
      const broken = { name: 'sources.bib', content: '@misc{absent-2024-1,\n  title = {open {brace},\n' };
      const outcome = await compileBody(body, [broken]);
      expect(outcome).toMatchObject({
        kind: 'failed',
        errors: expect.arrayContaining([expect.objectContaining({ file: 'sources.bib' })]),
      });
    },
  );

  it('runs no program of a document or of settings beside it', async () => {
    const ran = (name: string): string => `\\IfFileExists{pwned-${name}}{\\typeout{RAN-${name}}}{}`;
    const body = `\\immediate\\write18{touch pwned-shell}Text.${ran('shell')}${ran('settings')}${ran('pipe')}`;
    const files = [
      {
        name: 'latexmkrc',
        content: "system('touch pwned-settings'); $pdflatex = 'touch pwned-settings; pdflatex %O %S';",
      },
      { name: 'texmf.cnf', content: 'shell_escape = t\nopenin_any = a\nopenout_any = a\n' },
    ];
    const outcome = compiled(await compileBody(body, files));
    expect(outcome.log).toContain('runsystem(touch pwned-shell)...disabled');
    expect(outcome.log).not.toMatch(/^RAN-/m);
    const piped = await compileBody(`\\input{|"touch pwned-pipe"}`, files);
    expect(piped).toMatchObject({ kind: 'failed', errors: [{ message: expect.stringContaining('not found') }] });
  });

  it.each([
    ['a file of the system', '\\input{/etc/passwd}'],
    [
      'a file by a verbatim reader',
      '\\newread\\f\\openin\\f=/etc/passwd \\ifeof\\f\\errmessage{refused}\\fi\\read\\f to\\x\\x',
    ],
  ])('does not read %s', async (_what, body) => {
    const outcome = await compileBody(body);
    expect(outcome.kind).toBe('failed');
  });

  it('writes no file outside of its folder', async () => {
    const body = '\\newwrite\\f\\immediate\\openout\\f=/tmp/written.txt \\immediate\\write\\f{x}Text.';
    expect((await compileBody(body)).kind).toBe('failed');
  });

  it('ends a document that never ends, and one that writes without end', async () => {
    const endless = await compile([{ name: 'report.tex', content: '\\def\\x{\\x}\\x' }], { timeoutMs: 5_000 });
    expect(endless).toMatchObject({
      kind: 'failed',
      errors: [{ file: 'report.tex', line: null, message: 'The compilation did not end within 5 seconds.' }],
    });
    const body =
      '\\newwrite\\f\\immediate\\openout\\f=big.txt \\def\\x{\\immediate\\write\\f{\\the\\maxdimen\\the\\maxdimen}\\x}\\x';
    expect((await compile([{ name: 'report.tex', content: body }], { timeoutMs: 120_000 })).kind).toBe('failed');
    const growing = await compile([{ name: 'report.tex', content: '\\def\\x{\\x\\x}\\x' }]);
    expect(growing).toMatchObject({
      kind: 'failed',
      errors: [{ message: expect.stringContaining('TeX capacity exceeded') }],
    });
  });

  it('fails for a document that makes no PDF', async () => {
    const outcome = await compile([
      { name: 'report.tex', content: '\\documentclass{article}\\pdfoutput=0\\begin{document}x\\end{document}' },
    ]);
    expect(outcome.kind).toBe('failed');
  });

  it('takes known secrets out of the log', async () => {
    const outcome = await compileBody('\\typeout{a secret}Text.');
    expect(outcome).toMatchObject({ kind: 'compiled', log: expect.not.stringContaining('secret') });
  });

  it('refuses names of files that lead elsewhere', async () => {
    await expect(compile([{ name: '../x.tex', content: '' }], { main: '../x.tex' })).rejects.toThrow(
      'is no name of a file',
    );
    await expect(compile([{ name: 'a.tex', content: '' }], { main: 'b.tex' })).rejects.toThrow('none of the files');
  });
});

describe.skipIf(!available.ok)('where TeX is absent', () => {
  it('a compilation says what is missing', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'latex-'));
    try {
      const sandboxes: SandboxProvider = {
        name: provider.name,
        availability: () => provider.availability(),
        // As on a machine without it: an empty folder where the programs are looked for.
        async open(spec) {
          const sandbox = await provider.open(spec);
          return {
            provider: sandbox.provider,
            run: (request) => sandbox.run({ ...request, command: `PATH=/no-tex\n${request.command}` }),
            start: (request) => sandbox.start(request),
            sync: (signal) => sandbox.sync(signal),
            dispose: () => sandbox.dispose(),
          };
        },
      };
      const outcome = await compileLatex(
        { sandboxes, limits: TEST_LIMITS, workFolder: root, scrub: (text) => text },
        { key: 'r-1/1/compile', signal: new AbortController().signal, progress: () => {} },
        { runId: 'r-1', folder: 'latex', main: 'x.tex', files: [{ name: 'x.tex', content: '' }] },
      );
      expect(outcome).toEqual({ kind: 'absent', missing: ['latexmk', 'pdflatex', 'bibtex'] });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});

const PREAMBLE = `\\documentclass{article}
\\usepackage[T1]{fontenc}
\\usepackage{lmodern,amssymb,textcomp,natbib,xurl}
\\usepackage[hidelinks]{hyperref}
`;

function compiled(outcome: LatexOutcome): LatexOutcome & { readonly kind: 'compiled' } {
  if (outcome.kind === 'compiled') return outcome;
  throw new Error(JSON.stringify(outcome.kind === 'failed' ? outcome.errors : outcome));
}

function textOf(pdf: Buffer): string {
  return spawnSync('pdftotext', ['-layout', '-', '-'], { input: pdf, maxBuffer: 16 * 1024 * 1024 }).stdout.toString();
}

function aFindingOf(sources: readonly string[]) {
  return {
    id: 'F1',
    title: 'Hostile',
    claim: 'Nothing here acts.',
    evidence: sources.map((source) => ({ quote: source, source })),
    sources,
    confidence: 'low' as const,
    confidenceReason: 'It is hostile.',
    caveats: [],
  };
}
