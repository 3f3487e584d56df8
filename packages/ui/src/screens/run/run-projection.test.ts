import type { ProjectionSection, RunProjection, RunView } from '@autonomous/shared';
import { aRun, aWorkflow } from '@autonomous/shared/a-run.fixture';
import { createElement } from 'react';
import { describe, expect, it } from 'vitest';
import type { Loaded } from '../../components/loading.tsx';
import { shownIn } from '../../hosts/shown.fixture.ts';
import { RunPdf } from './run-pdf.tsx';
import { DocumentsBeside } from '../compare/documents-beside.tsx';
import { RunProjectionView } from './run-projection.tsx';

const loaded = (...sections: readonly ProjectionSection[]): Loaded<RunProjection> => ({
  value: { sequence: 9, sections },
  isOld: false,
  fault: null,
  isLoading: false,
  again: () => undefined,
});
const shown = (...sections: readonly ProjectionSection[]): string =>
  shownIn({}, createElement(RunProjectionView, { projection: loaded(...sections) }));

const entry = (number: number, parts: object = {}) => ({
  title: `Round ${number}`,
  startedAt: '2030-01-01T10:00:00.000Z',
  endedAt: '2030-01-01T10:02:00.000Z',
  mark: { text: 'quiet', tone: 'quiet' as const },
  facts: ['1 new finding', '0 known'],
  parts: [{ title: `Researcher of ${number}`, text: 'How old?', facts: ['2 read'] }],
  ...parts,
});
const timeline = (...entries: readonly ReturnType<typeof entry>[]): ProjectionSection => ({
  kind: 'timeline',
  id: 'rounds',
  title: 'Rounds',
  empty: 'The first round has not begun.',
  entries,
  total: entries.length,
});

describe('A timeline of a projection', () => {
  it('has the newest entry first and open, with the time that each took', () => {
    const html = shown(timeline(entry(1), entry(2)));
    expect(html.indexOf('Round 2')).toBeLessThan(html.indexOf('Round 1'));
    expect(html.match(/<details open="">/g)).toHaveLength(1);
    expect(html.indexOf('<details open="">')).toBeLessThan(html.indexOf('Round 1'));
    expect(html).toContain('1 new finding · 0 known');
    expect(html).toContain(' · 2 min');
    expect(html).toContain('<span class="outcome tone-quiet">quiet</span>');
  });

  it('shows that an entry is under way', () => {
    expect(shown(timeline(entry(1, { endedAt: null })))).toContain('<li class="under-way">');
  });

  it('is folded from the sixth entry on, so that what stands below it is near', () => {
    const entries = Array.from({ length: 7 }, (_, index) => entry(index + 1));
    expect(shown(timeline(...entries.slice(0, 5)))).not.toContain('earlier');
    const html = shown(timeline(...entries));
    expect(html).toContain('<details><summary>2 earlier: Rounds</summary>');
    expect(html.indexOf('2 earlier: Rounds')).toBeGreaterThan(html.indexOf('Round 3'));
    expect(html.indexOf('2 earlier: Rounds')).toBeLessThan(html.indexOf('Round 2<'));
  });

  it('says in its place that there is nothing yet', () => {
    expect(shown(timeline())).toContain('<p class="empty">The first round has not begun.</p>');
  });
});

describe('A plot of a projection', () => {
  const plot: ProjectionSection = {
    kind: 'plot',
    id: 'p',
    title: 'New findings',
    about: 'About it.',
    empty: 'No round has ended yet.',
    labelled: 'Round',
    labels: ['1', '2'],
    series: [{ label: 'New findings', values: [4, 0] }],
    threshold: { label: 'Fewer than 2: a quiet round', value: 2 },
  };

  it('is a sentence before the first point', () => {
    expect(shown({ ...plot, labels: [], series: [] })).toContain('No round has ended yet.');
  });
});

const list = (count: number, parts: object = {}): ProjectionSection => ({
  kind: 'list',
  id: 'left-out',
  title: 'Left out',
  empty: 'Nothing was left out.',
  items: Array.from({ length: count }, (_, index) => ({ text: `claim ${index + 1}`, ...parts })),
  total: count,
});

