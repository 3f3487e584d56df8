import { describe, expect, it } from 'vitest';
import { citationFaults } from './citation-faults.ts';
import { renderMarkdownReport } from './render-markdown-report.ts';
import { renderPlan } from './render-plan.ts';
import { renderReport } from './render-report.ts';
import { aFinding, aLongReport, aPlan, aReport, aSource } from './report.fixture.ts';
import type { ReportModel } from './report-model.ts';
import { renderTemplate } from './template.ts';

const SECTIONS = [
  'Executive Summary',
  'Background \\& Context',
  'Key Findings',
  'Analysis \\& Synthesis',
  'Open Questions',
  'Methodology',
  'Sources',
  'Left out',
];

async function latexOf(model: ReportModel): Promise<{ readonly tex: string; readonly bib: string }> {
  const rendered = await renderReport(model);
  if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
  return rendered;
}

function markdownOf(model: ReportModel): string {
  const rendered = renderMarkdownReport(model);
  if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
  return rendered.markdown;
}

function sectionsOf(tex: string): readonly string[] {
  return [...tex.matchAll(/^\\section\{(.+)\}$/gm)].map(([, name = '']) => name);
}

describe('a report in LaTeX', () => {
  it('has its sections in their order, and a bibliography before its appendix', async () => {
    for (const model of [aReport(), aLongReport()]) {
      const { tex } = await latexOf(model);
      expect(sectionsOf(tex)).toEqual(SECTIONS);
      expect(tex).toMatch(/\\bibliographystyle\{plainnat\}\n\\bibliography\{sources\}\n\n\\appendix\n/);
    }
  });

  it('has an entry for each citation, and a comment with its finding before each claim', async () => {
    const model = aLongReport();
    const { tex, bib } = await latexOf(model);
    expect(citationFaults(tex, bib)).toEqual([]);
    for (const { id } of model.findings) expect(tex).toMatch(new RegExp(`^% finding ${id}\\n\\\\subsection`, 'm'));
    const paragraphs = tex.split('\n\n').filter((paragraph) => /\\cite[pt]\{/.test(paragraph));
    const unmarked = paragraphs.filter(
      (paragraph) =>
        !/^% finding F\d+$/m.test(paragraph) && !/\\paragraph\{(?:Claim|Evidence|Sources)\.\}/.test(paragraph),
    );
    expect(unmarked).toEqual([]);
  });

  it('cites the sources of a finding behind its claim, before the full stop', async () => {
    const { tex } = await latexOf(aReport());
    expect(tex).toContain(
      '\\paragraph{Claim.} The log groups writes of \\textbf{many runs} into one commit \\citep{doe-2024-c3e190cd05}.',
    );
  });

  it('shows both positions of a conflict, with its resolution or as an open question', async () => {
    const { tex } = await latexOf(aLongReport());
    const [, analysis = ''] = tex.split('\\section{Analysis');
    const [resolved = '', open = ''] = analysis.split('\\section{Open Questions}');
    expect(resolved).toContain('\\paragraph{How long does recovery take after kill -9?}');
    expect(resolved).toContain(
      '% finding F2\n% finding F5\n\\item Recovery takes 9 seconds, whatever the machine \\citep{',
    );
    expect(resolved).toContain('\\textit{Resolution.} % finding F5\nThe second measurement');
    expect(open).toContain('\\paragraph{Is SQLite enough for 1,000 runs at once?}');
    expect(open).toContain('% finding F6\n\\item No:');
  });

  it('names each reference to something that is not there, or is there twice', async () => {
    const model = aReport({
      executiveSummary: 'x [F2] **[F3]**',
      analysis: '- [F4]',
      findings: [
        aFinding(),
        aFinding(),
        aFinding({ id: 'X', sources: ['https://e.com/no'], evidence: [] }),
        aFinding({ id: 'F8', sources: [], evidence: [] }),
      ],
      sources: [aSource(), aSource()],
      conflicts: [{ question: 'Q?', positions: [{ statement: 'a', findings: ['F5'] }], resolution: '[F6]' }],
    });
    const faults = [
      'Finding F1 is in the report twice.',
      'Source https://example.com/durable-execution is in the report twice.',
      "'X' is no id of a finding: use F and a number.",
      'Finding X cites https://e.com/no, which is not among the sources.',
      'Finding F8 has no source.',
      "The conflict 'Q?' has fewer than two positions.",
      'The executive summary cites finding F2, which does not exist.',
      'The executive summary cites finding F3, which does not exist.',
      'The analysis cites finding F4, which does not exist.',
      "The resolution of 'Q?' cites finding F6, which does not exist.",
      "A position on 'Q?' cites finding F5, which does not exist.",
    ];
    expect(await renderReport(model)).toEqual({ ok: false, faults });
    expect(renderMarkdownReport(model)).toEqual({ ok: false, faults });
  });

  it('is the same for the same model, and takes no text for a template', async () => {
    const model = aReport({ topic: '<< date >> <% for x in y %> {{ title }} <# no #>' });
    const { tex } = await latexOf(model);
    expect(tex).toContain('\\title{\\textless{}\\textless{} date \\textgreater{}\\textgreater{}');
    expect((await latexOf(model)).tex).toBe(tex);
  });
});

describe('a template', () => {
  it('gets all text escaped, however deep it lies, and fails for a value that is not given', async () => {
    expect(await renderTemplate('<< a[0].b >> << c >>', { a: [{ b: '50%' }], c: '$' })).toBe('50\\% \\$');
    await expect(renderTemplate('<< missing >>', {})).rejects.toThrow('undefined');
  });
});

describe('a plan in LaTeX', () => {
  it('has its sections, its steps behind those that they depend on, and links to what it depends on', async () => {
    const rendered = await renderPlan(aPlan(), aReport());
    if (!rendered.ok) throw new Error(rendered.faults.join('\n'));
    const { tex } = rendered;
    expect(sectionsOf(tex)).toEqual([
      'Vision \\& Objectives',
      'Architecture Overview',
      'Component Design',
      'Technology Stack',
      'Defensibility Analysis',
      'Risk Assessment',
      'Implementation Sequence',
      'Open Design Decisions',
    ]);
    expect(tex).toContain('\\title{Implementation Plan: Durable Engine}');
    expect(tex).toContain('\\hyperref[component:1]{Log}.');
    expect(tex.indexOf('\\textbf{Log}')).toBeLessThan(tex.indexOf('\\textbf{Engine} (after \\ref{step:1})'));
    expect(citationFaults(tex, rendered.bib)).toEqual([]);
    expect(tex).toContain('\\bibliography{sources}');
  });

  it('has no bibliography where it cites nothing', async () => {
    const rendered = await renderPlan(aPlan({ vision: 'None.', risks: [] }), aReport());
    expect(rendered.ok && rendered.tex).not.toContain('\\bibliography');
  });

  it('names steps that wait for each other, and names that do not exist', async () => {
    const step = { title: 'S', description: '[F7]' };
    const plan = aPlan({
      components: [{ name: 'A', purpose: '', interfaces: '', approach: '', dependencies: ['B'] }],
      steps: [
        { ...step, id: 'a', dependsOn: ['b'] },
        { ...step, id: 'b', dependsOn: ['a', 'z'] },
        { ...step, id: 'c', dependsOn: [], description: '' },
      ],
    });
    expect(await renderPlan(plan, aReport())).toEqual({
      ok: false,
      faults: [
        "Component 'A' depends on 'B', which is no component of the plan.",
        "Step 'b' depends on 'z', which is no step of the plan.",
        "Step 'a' cites finding F7, which does not exist.",
        "Step 'b' cites finding F7, which does not exist.",
        "Steps wait for each other: 'a', 'b'.",
      ],
    });
  });
});

describe('a report in Markdown', () => {
  it('has the sections of the report, numbers of sources, and its appendices', () => {
    const markdown = markdownOf(aLongReport());
    expect([...markdown.matchAll(/^## (.+)$/gm)].map(([, name = '']) => name)).toEqual(
      SECTIONS.map((name) => name.replace('\\&', '&')),
    );
    expect(markdown).toContain('### Finding 1: Observation number 1 (F1)');
    expect(markdown).toMatch(/an effect happens \\\[1, 2, 3, 4, 5, 6\\\]\./);
    expect(markdown).toContain(
      '| 1 | <https://example.com/a/very/long/path/0?query=one&other=two#fragment_with_underscores> |',
    );
    expect(markdown).toContain(
      '`https://blog.example.net/posts/this-page-does-not-exist_any-more?utm_source=x%20y&id=42`',
    );
  });

  it('has no HTML, no image, no heading and no link that its text brings', () => {
    const hostile =
      '<script>alert(1)</script> <img src=x onerror=y> ![i](javascript:alert(1)) [l](javascript:alert(1)) <javascript:x> <!-- c --> \u202Ex | y\n# h';
    const model = aReport({
      topic: hostile,
      background: hostile,
      findings: [aFinding({ title: hostile, claim: hostile, confidenceReason: hostile, caveats: [hostile] })],
      openQuestions: [{ question: hostile, detail: hostile }],
      leftOut: [{ claim: hostile, address: 'javascript:alert(1)|`x`', reason: hostile }],
      sources: [aSource({ title: hostile, credibilityReason: hostile }), aSource({ address: 'javascript:alert(1)' })],
    });
    const markdown = markdownOf(model);
    const own = markdown.replace('<https://example.com/durable-execution>', '');
    expect(own.replaceAll('<https://example.com/durable-execution>', '').replaceAll(/`+[^`]+`+/g, '')).not.toMatch(
      /(?<!\\)[<[]|\u202E/,
    );
    expect(markdown.match(/^#{1,2} .+$/gm)).toHaveLength(9);
  });
});
