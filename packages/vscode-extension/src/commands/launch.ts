/**
 * New runs in a few native steps; the last choices are where the next run begins. Models, budgets and base branch are told in
 * the last step and changed in the form.
 */
import { ApiError, explainRefusal, type Project } from '@autonomous/shared';
import { type Choice, choiceLine, configOf, type Screen, STAGES } from '@autonomous/ui';
import * as vscode from 'vscode';
import { remoteUrl } from '../git-checkout.ts';
import { clientOf, type Host, type Panels } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import type { CommandTable } from './register.ts';

type Stage = (typeof STAGES)[number];
const MAX_APPROACHES = 20;

export function launchCommands(host: Host, panels: Panels): CommandTable {
  return {
    [COMMANDS.launchRun]: () => launchRun(host, panels),
    [COMMANDS.explore]: () => explore(host, panels),
    [COMMANDS.openLaunchForm]: () => panels.openScreen({ name: 'launch' }),
  };
}

async function launchRun(host: Host, panels: Panels): Promise<void> {
  const title = 'Launch a run';
  const project = await chooseProject(host, `${title} (1/4)`);
  if (project === null) return;
  const request = await askRequest(`${title} (2/4)`, 'What should be done?');
  const choice = request === null ? null : await chooseTrust(host, project, `${title} (3/4)`);
  if (request === null || choice === null) return;
  await launch(host, panels, { title: `${title} (4/4)`, start: 'Start the run', requests: [request], choice });
}

/** The same request several times, or one request each: what comes of them is compared. */
async function explore(host: Host, panels: Panels): Promise<void> {
  const title = 'Explore approaches';
  const project = await chooseProject(host, `${title} (1/5)`);
  if (project === null) return;
  const count = await vscode.window.showQuickPick(['2', '3', '4', '5', 'Another number…'], {
    title: `${title} (2/5)`,
    placeHolder: 'How many approaches?',
  });
  const approaches = count === 'Another number…' ? await askCount(title) : Number(count);
  if (!(approaches >= 1)) return;
  const requests: string[] = [];
  for (let number = 1; number <= approaches; number += 1) {
    const request = await askRequest(
      `${title} (3/5): ${number} of ${approaches}`,
      'What should this one do?',
      requests.at(-1),
    );
    if (request === null) return;
    requests.push(request);
  }
  const choice = await chooseTrust(host, project, `${title} (4/5)`);
  if (choice === null) return;
  const start = approaches === 1 ? 'Start the run' : `Start ${approaches} runs`;
  await launch(host, panels, { title: `${title} (5/5)`, start, requests, choice });
}

interface Launch {
  readonly title: string;
  /** What the first item of the last step does. */
  readonly start: string;
  readonly requests: readonly string[];
  readonly choice: Choice;
}

/** The last step: what was chosen before is taken, or changed in the form. What was typed is never lost to a refusal. */
async function launch(host: Host, panels: Panels, { title, start, requests, choice }: Launch): Promise<void> {
  const openForm = (): void =>
    panels.openScreen({ name: 'launch', draft: { id: crypto.randomUUID(), requests, choice } });
  const form = {
    label: '$(settings) Options…',
    detail: 'Models, budgets and base branch, in a form that has what you have typed',
  };
  const items = [
    { label: `$(play) ${plainMessage(start)}`, detail: plainMessage(choiceLine(choice, requests.length > 1)) },
    form,
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title,
    placeHolder: 'Enter takes the options that are named',
    ignoreFocusOut: true,
  });
  if (picked === undefined) return;
  if (picked === form) return openForm();
  try {
    const screen = await startRuns(host, requests, choice);
    host.launches.keep(choice);
    panels.openScreen(screen);
  } catch (error) {
    const words = explainRefusal(error, Date.now());
    host.log.error(words);
    const change = 'Change Options…';
    // Its answer may have been lost on the way.
    const outcome = error instanceof ApiError ? 'Not started' : 'Unknown whether it was started; check the runs first';
    const answer = await vscode.window.showErrorMessage(plainMessage(`${outcome}: ${words}`), change);
    if (answer === change) openForm();
  }
}

/** @returns what shows what was started */
async function startRuns(host: Host, requests: readonly string[], choice: Choice): Promise<Screen> {
  const { projectId } = choice;
  const config = configOf(choice, requests.length > 1);
  const [only = '', ...others] = requests;
  if (others.length === 0) {
    const run = await clientOf(host).launchRun({ projectId, request: only, config }, crypto.randomUUID());
    return { name: 'run', runId: run.id };
  }
  const variants = requests.map((request) => ({ request, config }));
  const { id } = await clientOf(host).explore({ projectId, variants }, crypto.randomUUID());
  return { name: 'exploration', explorationId: id };
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
  const { projectId } = host.launches.last();
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
    value: /(?<![^/:])([^/:]+?)(?:\.git)?\/?$/.exec(repository.trim())?.[1] ?? '',
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
    validateInput: (given) => (given.trim() === '' ? 'Text is required.' : null),
  });
  return text?.trim() || null;
}

const STAGE_WORDS: Readonly<Record<Stage, { readonly label: string; readonly detail: string }>> = {
  planning: { label: 'The plan', detail: 'You see the plan before anything is written.' },
  implementation: { label: 'The result', detail: 'You see the changes before they are published.' },
  fixes: { label: 'Each fix', detail: 'You are asked when checks fail, before the agent tries again.' },
};

/** @returns the last choice of the project, with what the person wants to approve this time; `null` when they went away */
async function chooseTrust(host: Host, project: Project, title: string): Promise<Choice | null> {
  const last = host.launches.last(project.id);
  const items = STAGES.map((stage) => ({
    ...STAGE_WORDS[stage],
    picked: last.trust[stage] === 'manual',
    stage,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title,
    placeHolder: 'What do you want to approve yourself?',
    canPickMany: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined) return null;
  const levelOf = (wanted: Stage) => (picked.some(({ stage }) => stage === wanted) ? 'manual' : 'auto');
  const trust = {
    planning: levelOf('planning'),
    implementation: levelOf('implementation'),
    fixes: levelOf('fixes'),
  } as const;
  return { ...last, trust };
}
