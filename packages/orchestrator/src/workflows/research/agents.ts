/** The activities in which agents of a research run work. */
import { NeedsHuman } from '@autonomous/shared';
import { callReadingAgent } from '../../activities/agents/reading-agent.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { commitOwnedFiles, type OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { webTools } from '../../activities/agents/web-tools.ts';
import { type Activity, ONE_TRY_A_SANDBOX } from '../../core/activity.ts';
import { shownContradictions } from './claim-checks/contradictions.ts';
import { supported } from './report/prose.ts';
import { topicFiles } from '../parts/topics/topic-files.ts';
import { repairFault, replaced, withLines } from './report/repairs.ts';
import { findingsOf } from './kept-findings.ts';
import { shownFindings, shownReport } from './report/report-texts.ts';
import { noveltyJudge } from './roles/novelty-judge.ts';
import { repoAnalyst } from './roles/repo-analyst.ts';
import { reportRepairer } from './roles/report-repairer.ts';
import { researcher } from './roles/researcher.ts';
import { synthesiser } from './roles/synthesiser.ts';
import type {
  AgentReport,
  FetchedSource,
  LeftOut,
  ResearchActivities,
  ResearchInput,
  SynthesiseInput,
} from './types.ts';

type Of<Name extends keyof ResearchActivities> = Activity<
  ResearchActivities[Name]['input'],
  ResearchActivities[Name]['output']
>;

/** One agent of a round answers its question. */
export function research(tools: ActivityTools): Of<'research'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { direction, agent } = input;
      const web = direction.kind === 'web' ? webTools(tools.webPages) : null;
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: direction.kind === 'web' ? researcher : repoAnalyst,
        own: { question: direction.question, correction: correctionOf(input) },
        callTools: web?.tools ?? [],
        folder: `reading-${agent}`,
      });
      const report: AgentReport = { ...result, agent, fetched: (web?.log() ?? []).map(sourceOf) };
      return { report, cost };
    },
  };
}

/** A report with the passages of it that were not found. */
function correctionOf({ correction }: ResearchInput): string | null {
  if (correction === undefined) return null;
  const { report, leftOut } = correction;
  const { agent: _agent, fetched: _fetched, ...reported } = report;
  return `${JSON.stringify(reported, null, 1)}\n\nNot taken:\n${leftOut.map(lineOf).join('\n')}`;
}

const lineOf = ({ claim, quote, address, reason }: LeftOut): string =>
  `- ${reason} Claim: ${claim}${quote === '' ? '' : ` Passage: "${quote}" (${address})`}`;

type Logged = ReturnType<ReturnType<typeof webTools>['log']>[number];

function sourceOf(page: Logged): FetchedSource {
  const { requested, at, status } = page;
  if (page.kind === 'refused')
    return {
      requested,
      address: requested,
      at,
      status,
      hash: null,
      title: '',
      author: null,
      published: null,
      mediaType: '',
      refused: page.message,
    };
  const { address, hash, title, author, published, mediaType } = page;
  return { requested, address, at, status, hash, title, author, published, mediaType, refused: '' };
}

export function judge(tools: ActivityTools): Of<'judge'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const pairs = input.doubts
        .map(({ claim, knownClaim }, index) => `${index + 1}. New? ${claim}\n   Known: ${knownClaim}`)
        .join('\n');
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: noveltyJudge,
        own: { pairs },
        callTools: [],
      });
      const verdicts = input.doubts.map((_, index) => result.verdicts.find(({ number }) => number === index + 1));
      return {
        isNew: verdicts.map((verdict) => verdict?.isNew ?? true),
        why: verdicts.map((verdict) => verdict?.why ?? 'The judge said nothing about it; it counts as new.'),
        cost,
      };
    },
  };
}

export function synthesise(tools: ActivityTools): Of<'synthesise'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { texts, fresh } = input;
      const findings = findingsOf(await tools.events(input.runId));
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: synthesiser,
        own: {
          report: shownReport(texts, fresh, wantedTexts(input)),
          news: newsOf(input, shownContradictions(findings, texts.conflicts)),
          task: taskOf(input),
        },
        callTools: [],
      });
      const { update, unsupported } = supported(result, findings, `${input.topic}\n${input.request}`);
      return { update, unsupported, cost };
    },
  };
}

function wantedTexts({ wanted, contradictions }: SynthesiseInput): 'touched' | 'analysis' | 'all' {
  if (wanted.web + wanted.repository === 0) return 'all';
  return contradictions.length > 0 ? 'analysis' : 'touched';
}

function newsOf(
  { fresh, summaries, contradictions, followUps, unsupported }: SynthesiseInput,
  foundContradictions: string,
): string {
  const parts: readonly (readonly [string, string])[] = [
    ['New findings', shownFindings(fresh)],
    ['What the agents say', summaries.map((summary) => `- ${summary}`).join('\n')],
    ['Contradictions that they name', contradictions.map((text) => `- ${text}`).join('\n')],
    ['Findings that contradict each other, and that no conflict has yet', foundContradictions],
    ['Questions that they have left', followUps.map((text) => `- ${text}`).join('\n')],
    [
      'Sentences of your last texts that were left out, since no finding supports them',
      unsupported.map((text) => `- ${text}`).join('\n'),
    ],
  ];
  return parts
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `${title}:\n${text}`)
    .join('\n\n');
}

function taskOf({ round, wanted }: SynthesiseInput): string {
  const asked = [
    ...(wanted.web === 0 ? [] : [`${wanted.web} of the kind "web"`]),
    ...(wanted.repository === 0 ? [] : [`${wanted.repository} of the kind "repository"`]),
  ].join(' and ');
  if (round === 0)
    return `Nothing is known yet. Leave the texts empty, name the open questions, and give directions for the first round: ${asked}. Call "finish".`;
  if (asked === '')
    return 'This was the last round. Write the executive summary, the background and the analysis as they are to be read, without directions, and call "finish".';
  return `Work the findings of round ${round} into the report, and give directions for the next round: ${asked}. Call "finish".`;
}

/** An agent replaces lines of the report. Its words, citations and finding ids stay the same. */
export function repair(tools: ActivityTools): Of<'repair'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { runId, projectId, head, slug, errors } = input;
      const files = topicFiles(slug);
      const project = await tools.project(projectId, runId);
      const tex = (await tools.repository.readFile(project, head, files.tex)) ?? '';
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: reportRepairer,
        own: { errors: withLines(errors, tex) },
        callTools: [],
      });
      const repaired = replaced(tex, result.replacements);
      const fault = repairFault(tex, repaired);
      if (fault !== null) throw new NeedsHuman('agent_failed', `The repair of the report was not taken: ${fault}`);
      const update = (): OwnedUpdate => ({
        message: `Research: ${input.topic}, repaired`,
        files: { [files.tex]: () => repaired },
      });
      const { commit } = await commitOwnedFiles(tools, update, 'branch').perform({ ...input, baseBranch: '' }, context);
      return { commit: commit ?? head, cost };
    },
  };
}
