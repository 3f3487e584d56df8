/**
 * New runs in a few native steps, as the workflow needs them; the last choices are where the next run begins. Models, time limits,
 * budgets, base branch and how it ends are told in the last step and changed in the form.
 */
import type { Project, WorkflowSummary } from '@autonomous/shared';
import { ApiError, explainRefusal, launchableOf } from '@autonomous/shared/client';
import { fieldsOf, fileFieldOf, type InputField, inputOf, type InputTexts } from '@autonomous/shared/presentation';
import { type Choice, choiceLine, explorationOf, launchOf, type Screen } from '@autonomous/ui';
import * as vscode from 'vscode';
import { connectionLine } from '../connection-words.ts';
import { remoteUrl } from '../git/git-checkout.ts';
import { clientOf, type Host, type Panels } from '../host.ts';
import { COMMANDS } from '../identifiers.ts';
import { plainMessage } from '../plain-message.ts';
import { committedFile, isOf, reachedAt, type Reached, type RepositoryFile } from '../review/repository-file.ts';
import type { CommandTable } from './register.ts';

const MAX_APPROACHES = 20;
/** Media type of the files that the menu of a Markdown file starts runs from. */
const MARKDOWN = 'text/markdown';

export function launchCommands(host: Host, panels: Panels): CommandTable {
  return {
    [COMMANDS.launchRun]: () => launchRun(host, panels, null),
    [COMMANDS.runFile]: (target) => runFile(host, panels, target),
    [COMMANDS.explore]: () => explore(host, panels),
    [COMMANDS.openLaunchForm]: () => panels.openScreen({ name: 'launch' }),
  };
}

/** `Launch a run (2/4)`: which of its steps each one is. */
function stepsOf(title: string, steps: readonly boolean[]): () => string {
  const total = steps.filter(Boolean).length;
  let step = 0;
  return () => {
    step += 1;
    return `${title} (${step}/${total})`;
  };
}

/** The file of a menu, or the one in front, is what the new run is about. */
async function runFile(host: Host, panels: Panels, target: unknown): Promise<void> {
  const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
  if (uri === undefined) throw new Error('No file is in front. Open a Markdown file, or use its menu in the explorer.');
  assertConnected(host);
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  const name = vscode.workspace.asRelativePath(uri);
  if (uri.scheme === 'untitled')
    throw new Error(`${name} is not saved as a file yet. Save it in the project's repository, commit and push it.`);
  if (uri.scheme !== 'file')
    throw new Error(`${name} is not a file on this machine. Open it from a checkout of the project's repository.`);
  if (document?.isDirty === true)
    throw new Error(`${name} has changes that are not saved. Save, commit and push them first.`);
  await launchRun(host, panels, await committedFile(uri.fsPath));
}

/** @throws {Error} in words for a person while the server cannot be asked */
function assertConnected(host: Host): void {
  const { state } = host.connection;
  if (state.kind === 'live' || state.kind === 'polling' || state.kind === 'resuming') return;
  throw new Error(`${connectionLine(state)} Connect a server first: 'Autonomous: Connect to Server…'.`);
}

