/** A report with everything that makes reports hard to set: long words and addresses, contradictions, characters of other scripts. */
import { createHash } from 'node:crypto';
import type { PlanModel } from './plan-model.ts';
import type { ReportFinding, ReportModel, ReportSource } from './report-model.ts';

export function aSource(given: Partial<ReportSource> = {}): ReportSource {
  const address = given.address ?? 'https://example.com/durable-execution';
  return {
    address,
    title: 'Durable execution in practice',
    authors: ['Doe, Jane'],
    published: '2024-05-01',
    fetchedAt: '2026-01-02T03:04:05.000Z',
    hash: createHash('sha256').update(`page ${address}`).digest('hex'),
    credibility: 'high',
    credibilityReason: 'Documentation of the maker.',
    ...given,
  };
}

export function aFinding(given: Partial<ReportFinding> = {}): ReportFinding {
  return {
    id: 'F1',
    title: 'Writes are grouped',
    claim: 'The log groups writes of **many runs** into one commit.',
    evidence: [{ quote: 'Writes of many runs share one commit.', source: 'https://example.com/durable-execution' }],
    sources: ['https://example.com/durable-execution'],
    confidence: 'high',
    confidenceReason: 'Two independent measurements agree.',
    caveats: [],
    ...given,
  };
}

export function aReport(given: Partial<ReportModel> = {}): ReportModel {
  return {
    topic: 'Durable execution',
    date: '2026-01-03',
    executiveSummary: 'Writes are grouped [F1].',
    background: 'Long work is lost when a server stops.',
    findings: [aFinding()],
    analysis: 'The findings agree.',
    conflicts: [],
    openQuestions: [],
    methodology: 'Researchers read pages in rounds.',
    rounds: 5,
    sourcesConsulted: 9,
    credibilityCriteria: 'Primary sources rank first.',
    sources: [aSource()],
    leftOut: [],
    ...given,
  };
}

/** Thirty sources, twelve findings, a contradiction that is resolved and one that is not. */
export function aLongReport(): ReportModel {
  const sources = Array.from({ length: 30 }, (_, index) => longSource(index));
  const findings = Array.from({ length: 12 }, (_, index) => longFinding(index, sources));
  return aReport({
    topic:
      'Durable Execution Engines for Long-Running Agents: Storage, Replay & Recovery under Failure, with 100% of the Costs (in C# and Rust)',
    executiveSummary: PARAGRAPHS.join('\n\n'),
    background: `${PARAGRAPHS[1]}\n\n- first, the *log* [F2]\n- second, \`snapshot_interval=50\` and the flag \`--no-shell-escape\`\n- third, see https://example.com/a/very/long/path/0?query=one&other=two#fragment_with_underscores\n\n1. a numbered one\n2. another [F3][F4]`,
    findings,
    analysis: `${PARAGRAPHS[0]}\n\n### Patterns across findings\n\n${PARAGRAPHS[1]}`,
    conflicts: [
      {
        question: 'How long does recovery take after kill -9?',
        positions: [
          { statement: 'Recovery takes **2 seconds** on two cores.', findings: ['F1'] },
          { statement: 'Recovery takes 9 seconds, whatever the machine.', findings: ['F2', 'F5'] },
        ],
        resolution:
          'The second measurement counts the start of the process as well [F5]; both agree when it is left out.',
      },
      {
        question: 'Is SQLite enough for 1,000 runs at once?',
        positions: [
          { statement: 'Yes: 40,000 steps a second were measured.', findings: ['F3'] },
          { statement: 'No: "one writer is the limit".', findings: ['F6'] },
        ],
        resolution: null,
      },
    ],
    openQuestions: [
      { question: 'What does a year of logs cost?', detail: 'No source names prices. It would have to be measured.' },
    ],
    credibilityCriteria: 'Primary sources rank first, then measurements with their setting, then reports of others.',
    sourcesConsulted: 64,
    rounds: 9,
    sources,
    leftOut: [
      {
        claim: 'Replay is free of charge.',
        address: 'https://blog.example.net/posts/this-page-does-not-exist_any-more?utm_source=x%20y&id=42',
        reason: 'The page answers 404.',
      },
      {
        claim: 'All engines use Paxos.',
        address: 'https://example.com/a/very/long/path/3',
        reason: 'The quoted passage does not stand in the page.',
      },
    ],
  });
}

