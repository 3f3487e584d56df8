/** The activities of a research run, by the names that its machine gives them. */
import { TerminalFailure, type WorkflowEvent } from '@autonomous/shared';
import { isAmong } from '../../path-rules/sorted-paths.ts';
import { commitOwnedFiles, type OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { compileLatex } from '../../activities/compile-latex.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { hashOf, hashOfBytes } from '../../documents/content-hash.ts';
import { renderMarkdownReport } from '../../documents/latex/render-markdown-report.ts';
import { renderReport } from '../../documents/latex/render-report.ts';
import { type Activity, type ActivityContext, type ActivityRegistry, THREE_TRIES } from '../../core/activity.ts';
import { judge, repair, research, synthesise } from './agents.ts';
import { normalisedAddress } from './claim-checks/addresses.ts';
import { checkedRound } from './checked-round.ts';
import { topicFiles, topicSlug } from '../parts/topics/topic-files.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { projectRunActivities } from '../parts/project-run-activities.ts';
import { findingsOf, refusalsOf, sourcesOf } from './kept-findings.ts';
import { reportOf } from './report/report-of-run.ts';
import { roles } from './roles/index.ts';
import { renderState } from './state-file.ts';
import type {
  AgentReport,
  CheckedRound,
  CheckInput,
  CommitReportInput,
  ResearchActivities,
  ResearchConfig,
} from './types.ts';

type All = Implementations<ResearchActivities>;

export function researchActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...projectRunActivities<ResearchConfig>(tools, roles),
    readTopic: readTopic(tools),
    research: research(tools),
    checkFindings: checkFindings(tools),
    judge: judge(tools),
    synthesise: synthesise(tools),
    commitReport: commitReport(tools),
    compile: compile(tools),
    repair: repair(tools),
  };
  return tidiedAll(tools, activities);
}

/** Looks what there is to work with. */
function readTopic(tools: ActivityTools): All['readTopic'] {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, runId, baseCommit, topic }) {
      const project = await tools.project(projectId, runId);
      const files = await tools.repository.listFiles(project, baseCommit);
      return {
        slug: topicSlug(topic),
        hasCode: files.some((file) => !file.startsWith('.autonomous/')),
        canSearch: tools.webPages.search !== null,
      };
    },
  };
}

/**
 * Looks up each passage of the round, and compares its findings with those that are known.
 * @param eventsOf events with the known findings and the pages that were read. Default: those of the run
 */
export function checkFindings(
  tools: ActivityTools,
  eventsOf: (input: CheckInput) => Promise<readonly WorkflowEvent[]> = ({ runId }) => tools.events(runId),
): Activity<CheckInput, CheckedRound> {
  return {
    retry: THREE_TRIES,
    async perform(input, { startedAt }) {
      const { runId, projectId, baseCommit, reports } = input;
      const events = await eventsOf(input);
      const files = await quotedFiles(tools, { runId, projectId, baseCommit, reports });
      const pages = sourcesOf(events).flatMap(({ requested, address, at, hash, status }) =>
        hash === null ? [] : [{ requested, address, at, hash, status: status ?? 200 }],
      );
      const quoted = new Set(addressesIn(reports).map(normalisedAddress));
      const needed = pages.filter(
        ({ requested, address }) => quoted.has(normalisedAddress(requested)) || quoted.has(normalisedAddress(address)),
      );
      const texts = new Map(files.map(({ hash, text }) => [hash, text]));
      for (const { hash } of needed) {
        if (texts.has(hash)) continue;
        const text = await tools.webPages.read(hash);
        if (text !== null) texts.set(hash, text);
      }
      const readFiles = files.map(({ address, hash }) => ({
        requested: address,
        address,
        hash,
        at: startedAt,
        status: 200,
      }));
      const log = { fetched: [...pages, ...readFiles], refused: refusalsOf(events) };
      return checkedRound(reports, findingsOf(events), log, texts);
    },
  };
}

const addressesIn = (reports: readonly AgentReport[]): readonly string[] =>
  reports.flatMap(({ findings }) => findings.flatMap(({ evidence }) => evidence.map(({ address }) => address)));

/** Files of the project that a round quotes, as the base has them. */
async function quotedFiles(
  tools: ActivityTools,
  {
    runId,
    projectId,
    baseCommit,
    reports,
  }: {
    readonly runId: string;
    readonly projectId: string;
    readonly baseCommit: string;
    readonly reports: readonly AgentReport[];
  },
): Promise<readonly { readonly address: string; readonly hash: string; readonly text: string }[]> {
  const addresses = [...new Set(addressesIn(reports).filter((address) => address.startsWith('file:')))];
  if (addresses.length === 0) return [];
  const project = await tools.project(projectId, runId);
  const pathOf = (address: string): string => address.slice('file:'.length).trim();
  const all = await tools.repository.listFiles(project, baseCommit);
  const paths = addresses.map(pathOf).filter((path) => isAmong(all, path));
  const texts = await tools.repository.readFiles(project, baseCommit, paths);
  return addresses.flatMap((address) => {
    const text = texts.get(pathOf(address));
    return text === undefined ? [] : [{ address, hash: hashOf(text), text }];
  });
}

