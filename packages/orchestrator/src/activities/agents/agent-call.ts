/** Performs one call of a role for a run: prepares its folder, sandbox and prompt, and meters its cost. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { FINAL_STATUSES, type JsonValue, type RunConfig, TerminalFailure } from '@autonomous/shared';
import type { Agent, AgentNeeds, AgentOutcome, CallTool } from '../../agents/agent.ts';
import { readForeignText } from '../../foreign-text/foreign-text.ts';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { composeCall, describeCall } from '../../roles/call-context.ts';
import type { CommonInput, Guide, Note as PromptNote, Skill } from '../../roles/prompt-parts.ts';
import type { Role } from '../../roles/role.ts';
import { historyOf } from '../../roles/run-history.ts';
import type { Sandbox, SandboxSpec } from '../../sandboxes/sandbox.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { Cost, Note } from '../types.ts';
import type { ActivityTools } from '../tools.ts';
import { createCallMeter } from './call-meter.ts';
import { networkOf, refusalNotes } from '../egress.ts';
import { readGuidance, readOverride } from './project-guidance.ts';
import { startOf, MessageInbox } from './message-inbox.ts';
import { guidanceCommitOf } from '../start-commits.ts';
import type { WorkFolder } from '../work-folders.ts';

export interface AgentCall<Input extends CommonInput, Result> {
  readonly role: Role<Input, Result>;
  /** Without what `facts` say. */
  readonly input: Omit<Input, 'memory' | 'files' | 'guides' | 'skills' | 'history' | 'allowedFiles'>;
  readonly facts: ProjectFacts;
  readonly model: string;
  readonly config: RunConfig;
  readonly work: WorkFolder;
  /** Notes whose uploads are shown to the agent under `/uploads`. */
  readonly notes: readonly Note[];
  /** Tools of this call beside those of its role. Default: none. */
  readonly callTools?: readonly CallTool[];
}

/** Paths of a project that a prompt lists, at most. */
const LISTED_FILES = 1_500;
/** Characters of a memory file that is still read, and of the texts that say what the work is. */
const MAX_MEMORY = 1_000_000;
const MAX_ABOUT = 200_000;

/**
 * @throws {TerminalFailure} where the run's workflow does not declare the role
 * @throws {RetryableFailure | NeedsHuman} as the agent and the sandbox do
 */
export async function callAgent<Input extends CommonInput, Result>(
  tools: ActivityTools,
  context: ActivityContext,
  { role, input, facts, model, config, work, notes, callTools = [] }: AgentCall<Input, Result>,
): Promise<{ readonly outcome: AgentOutcome<Result>; readonly cost: Cost }> {
  const { workflow } = await tools.view(context.runId);
  const undeclared = tools.runConfig.undeclaredRole(workflow.name, role.name);
  if (undeclared !== null) throw new TerminalFailure(undeclared);
  const inbox = new MessageInbox(tools, context);
  const said = (await inbox.poll()).map(({ text }): PromptNote => ({ kind: 'message', text }));
  const { override, notices } = await readOverride(tools, facts.project, facts.guidanceCommit, role);
  const { memory, files, guides, skills, history } = facts;
  const { allowedFiles } = facts.project;
  const allowed = allowedFiles === undefined ? {} : { allowedFiles };
  const known = { memory, files, guides, skills, history, ...allowed, notes: [...input.notes, ...said] };
  // The facts that the input lacks are added here; the compiler cannot follow that through a type parameter.
  const given = { ...input, ...known } as unknown as Input;
  const call = composeCall(role, given, override, tools.contextTokens);
  const line = describeCall({
    role,
    number: input.call,
    model,
    context: call,
    override,
    notices: [...facts.notices, ...notices],
  });
  context.progress({ kind: 'prompt', ...line, role: role.name, model });

  const egressRole = tools.runConfig.configuredAs(workflow.name, role.name);
  const needs = (await tools.agent.needs?.(model)) ?? null;
  const sandbox = await tools.sandboxes.open({
    key: context.key,
    folder: work.folder,
    home: work.home,
    readOnly: [...(await uploadMounts(tools, notes)), ...(needs?.readOnly ?? [])],
    network: withNeeds(await networkOf(tools, egressRole, config), needs),
    onRefused: refusalNotes(context.progress, egressRole),
    limits: tools.limits,
    signal: context.signal,
  });
  try {
    const agent: Agent = tools.agent;
    const meter = createCallMeter(context, tools.prices, role.name);
    const outcome = await agent.perform<Result>({
      runId: context.runId,
      key: context.key,
      role: role.name,
      model,
      instructions: call.instructions,
      prompt: call.prompt,
      tools: call.tools,
      ...(callTools.length === 0 ? {} : { callTools }),
      ...(override?.outsideTools ? { outsideTools: override.outsideTools } : {}),
      messages: inbox.poll,
      said: said.map(({ text }) => text),
      resultSchema: role.result,
      sandbox,
      maxSteps: role.maxSteps,
      signal: context.signal,
      meter,
      answers: notes.filter(({ kind }) => kind === 'answer').map(({ text }) => text),
      kept: work.goesOn ? keptByAgent(context) : null,
      keep: (state) => void context.heartbeat({ keptByAgent: state }),
      onProgress: (progress) => context.progress({ ...progress, role: role.name, model }),
    });
    await sandbox.sync(context.signal);
    const { usage, model: id, scripted } = outcome;
    const metered = meter.metered ? { metered: true } : {};
    return { outcome, cost: { role: role.name, model: id, scripted, ...usage, ...metered } };
  } catch (error) {
    await bringBack(tools, context, sandbox);
    throw error;
  } finally {
    await sandbox.dispose();
  }
}