describe('A list of a projection', () => {
  it('is folded from the eleventh item on', () => {
    expect(shown(list(10))).not.toContain('more: Left out');
    const html = shown(list(12));
    expect(html).toContain('2 more: Left out');
    expect(html.indexOf('more: Left out')).toBeLessThan(html.indexOf('claim 11'));
  });

  it('shows passages word for word, and leads to addresses of the web alone', () => {
    const html = shown(list(1, { quote: '<b>bold</b>', source: { text: 'a', href: 'javascript:alert(1)' } }));
    expect(html).toContain('<blockquote dir="auto">&lt;b&gt;bold&lt;/b&gt;</blockquote>');
    expect(html).not.toContain('javascript:');
    expect(shown(list(1, { href: 'https://example.org' }))).toContain('<a href="https://example.org" target="_blank"');
  });
});

it('lays texts out in the direction of their script', () => {
  const html = shown(list(1, { text: 'أقدم جرس, says Wikipedia', note: 'ملاحظة' }));
  expect(html).toContain('<span dir="auto" class="projected-text tone-plain">أقدم جرس, says Wikipedia</span>');
  expect(html).toContain('<span dir="auto" class="below quiet">ملاحظة</span>');
});

describe('A table of a projection', () => {
  const table = (count: number, total = count): ProjectionSection => ({
    kind: 'table',
    id: 'sources',
    title: 'Sources',
    empty: 'No page has been read yet.',
    columns: ['Source', 'Status'],
    rows: Array.from({ length: count }, (_, index) => [{ text: `page ${index + 1}` }, { text: 'Read' }]),
    total,
  });

  it('begins with 50 rows, so that a long one is quickly shown', () => {
    const html = shown(table(1_500));
    expect(html.match(/<th scope="row">/g)).toHaveLength(50);
    expect(html).toContain('Show more: 1450 left');
    expect(html).toContain('aria-label="Filter: Sources"');
    expect(shown(table(3))).not.toContain('Filter');
  });

  it('says what the server left out', () => {
    expect(shown(table(60, 3_000))).toContain('Sources: the first 60 of 3000.');
  });
});

it('says that the projection cannot be fetched, with a way to try again', () => {
  const projection = { ...loaded(), value: null, fault: 'the server is away' };
  const html = shownIn({}, createElement(RunProjectionView, { projection }));
  expect(html).toContain('The course of the run could not be fetched: the server is away');
  expect(html).toContain('Try again');
});

describe('Documents beside an overview', () => {
  const workflows = [
    aWorkflow({
      gates: {},
      documents: {
        findings: { title: 'Report', drawnAs: 'markdown' },
        paper: { title: 'PDF', drawnAs: 'pdf' },
        code: { title: 'Changes', drawnAs: 'changes' },
      },
    }),
  ];
  const beside = (documents = workflows): string =>
    shownIn({ workflows: documents }, createElement(DocumentsBeside, { run: aRun(), absent: { paper: 'No LaTeX.' } }));

  it('are those that can be read, one of them at a time', () => {
    const html = beside();
    expect(html).toContain('Report');
    expect(html).toContain('PDF');
    expect(html).not.toContain('Changes');
    expect(html).toContain('There is no report yet.');
    expect(html).not.toContain('No LaTeX.');
  });

  it('say in the place of a PDF why there is none', () => {
    const [workflow] = workflows;
    const paper = { paper: { title: 'PDF', drawnAs: 'pdf' } } as const;
    expect(beside(workflow === undefined ? [] : [{ ...workflow, documents: paper }])).toContain('No LaTeX.');
  });

  it.each([
    ['a text that was never compiled', [1, 2], [], 'Compile version 2</button>'],
    ['a text that is newer than its PDF', [1, 2, 3], [2], 'Compile version 3</button>'],
    ['a text whose PDF is there', [1, 2], [2], null],
    ['no text', [], [], null],
  ])('offer to compile %s', (_, texts, papers, button) => {
    const [workflow] = workflows;
    const paper = { title: 'PDF', drawnAs: 'pdf', compiledFrom: 'findings' } as const;
    const [first] = aRun().artifacts;
    const artifacts = [
      ...texts.map((version) => ({ type: 'findings', version })),
      ...papers.map((version) => ({ type: 'paper', version })),
    ].map((artifact, index) => ({ ...first, id: `a-${index}`, ...artifact })) as RunView['artifacts'];
    const html = shownIn(
      { workflows: workflow === undefined ? [] : [{ ...workflow, documents: { ...workflow.documents, paper } }] },
      createElement(RunPdf, { run: aRun({ artifacts }), type: 'paper', info: paper }),
    );
    if (button === null) expect(html).not.toContain('Compile version');
    else expect(html).toContain(button);
  });
});
