/** One fresh call of a role for a run: its folder, its sandbox, its prompt, its cost. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import type { JsonValue } from '@autonomous/shared';
import type { Agent, AgentOutcome } from '../agents/agent.ts';
import { MEMORY_PATH } from '../artifacts/memory.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { Note as PromptNote } from '../roles/prompt-parts.ts';
import type { Role } from '../roles/role.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { Cost, Note } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';
import type { WorkFolder } from './work-folders.ts';

export interface AgentCall<Input, Result> {
  readonly role: Role<Input, Result>;
  readonly input: Input;
  readonly model: string;
  readonly work: WorkFolder;
  /** Notes whose uploads are shown to the agent under `/uploads`. */
  readonly notes: readonly Note[];
}

/** Paths of a project that a prompt lists, at most. */
const LISTED_FILES = 1_500;

/** @throws {RetryableFailure | NeedsHuman} as the agent and the sandbox do */
export async function callAgent<Input, Result>(
  tools: BuildTools,
  context: ActivityContext,
  { role, input, model, work, notes }: AgentCall<Input, Result>,
): Promise<{ readonly outcome: AgentOutcome<Result>; readonly cost: Cost }> {
  const needs = (await tools.agent.needs?.(model)) ?? null;
  const sandbox = await tools.sandboxes.open({
    key: context.key,
    folder: work.folder,
    home: work.home,
    readOnly: [...(await uploadMounts(tools, notes)), ...(needs?.readOnly ?? [])],
    network: needs?.network ?? 'none',
    limits: tools.limits,
  });
  try {
    const agent: Agent = tools.agent;
    const outcome = await agent.perform<Result>({
      runId: context.runId,
      key: context.key,
      role: role.name,
      model,
      instructions: role.instructions,
      prompt: role.prompt(input),
      tools: role.tools,
      resultSchema: role.result,
      sandbox,
      maxSteps: role.maxSteps,
      signal: context.signal,
      answers: notes.filter(({ kind }) => kind === 'answer').map(({ text }) => text),
      kept: work.goesOn ? keptByAgent(context) : null,
      keep: (state) => context.heartbeat({ keptByAgent: state }),
      onProgress: (progress) => context.progress({ ...progress, role: role.name, model }),
    });
    await sandbox.sync();
    const { usage, model: id, scripted } = outcome;
    return { outcome, cost: { role: role.name, model: id, scripted, ...usage } };
  } finally {
    await sandbox.dispose();
  }
}

/** What the agent of an earlier attempt kept to go on with; it belongs to the files as that attempt left them. */
export function keptByAgent({ lastHeartbeat }: Pick<ActivityContext, 'lastHeartbeat'>): JsonValue {
  const isObject = typeof lastHeartbeat === 'object' && lastHeartbeat !== null && !Array.isArray(lastHeartbeat);
  return isObject && 'keptByAgent' in lastHeartbeat ? (lastHeartbeat['keptByAgent'] ?? null) : null;
}

/** What every prompt says of the project: nothing of what the checkout left out. */
export async function projectFacts(
  tools: BuildTools,
  project: RemoteProject,
  head: string,
  { folder }: WorkFolder,
): Promise<{ readonly memory: string | null; readonly files: readonly string[] }> {
  const [memory, paths] = await Promise.all([
    tools.repository.readFile(project, head, MEMORY_PATH),
    tools.repository.listFiles(project, head),
  ]);
  const files: string[] = [];
  for (const file of paths) {
    if (files.length === LISTED_FILES) break;
    if (!file.startsWith('.autonomous/') && (await isThere(path.join(folder, file)))) files.push(file);
  }
  return { memory, files };
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

async function uploadMounts(tools: BuildTools, notes: readonly Note[]) {
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