/**
 * Saves an interrupted agent's files as a checkpoint for the next attempt. Discarded when the run is cancelled. Of a lost
 * sandbox nothing is saved.
 */
async function bringBack(tools: ActivityTools, { runId, signal }: ActivityContext, sandbox: Sandbox): Promise<void> {
  if (!signal.aborted) {
    await sandbox.sync(signal).catch(() => {});
    if (!signal.aborted) return;
  }
  const { status } = await tools.view(runId);
  if (!FINAL_STATUSES.has(status)) await sandbox.sync().catch(() => {});
}

/** Adds the hosts that the agent's own program needs to those of the role. */
function withNeeds(network: { readonly allow: readonly string[] }, needs: AgentNeeds | null): SandboxSpec['network'] {
  return { allow: [...new Set([...network.allow, ...(needs?.allow ?? [])])] };
}

/**
 * Returns the state that the agent of an earlier attempt kept; `null`: none. It belongs to the files as that attempt left them.
 */
export function keptByAgent({ lastHeartbeat }: Pick<ActivityContext, 'lastHeartbeat'>): JsonValue {
  const isObject = typeof lastHeartbeat === 'object' && lastHeartbeat !== null && !Array.isArray(lastHeartbeat);
  return isObject && 'keptByAgent' in lastHeartbeat ? (lastHeartbeat['keptByAgent'] ?? null) : null;
}

/** Facts of the project and the run for every prompt, without files that the checkout left out. */
export interface ProjectFacts {
  readonly project: RemoteProject;
  /** Roles, guides and skills are read there. */
  readonly guidanceCommit: string;
  readonly memory: string | null;
  readonly files: readonly string[];
  readonly guides: readonly Guide[];
  readonly skills: readonly Skill[];
  readonly history: readonly string[];
  readonly notices: readonly string[];
}

interface FactsInput {
  readonly head: string;
  readonly baseCommit: string;
  readonly request: string;
  readonly notes: readonly Note[];
}

/** @param plan text of the plan, where there is one: with the request and the notes it says which of the memory is shown */
export async function projectFacts(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  { head, baseCommit, request, notes }: FactsInput,
  { folder }: WorkFolder,
  plan = '',
): Promise<ProjectFacts> {
  const isShown = (file: string) => isThere(path.join(folder, file));
  const guidanceCommit = await guidanceCommitOf(tools, context.runId, baseCommit);
  const about = [request, plan, ...notes.map(({ text }) => text)].join('\n');
  const [memory, paths, guidance, events] = await Promise.all([
    readMemory(tools, context, project, head, about),
    tools.repository.listFiles(project, head),
    readGuidance(tools, project, guidanceCommit, isShown),
    tools.events(context.runId),
  ]);
  const files: string[] = [];
  for (const file of paths) {
    if (files.length === LISTED_FILES) break;
    if (!file.startsWith('.autonomous/') && (await isShown(file))) files.push(file);
  }
  const history = historyOf(events, startOf(context.key));
  return { project, guidanceCommit, memory, files, history, ...guidance };
}

/** The project's memory with those of its solutions that fit the work; as it is where it cannot be read in time. */
async function readMemory(
  tools: ActivityTools,
  { signal }: ActivityContext,
  project: RemoteProject,
  head: string,
  about: string,
): Promise<string | null> {
  const text = await tools.repository.readFile(project, head, MEMORY_PATH);
  if (text === null || text.length > MAX_MEMORY || !/^##\s+Solutions/im.test(text)) return text;
  const read = await readForeignText('selectMemory', [text, about.slice(0, MAX_ABOUT)], { signal });
  return read.ok ? read.value : text;
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Notes as a prompt has them: an answer that came with files says where they lie. */
export function promptNotes(notes: readonly Note[]): PromptNote[] {
  return notes.map(({ kind, text, uploads }) => ({
    kind,
    text:
      uploads && uploads.length > 0
        ? `${text}\nFiles: ${uploads.map((upload) => insidePath(upload)).join(', ')}`
        : text,
  }));
}

async function uploadMounts(tools: ActivityTools, notes: readonly Note[]) {
  const mounts: { host: string; inside: string }[] = [];
  for (const upload of notes.flatMap((note) => note.uploads ?? [])) {
    const host = await tools.uploadPath(upload.id);
    if (host !== null) mounts.push({ host, inside: insidePath(upload) });
  }
  return mounts;
}

function insidePath(upload: { readonly id: string; readonly name: string }): string {
  const name = path.posix.basename(upload.name).replace(/[^\w.-]+/g, '_') || 'file';
  return `/uploads/${upload.id.slice(0, 8)}-${name}`;
}