/** @param file what the run is about; `null` where the person says it in words */
async function launchRun(host: Host, panels: Panels, file: RepositoryFile | null): Promise<void> {
  const title = file === null ? 'Launch a run' : `Run ${plainMessage(file.path)}`;
  const all = await launchable(host);
  const workflows = file === null ? all : all.filter(({ input }) => fileFieldOf(input, MARKDOWN) !== undefined);
  if (file !== null && workflows.length === 0)
    throw new Error(
      'This server has no workflow that starts from a Markdown file. Update the server, or launch a run in your own words.',
    );
  const workflow = await chooseWorkflow(host, workflows, title);
  if (workflow === null) return;
  const { needsProject, trustModes } = workflow;
  const fileField = file === null ? undefined : fileFieldOf(workflow.input, MARKDOWN);
  const fields = fieldsOf(workflow.input).filter(({ name, isRequired }) => isRequired && name !== fileField?.name);
  const isAsked = file === null;
  const next = stepsOf(title, [needsProject, isAsked, fields.length > 0, trustModes.length > 0, true]);
  const project = needsProject ? await chooseProject(host, next(), file) : null;
  if (needsProject && project === null) return;
  const isNeeded = needsProject && workflow.defaultRequest === undefined;
  const request = isAsked
    ? await askRequest(next(), 'What should be done?', { isNeeded })
    : fileRequest(workflow, file);
  if (request === null) return;
  const given = file === null || fileField === undefined ? {} : { [fileField.name]: file.path };
  const last = { ...host.launches.last(workflow, project?.id), input: given };
  const requests = request === '' ? [] : [request];
  const openForm = (): void =>
    panels.openScreen({ name: 'launch', draft: { id: crypto.randomUUID(), requests, choice: last } });
  if (file !== null && project !== null) {
    const found = await reachedBy(host, file, project, last.baseBranch);
    if (found.kind === 'newer' && !(await takesNewer(found.words, openForm))) return;
    if (found.kind === 'missing' || found.kind === 'different') return sayUnread(found.words, openForm);
  }
  // A list or a JSON text needs more than one line.
  if (fields.some((field) => !isSimple(field))) return openForm();
  const input = fields.length === 0 ? {} : await askInput(fields, next());
  if (input === null) return;
  const choice = await chooseTrust(workflow, { ...last, input: { ...given, ...input } }, next);
  if (choice === null) return;
  await launch(host, panels, { title: next(), start: 'Start the run', workflow, requests, choice });
}

/** Empty where the server words it from the input. */
function fileRequest({ defaultRequest }: WorkflowSummary, { path }: RepositoryFile): string {
  return defaultRequest === undefined ? `Carry out ${path}` : '';
}

/** Whether a run would find the file as it is here. */
async function reachedBy(host: Host, file: RepositoryFile, project: Project, baseBranch: string): Promise<Reached> {
  const branch = baseBranch.trim() === '' ? project.baseBranch : baseBranch.trim();
  const reached = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: plainMessage(`Looking for ${file.path} in ${branch}`) },
    () => reachedAt(file, project.repository, branch),
  );
  if (reached.kind === 'unknown')
    host.log.warn(`Whether ${branch} has ${file.path} is left to the server: ${reached.why}`);
  return reached;
}

/** A run keeps its items' states in the base: the checkout that it was started from is soon behind. */
async function takesNewer(words: string, openForm: () => void): Promise<boolean> {
  const go = 'Use the Newer Text';
  const change = 'Change Options…';
  const answer = await vscode.window.showWarningMessage(plainMessage(words), go, change);
  if (answer === change) openForm();
  return answer === go;
}

async function sayUnread(fault: string, openForm: () => void): Promise<void> {
  const change = 'Change Options…';
  const words = `Not started: ${fault} The server reads what is pushed.`;
  if ((await vscode.window.showErrorMessage(plainMessage(words), change)) === change) openForm();
}