interface Written {
  readonly tex: string;
  readonly bib: string;
  readonly markdown: string;
  readonly state: string;
}

/** @throws {TerminalFailure} when a text names a finding that is not there */
async function written(tools: ActivityTools, context: ActivityContext, input: CommitReportInput): Promise<Written> {
  const { runId, topic, slug, prompt, rounds, texts, status, quietRounds } = input;
  const events = await tools.events(runId);
  const model = reportOf({ topic, at: context.startedAt, texts, rounds, events });
  const report = await renderReport(model);
  const text = renderMarkdownReport(model);
  if (!report.ok || !text.ok)
    throw new TerminalFailure(
      `The report of run ${runId} contradicts itself: ${[report, text].flatMap((each) => (each.ok ? [] : each.faults)).join(' ')}`,
    );
  const state = renderState({
    slug,
    status,
    prompt,
    rounds,
    quietRounds,
    sourcesCited: model.sources.length,
    sourcesConsulted: model.sourcesConsulted,
    findings: model.findings.length,
    texts,
  });
  return { tex: report.tex, bib: report.bib, markdown: text.markdown, state };
}

const ofTexts = (texts: Readonly<Record<string, string>>): OwnedUpdate['files'] =>
  Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, () => text]));

/** Writes the report and the state of the topic to the run's branch. */
function commitReport(tools: ActivityTools): All['commitReport'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const files = topicFiles(input.slug);
      const { tex, bib, markdown, state } = await written(tools, context, input);
      const update = (): OwnedUpdate => ({
        message: `Research: ${input.topic}, round ${input.round}`,
        files: ofTexts({
          [files.state]: state,
          [files.tex]: tex,
          [files.bibliography]: bib,
          [files.markdown]: markdown,
        }),
      });
      const { commit } = await commitOwnedFiles(tools, update, 'branch').perform({ ...input, baseBranch: '' }, context);
      return { commit: commit ?? input.head, artifactHash: hashOf(tools.scrub(markdown)), path: files.markdown };
    },
  };
}

/** Sets the report by LaTeX, and commits what came of it. */
function compile(tools: ActivityTools): All['compile'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { runId, projectId, head, slug, topic, repaired } = input;
      const { repository } = tools;
      const files = topicFiles(slug);
      const project = await tools.project(projectId, runId);
      const report = await written(tools, context, input);
      // What an agent has mended is compiled as it is.
      const tex = repaired ? ((await repository.readFile(project, head, files.tex)) ?? report.tex) : report.tex;
      const main = `${slug}-report.tex`;
      const outcome = await compileLatex(tools, context, {
        runId,
        folder: 'latex',
        main,
        files: [
          { name: main, content: tools.scrub(tex) },
          { name: 'sources.bib', content: tools.scrub(report.bib) },
        ],
      });
      const update = (): OwnedUpdate => ({
        message: `Research: ${topic}, report`,
        files: ofTexts({
          [files.state]: report.state,
          [files.tex]: tex,
          [files.bibliography]: report.bib,
          [files.markdown]: report.markdown,
        }),
        ...(outcome.kind === 'compiled' ? { bytes: { [files.pdf]: outcome.pdf } } : {}),
      });
      const owned = await commitOwnedFiles(tools, update, 'branch').perform({ ...input, baseBranch: '' }, context);
      const done = {
        commit: owned.commit ?? head,
        artifactHash: hashOf(tools.scrub(report.markdown)),
        path: files.markdown,
      };
      const codeTree = await repository.codeTree(project, done.commit);
      if (outcome.kind === 'compiled')
        return {
          ...done,
          codeTree,
          compiled: {
            kind: 'compiled',
            pages: outcome.pages,
            pdf: { path: files.pdf, hash: hashOfBytes(outcome.pdf) },
          },
        };
      if (outcome.kind === 'absent') return { ...done, codeTree, compiled: { kind: 'absent' } };
      const errors = outcome.errors
        .slice(0, 20)
        .map(({ line, message }) => `line ${line ?? '?'}: ${message}`)
        .join('\n');
      return { ...done, codeTree, compiled: { kind: 'failed', errors: errors.slice(0, 8_000).toWellFormed() } };
    },
  };
}
