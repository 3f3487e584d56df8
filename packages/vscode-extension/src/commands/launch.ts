/** New runs in a few native steps; the last choices are where the next run begins. */
import type { Project, RunConfigRequest } from '@autonomous/shared';
import * as vscode from 'vscode';
import { remoteUrl } from '../git-checkout.ts';
import { clientOf, type Host, type Panels } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import type { CommandTable } from './register.ts';

/** What the person chose last. */
interface LastLaunch {
  readonly projectId?: string;
  readonly manual?: readonly Stage[];
  readonly baseBranch?: Readonly<Record<string, string>>;
}
const STAGES = ['planning', 'implementation', 'fixes'] as const;
type Stage = (typeof STAGES)[number];
const MEMORY = 'autonomous.lastLaunch';
const MAX_APPROACHES = 20;

export function launchCommands(host: Host, panels: Panels): CommandTable {
  return {
    [COMMANDS.launchRun]: () => launchRun(host, panels),
    [COMMANDS.explore]: () => explore(host, panels),
    [COMMANDS.openLaunchForm]: () => panels.openScreen({ name: 'launch' }),
  };
}

async function launchRun(host: Host, panels: Panels): Promise<void> {
  const project = await chooseProject(host, 'Launch a run (1/4)');
  if (project === null) return;
  const request = await askRequest('Launch a run (2/4)', 'What should be done?');
  const config = request === null ? null : await chooseConfig(host, project, 'Launch a run', 3, 4);
  if (request === null || config === null) return;
  const run = await clientOf(host).launchRun({ projectId: project.id, request, config }, crypto.randomUUID());
  panels.openScreen({ name: 'run', runId: run.id });
}

/** The same request several times, or one request each: what comes of them is compared. */
async function explore(host: Host, panels: Panels): Promise<void> {
  const title = 'Explore approaches';
  const project = await chooseProject(host, `${title} (1)`);
  if (project === null) return;
  const count = await vscode.window.showQuickPick(['2', '3', '4', '5', 'Another number…'], {
    title: `${title} (2)`,
    placeHolder: 'How many approaches?',
  });
  const approaches = count === 'Another number…' ? await askCount(title) : Number(count);
  if (!(approaches >= 1)) return;
  const requests: string[] = [];
  for (let number = 1; number <= approaches; number += 1) {
    const request = await askRequest(
      `${title}: ${number} of ${approaches}`,
      'What should this one do?',
      requests.at(-1),
    );
    if (request === null) return;
    requests.push(request);
  }
  const config = await chooseConfig(host, project, title, 3, 4);
  if (config === null) return;
  const variants = requests.map((request) => ({ request, config }));
  const { id } = await clientOf(host).explore({ projectId: project.id, variants }, crypto.randomUUID());
  panels.openScreen({ name: 'exploration', explorationId: id });
}

async function askCount(title: string): Promise<number> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: `How many approaches? At most ${MAX_APPROACHES}.`,
    validateInput: (given) =>
      Number.isInteger(Number(given)) && Number(given) >= 1 && Number(given) <= MAX_APPROACHES
        ? null
        : `A number from 1 to ${MAX_APPROACHES} is needed.`,
  });
  return Number(text);
}

async function chooseProject(host: Host, title: string): Promise<Project | null> {
  const projects = await host.projects.load(clientOf(host));
  const { projectId } = lastLaunch(host);
  const inOrder = projects.toSorted((one, other) => Number(other.id === projectId) - Number(one.id === projectId));
  if (inOrder.length === 0) return addProject(host);
  const items = inOrder.map((project) => ({
    label: plainMessage(project.name),
    description: project.id === projectId ? 'last used' : '',
    detail: plainMessage(project.repository),
    project: project as Project | null,
  }));
  const another = { label: '$(add) Add a project…', description: '', detail: '', project: null };
  const picked = await vscode.window.showQuickPick([...items, another], {
    title,
    placeHolder: 'In which project?',
    matchOnDetail: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined) return null;
  return picked.project ?? addProject(host);
}

async function addProject(host: Host): Promise<Project | null> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  const opened = folder?.uri.scheme === 'file' && vscode.workspace.isTrusted ? folder.uri.fsPath : null;
  const repository = await vscode.window.showInputBox({
    title: 'Add a project',
    prompt: 'Its git repository: an address, or a path on the machine of the server',
    value: opened === null ? '' : ((await remoteUrl(opened)) ?? opened),
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? 'An address or a path is needed.' : null),
  });
  if (repository === undefined) return null;
  const name = await vscode.window.showInputBox({
    title: 'Add a project',
    prompt: 'Its name',
    value: /([^/:]+?)(?:\.git)?\/?$/.exec(repository.trim())?.[1] ?? '',
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === '' ? 'A name is needed.' : null),
  });
  if (name === undefined) return null;
  return clientOf(host).createProject({ name: name.trim(), repository: repository.trim() });
}

async function askRequest(title: string, prompt: string, value = ''): Promise<string | null> {
  const text = await vscode.window.showInputBox({
    title,
    prompt,
    value,
    placeHolder: 'Add a login page with OAuth',
    ignoreFocusOut: true,
    validateInput: (given) => (given.trim() === '' ? 'A few words are needed.' : null),
  });
  return text?.trim() || null;
}

const STAGE_WORDS: Readonly<Record<Stage, { readonly label: string; readonly detail: string }>> = {
  planning: { label: 'The plan', detail: 'You see the plan before anything is written.' },
  implementation: { label: 'The result', detail: 'You see the changes before they are published.' },
  fixes: { label: 'Each fix', detail: 'You are asked when checks fail, before the agent tries again.' },
};

async function chooseConfig(
  host: Host,
  project: Project,
  title: string,
  step: number,
  steps: number,
): Promise<RunConfigRequest | null> {
  const last = lastLaunch(host);
  const manual = last.manual ?? ['planning'];
  const items = STAGES.map((stage) => ({ ...STAGE_WORDS[stage], picked: manual.includes(stage), stage }));
  const picked = await vscode.window.showQuickPick(items, {
    title: `${title} (${step}/${steps})`,
    placeHolder: 'What do you want to approve yourself?',
    canPickMany: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined) return null;
  const baseBranch = await vscode.window.showInputBox({
    title: `${title} (${step + 1}/${steps})`,
    prompt: 'The branch that the work starts from',
    value: last.baseBranch?.[project.id] ?? project.baseBranch,
    ignoreFocusOut: true,
  });
  if (baseBranch === undefined) return null;
  const stages = picked.map(({ stage }) => stage);
  const branch = baseBranch.trim() || project.baseBranch;
  await host.context.globalState.update(MEMORY, {
    projectId: project.id,
    manual: stages,
    baseBranch: { ...last.baseBranch, [project.id]: branch },
  } satisfies LastLaunch);
  const trustMode = Object.fromEntries(
    STAGES.map((stage) => [stage, stages.includes(stage) ? 'manual' : 'auto'] as const),
  );
  return { trustMode, git: { baseBranch: branch } };
}

function lastLaunch({ context }: Host): LastLaunch {
  return context.globalState.get<LastLaunch>(MEMORY) ?? {};
}