/** The same request several times, or one request each: what comes of them is compared. */
async function explore(host: Host, panels: Panels): Promise<void> {
  const title = 'Explore approaches';
  const workflows = (await launchable(host)).filter(({ needsProject }) => needsProject);
  if (workflows.length === 0) throw new Error('This server has no workflow for the projects that approaches work on.');
  const workflow = await chooseWorkflow(host, workflows, title);
  if (workflow === null) return;
  const fields = fieldsOf(workflow.input).filter(({ isRequired }) => isRequired);
  const next = stepsOf(title, [true, true, true, fields.length > 0, workflow.trustModes.length > 0, true]);
  const project = await chooseProject(host, next());
  if (project === null) return;
  const count = await vscode.window.showQuickPick(['2', '3', '4', '5', 'Another number…'], {
    title: next(),
    placeHolder: 'How many approaches?',
  });
  const approaches = count === 'Another number…' ? await askCount(title) : Number(count);
  if (!(approaches >= 1)) return;
  const requests: string[] = [];
  const step = next();
  for (let number = 1; number <= approaches; number += 1) {
    const request = await askRequest(`${step}: ${number} of ${approaches}`, 'What should this one do?', {
      value: requests.at(-1),
    });
    if (request === null) return;
    requests.push(request);
  }
  const last = host.launches.last(workflow, project.id);
  if (fields.some((field) => !isSimple(field))) {
    panels.openScreen({ name: 'launch', draft: { id: crypto.randomUUID(), requests, choice: last } });
    return;
  }
  const input = fields.length === 0 ? {} : await askInput(fields, next());
  if (input === null) return;
  const choice = await chooseTrust(workflow, { ...last, input }, next);
  if (choice === null) return;
  const start = approaches === 1 ? 'Start the run' : `Start ${approaches} runs`;
  await launch(host, panels, { title: next(), start, workflow, requests, choice });
}

/** Workflows that a person may start. Asks the server where they were not listed yet. */
async function launchable(host: Host): Promise<readonly WorkflowSummary[]> {
  const { context } = host.workflows.getSnapshot();
  if (context.isLoaded) return launchableOf(context);
  const workflows = await clientOf(host).listWorkflows();
  host.workflows.trigger.listed({ workflows });
  return launchableOf({ workflows });
}