const PARAGRAPHS = [
  'Engines that keep a **log of events** recover from a crash by *replay*; the log has to be on disk before an effect happens [F1, F2]. The costs differ by a factor of 10 – from $0.10 to $1.00 per 1,000 steps – and depend on grouping (≈ 80 % of the time is waiting for `fsync`) [F3].',
  'A second group of sources describes the opposite trade-off: less is written, and work is done again after a crash [F4]. Names such as `a_very_long_identifier_that_goes_on_and_on_without_any_space_until_the_line_ends` and words of other scripts (日本語, Привет, α ≤ β, naïve café, H₂O, 10⁻³) are set as well as the typeface allows 🙂.',
];

function longSource(index: number): ReportSource {
  const host = ['example.com', 'docs.example.org', 'papers.example.edu'][index % 3] ?? '';
  return aSource({
    address:
      index === 7
        ? `https://${host}/${'segment-of-a-long-address/'.repeat(9)}index.html?session=0123456789abcdef0123456789abcdef&lang=en#section_4.2`
        : `https://${host}/a/very/long/path/${index}${index === 0 ? '?query=one&other=two#fragment_with_underscores' : ''}`,
    title:
      [
        'Durable execution in practice',
        'The {curly} case of 100% & more: #hashes, $dollars and under_scores 🎉',
        'On the Recovery of Statecharts by Replay of Their Inputs, with Measurements on Two Cores and an Appendix about the Costs of fsync',
        'Журнал событий',
        '',
      ][index % 5] ?? '',
    authors:
      [['Doe, Jane'], ['ACME & Sons, Inc'], ['Müller, Käthe', 'Doe, Jane'], [], ['A', 'B', 'C', 'D', 'E', 'F']][
        index % 5
      ] ?? [],
    published: index % 4 === 0 ? null : String(2020 + (index % 6)),
    credibility: (['high', 'medium', 'low'] as const)[index % 3] ?? 'low',
    credibilityReason:
      ['Documentation of the maker.', 'A measurement with its setting.', 'A post of an unknown author.'][index % 3] ??
      '',
  });
}

function longFinding(index: number, sources: readonly ReportSource[]): ReportFinding {
  const cited = [0, 1, 2].map((offset) => sources[(index * 3 + offset) % sources.length]?.address ?? '');
  return aFinding({
    id: `F${index + 1}`,
    title:
      index === 3
        ? 'A title of a finding that is so long that it needs a second line in the heading, and in the contents as well'
        : `Observation number ${index + 1}`,
    claim: 'A step takes **9 µs** when the machine is idle, and `advance()` does not wait for the disk.',
    evidence: [
      {
        quote: 'Measured on an idle machine, a transition takes 9 µs; “reopening” takes 5 µs.',
        source: cited[0] ?? '',
      },
      {
        quote: 'See $HOME/.config & C:\\path_to\\file for the settings (50% of them are defaults).',
        source: cited[1] ?? '',
      },
    ],
    sources: cited,
    confidence: (['high', 'medium', 'low'] as const)[index % 3] ?? 'low',
    caveats: index % 2 === 0 ? ['Only one machine was measured.'] : [],
  });
}

export function aPlan(given: Partial<PlanModel> = {}): PlanModel {
  return {
    project: 'Durable Engine',
    date: '2026-01-04',
    vision: 'An engine whose runs survive crashes [F1].',
    architecture: 'One process with a log.',
    components: [
      { name: 'Log', purpose: 'Keeps events.', interfaces: '`append(event)`', approach: 'A file.', dependencies: [] },
      {
        name: 'Engine',
        purpose: 'Runs machines.',
        interfaces: '`advance()`',
        approach: 'Pure.',
        dependencies: ['Log'],
      },
    ],
    technologyStack: '- SQLite\n- Node',
    defensibility: 'Recorded histories are hard to copy.',
    risks: [{ risk: 'The disk is slow & full.', likelihood: 'low', impact: 'high', mitigation: 'Group writes [F1].' }],
    steps: [
      { id: 'engine', title: 'Engine', description: 'Build it.', dependsOn: ['log'] },
      { id: 'log', title: 'Log', description: 'Build it first.', dependsOn: [] },
    ],
    openDecisions: [{ decision: 'Which file format?', detail: 'JSON or binary.' }],
    ...given,
  };
}
