/** The outcomes as a table in Markdown. */
import type { Try } from './try-repository.ts';

const CELL_LENGTH = 400;

/** One row a try, and below them how many came to which outcome. */
export function tableOf(tries: readonly Try[]): string {
  const rows = tries.map((one) => {
    const { repository, outcome, reason, baseline, setupS, testsS, totalS, seen } = one;
    return [
      repository.name,
      `${repository.language}, ${repository.kind}`,
      baseline,
      setupS === null ? '–' : String(setupS),
      testsS === null ? '–' : String(testsS),
      String(totalS),
      reason === '' ? outcome : `${outcome}: ${reason}`,
      [...seen.lines, `longest silence ${seen.longestSilenceS} s`].join(' · '),
    ];
  });
  const head = ['repository', 'kind', 'baseline', 'setup s', 'tests s', 'total s', 'outcome', 'what the person saw'];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
}

/** Such as "7 completed (3 not JavaScript), 1 refused before any cost, 2 failed". */
export function countOf(tries: readonly Try[]): string {
  const completed = tries.filter(({ outcome }) => outcome === 'completed');
  const others = completed.filter(({ repository }) => !repository.language.endsWith('Script'));
  const number = (outcome: Try['outcome']): number => tries.filter((one) => one.outcome === outcome).length;
  return `${completed.length} completed (${others.length} not JavaScript), ${number('refused')} refused before any cost, ${number('failed')} failed`;
}

function cell(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
  return line.length > CELL_LENGTH ? `${line.slice(0, CELL_LENGTH)}…` : line;
}