/** @returns the only one there is without a question; `null` when the person went away */
async function chooseWorkflow(
  host: Host,
  workflows: readonly WorkflowSummary[],
  title: string,
): Promise<WorkflowSummary | null> {
  const [only, ...others] = workflows;
  if (only === undefined) throw new Error('This server has no workflow that a person can start.');
  if (others.length === 0) return only;
  const { lastWorkflow } = host.launches;
  const inOrder = workflows.toSorted(
    (one, other) => Number(other.name === lastWorkflow) - Number(one.name === lastWorkflow),
  );
  const items = inOrder.map((workflow) => ({
    label: plainMessage(workflow.title),
    description: workflow.name === lastWorkflow ? 'last used' : '',
    detail: plainMessage(workflow.description),
    workflow,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title,
    placeHolder: 'Which workflow?',
    matchOnDetail: true,
    ignoreFocusOut: true,
  });
  return picked?.workflow ?? null;
}

function isSimple({ kind }: InputField): boolean {
  return kind === 'text' || kind === 'number' || kind === 'choice' || kind === 'switch';
}

/** One step for each field; `null` when the person went away. */
async function askInput(fields: readonly InputField[], title: string): Promise<InputTexts | null> {
  const texts: Record<string, string> = {};
  for (const field of fields) {
    const prompt = plainMessage(field.description ?? field.title);
    const options =
      field.kind === 'choice' ? field.options.map(String) : field.kind === 'switch' ? ['true', 'false'] : null;
    const text =
      options === null
        ? await vscode.window.showInputBox({
            title: `${title}: ${plainMessage(field.title)}`,
            prompt,
            ignoreFocusOut: true,
            validateInput: (given) => inputOf([field], { [field.name]: given }).faults[0]?.message ?? null,
          })
        : await vscode.window.showQuickPick(options, {
            title: `${title}: ${plainMessage(field.title)}`,
            placeHolder: prompt,
            ignoreFocusOut: true,
          });
    if (text === undefined) return null;
    texts[field.name] = text;
  }
  return texts;
}

interface Launch {
  readonly title: string;
  /** Label of the last step's first item, which starts the run. */
  readonly start: string;
  readonly workflow: WorkflowSummary;
  readonly requests: readonly string[];
  readonly choice: Choice;
}

/** The last step: what was chosen before is taken, or changed in the form. What was typed is never lost to a refusal. */
async function launch(host: Host, panels: Panels, { title, start, workflow, requests, choice }: Launch): Promise<void> {
  const openForm = (): void =>
    panels.openScreen({ name: 'launch', draft: { id: crypto.randomUUID(), requests, choice } });
  const form = {
    label: '$(settings) Options…',
    detail: 'Models, budgets, base branch and end, in a form that has what you have typed',
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
    const screen = await startRuns(host, workflow, requests, choice);
    host.launches.keep(choice);
    panels.openScreen(screen);
  } catch (error) {
    const words = explainRefusal(error, Date.now());
    host.log.error(words);
    const change = 'Change Options…';
    // Its answer may have been lost on the way.
    const outcome = error instanceof ApiError ? 'Not started' : 'Unknown whether it was started; check the runs first';
    const choose = 'Choose a Model…';
    const ways = host.models.hasModel === false ? [choose, change] : [change];
    const answer = await vscode.window.showErrorMessage(plainMessage(`${outcome}: ${words}`), ...ways);
    if (answer === choose) await vscode.commands.executeCommand(COMMANDS.chooseModel);
    if (answer === change) openForm();
  }
}

/** @returns what shows what was started */
async function startRuns(
  host: Host,
  workflow: WorkflowSummary,
  requests: readonly string[],
  choice: Choice,
): Promise<Screen> {
  const [only = '', ...others] = requests;
  if (others.length === 0) {
    const run = await clientOf(host).launchRun(launchOf(workflow, choice, only).launch, crypto.randomUUID());
    return { name: 'run', runId: run.id };
  }
  const { id } = await clientOf(host).explore(
    explorationOf(workflow, choice, requests).exploration,
    crypto.randomUUID(),
  );
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

/** @param file where one is given, the project that it belongs to comes first */
async function chooseProject(host: Host, title: string, file: RepositoryFile | null = null): Promise<Project | null> {
  const projects = await host.projects.load(clientOf(host));
  const { lastProjectId } = host.launches;
  const own = new Set<string>();
  for (const { id, repository } of projects) if (file !== null && (await isOf(file, repository))) own.add(id);
  const rank = ({ id }: Project): number => Number(own.has(id)) * 2 + Number(id === lastProjectId);
  const inOrder = projects.toSorted((one, other) => rank(other) - rank(one));
  if (inOrder.length === 0) return addProject(host);
  const items = inOrder.map((project) => ({
    label: plainMessage(project.name),
    description: own.has(project.id) ? 'repository of the file' : project.id === lastProjectId ? 'last used' : '',
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

/** @returns empty where it may be; `null` when the person went away */
async function askRequest(
  title: string,
  prompt: string,
  { isNeeded = true, value = '' }: { readonly isNeeded?: boolean; readonly value?: string | undefined } = {},
): Promise<string | null> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: plainMessage(isNeeded ? prompt : `${prompt} May be left empty.`),
    value,
    placeHolder: isNeeded ? 'Add a login page with OAuth' : '',
    ignoreFocusOut: true,
    validateInput: (given) => (isNeeded && given.trim() === '' ? 'Text is required.' : null),
  });
  return text?.trim() ?? null;
}

/** @returns the choice with what the person wants to decide this time; `null` when they went away */
async function chooseTrust(workflow: WorkflowSummary, last: Choice, next: () => string): Promise<Choice | null> {
  if (workflow.trustModes.length === 0) return last;
  const items = workflow.trustModes.map(({ name, title, description }) => ({
    label: plainMessage(title),
    detail: plainMessage(description),
    picked: last.trust[name] === 'manual',
    name,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: next(),
    placeHolder: 'What do you want to approve yourself?',
    canPickMany: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined) return null;
  const manual = new Set(picked.map(({ name }) => name));
  const trust = workflow.trustModes.map(({ name }) => [name, manual.has(name) ? 'manual' : 'auto'] as const);
  return { ...last, trust: Object.fromEntries(trust) };
}
