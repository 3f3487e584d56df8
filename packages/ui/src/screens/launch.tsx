/** A new run of any workflow, or several ways of doing the same side by side. Remembers what was chosen last. */
import { type Fault, launchableOf, type Project, type WorkflowSummary } from '@autonomous/shared';
import { useSelector } from '@xstate/store-react';
import { useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { fieldsOf, pathOf } from '../input-fields.ts';
import {
  type Choice,
  choiceFor,
  configOf,
  type KeptChoices,
  keptAfter,
  keptFor,
  type LaunchDraft,
  launchOf,
} from '../launch-choice.ts';
import { faultAt, faultsElsewhere, faultsOf } from '../launch-faults.ts';
import { valueOf } from '../components/elements.ts';
import { type Loaded, Loading, useLoaded } from '../components/loading.tsx';
import { FormField } from './form-field.tsx';
import { InputForm } from './input-form.tsx';
import { MoreOptions, optionPaths } from './launch-options.tsx';

const MEMORY = 'autonomous.launch';

export function Launch() {
  const { client, place, workflows, listWorkflows } = useHost();
  const draft = useSelector(place, ({ context }) => (context.screen.name === 'launch' ? context.screen.draft : null));
  const catalog = useSelector(workflows, ({ context }) => context);
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  const listed: Loaded<readonly WorkflowSummary[]> = {
    value: catalog.isLoaded ? launchableOf(catalog) : null,
    isOld: false,
    fault: catalog.fault === null ? null : messageOf(catalog.fault),
    isLoading: !catalog.isLoaded,
    again: listWorkflows,
  };
  return (
    <section className="launch" aria-label="New run">
      <h1>New run</h1>
      <Loading of={listed} what="The workflows">
        {(all) =>
          all.length === 0 ? (
            <p className="empty">This server has no workflow that a person can start.</p>
          ) : (
            <Loading of={projects} what="The projects">
              {({ items }) => (
                <Form
                  key={draft?.id ?? ''}
                  workflows={all}
                  projects={items}
                  draft={draft ?? null}
                  onProject={projects.again}
                />
              )}
            </Loading>
          )
        }
      </Loading>
    </section>
  );
}

function NewProject({ onMade }: { readonly onMade: () => void }) {
  const { client } = useHost();
  const [repository, setRepository] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const make = (): void => {
    const name =
      repository
        .trim()
        .split(/[/\\:]/)
        .findLast((part) => part !== '')
        ?.replace(/\.git$/, '') ?? '';
    client
      .createProject({ name, repository: repository.trim() })
      .then(onMade, (error: unknown) => setFault(messageOf(error)));
  };
  return (
    <div className="field">
      <p>Where is the repository that agents are to work on?</p>
      <vscode-textfield
        label="Path or address of the repository"
        placeholder="/home/you/code/shop, or https://…"
        value={repository}
        oninput={(event) => setRepository(valueOf(event))}
      />
      <vscode-button disabled={repository.trim() === ''} onClick={make}>
        Add the project
      </vscode-button>
      {fault !== null && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

interface FormProps {
  readonly workflows: readonly WorkflowSummary[];
  readonly projects: readonly Project[];
  readonly draft: LaunchDraft | null;
  /** A project was added. */
  readonly onProject: () => void;
}

function Form({ workflows, projects, draft, onProject }: FormProps) {
  const { client, runs, go } = useHost();
  const [choice, setChoice] = useState<Choice>(() => begin(workflows, projects, draft?.choice ?? null));
  const typed = draft?.requests ?? [];
  const [requests, setRequests] = useState<readonly string[]>(typed.length > 0 ? typed : ['']);
  const [refusal, setRefusal] = useState<{ readonly message: string; readonly faults: readonly Fault[] } | null>(null);
  const [isSent, setSent] = useState(false);
  const workflow = workflows.find(({ name }) => name === choice.workflow) ?? workflows[0];
  if (workflow === undefined) return null;
  const { needsProject, trustModes } = workflow;
  const project = projects.find(({ id }) => id === choice.projectId) ?? projects[0];
  const fields = fieldsOf(workflow.input);
  // Approaches follow the server's own workflow for projects.
  const canExplore = workflow === workflows.find((each) => each.needsProject);
  const shown = canExplore ? requests : requests.slice(0, 1);
  const wanted = shown.map((request) => request.trim()).filter((request) => request !== '');
  const isExploration = wanted.length > 1;
  const isReady = !needsProject || (wanted.length > 0 && project !== undefined);
  const faults = refusal?.faults ?? [];
  const elsewhere = faultsElsewhere(faults, [
    'workflow',
    'request',
    ...(needsProject ? ['projectId'] : []),
    ...trustModes.map(({ name }) => `config.trustMode.${name}`),
    ...fields.map(pathOf),
    ...optionPaths(workflow),
  ]);

  const launch = async (): Promise<void> => {
    const chosen = { ...choice, workflow: workflow.name, projectId: needsProject ? (project?.id ?? '') : '' };
    const { launch: single, faults: own } = launchOf(workflow, chosen, wanted[0] ?? '');
    if (own.length > 0) return setRefusal({ message: 'some fields need another look.', faults: own });
    setSent(true);
    setRefusal(null);
    remember(chosen);
    try {
      if (!isExploration) {
        const run = await client.launchRun(single);
        runs.trigger.listed({ runs: [run] });
        go({ name: 'run', runId: run.id });
        return;
      }
      const config = configOf(chosen, true);
      const variants = wanted.map((request) => ({ request, config }));
      const exploration = await client.explore({ projectId: chosen.projectId, variants });
      runs.trigger.listed({ runs: exploration.runs });
      go({ name: 'exploration', explorationId: exploration.id });
    } catch (error) {
      const refused = faultsOf(error);
      const message = refused.length > 0 ? 'the server refused some of it.' : messageOf(error);
      setRefusal({ message, faults: refused });
      setSent(false);
    }
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !isSent) void launch();
      }}
    >
      {workflows.length > 1 && (
        <FormField label="Workflow" hint={workflow.description} fault={faultAt(faults, 'workflow')}>
          {(field) => (
            <select
              {...field}
              value={workflow.name}
              onChange={({ target }) => {
                setRefusal(null);
                setChoice(anotherWorkflow(workflows, target.value, choice));
              }}
            >
              {workflows.map(({ name, title }) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </FormField>
      )}
      {needsProject && project === undefined && <NewProject onMade={onProject} />}
      {needsProject && project !== undefined && (
        <FormField label="Project" fault={faultAt(faults, 'projectId')}>
          {(field) => (
            <select
              {...field}
              value={project.id}
              onChange={({ target }) => setChoice({ ...choice, projectId: target.value })}
            >
              {projects.map(({ id, name, repository }) => (
                <option key={id} value={id}>
                  {`${name} (${repository})`}
                </option>
              ))}
            </select>
          )}
        </FormField>
      )}
      {shown.map((request, index) => {
        const label = shown.length === 1 ? 'What is to be done?' : `Approach ${index + 1}`;
        const fault = index === 0 ? faultAt(faults, 'request') : null;
        return (
          <FormField key={index} label={label} fault={fault} isOptional={!needsProject}>
            {(field) => (
              <vscode-textarea
                {...field}
                label={label}
                rows={5}
                resize="vertical"
                value={request}
                oninput={(event) => setRequests(requests.with(index, valueOf(event)))}
              />
            )}
          </FormField>
        );
      })}
      {canExplore && (
        <div className="actions">
          {requests.length < 8 && (
            <button type="button" className="link" onClick={() => setRequests([...requests, requests[0] ?? ''])}>
              Explore another approach beside it
            </button>
          )}
          {requests.length > 1 && (
            <button type="button" className="link" onClick={() => setRequests(requests.slice(0, -1))}>
              Leave the last out
            </button>
          )}
        </div>
      )}
      <InputForm
        fields={fields}
        texts={choice.input}
        faults={faults}
        onTexts={(input) => setChoice({ ...choice, input })}
      />
      {trustModes.length > 0 && (
        <fieldset className="options">
          <legend>Ask me about</legend>
          {trustModes.map(({ name, title, description }) => {
            const fault = faultAt(faults, `config.trustMode.${name}`);
            return (
              <label key={name} className="switch">
                <input
                  type="checkbox"
                  checked={choice.trust[name] === 'manual'}
                  onChange={({ target }) =>
                    setChoice({ ...choice, trust: { ...choice.trust, [name]: target.checked ? 'manual' : 'auto' } })
                  }
                />
                <span>
                  {title}
                  <span className="quiet hint">{description}</span>
                  {fault !== null && <span className="fault">{fault}</span>}
                </span>
              </label>
            );
          })}
        </fieldset>
      )}
      <MoreOptions
        key={workflow.name}
        workflow={workflow}
        choice={choice}
        faults={faults}
        onChoice={setChoice}
        isExploration={isExploration}
        isAsked={typed.length > 0}
      />
      <div className="actions">
        <vscode-button disabled={isSent || !isReady} onClick={() => void launch()}>
          {isExploration ? `Explore ${wanted.length} approaches` : 'Start the run'}
        </vscode-button>
      </div>
      {refusal !== null && (
        <div className="fault" role="alert">
          <p>Not started: {refusal.message}</p>
          {elsewhere.length > 0 && (
            <ul>
              {elsewhere.map(({ path, message }) => (
                <li key={`${path} ${message}`}>
                  <code>{path}</code>: {message}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </form>
  );
}

/** What was chosen before, as far as it fits the workflows and projects that there are. */
function begin(
  workflows: readonly WorkflowSummary[],
  projects: readonly Project[],
  drafted: Partial<Choice> | null,
): Choice {
  const kept = remembered();
  const wanted = drafted?.workflow ?? kept.workflow;
  const workflow = workflows.find(({ name }) => name === wanted) ?? workflows[0];
  if (workflow === undefined) throw new Error('A form needs a workflow');
  const found = drafted ?? keptFor(kept, workflow.name);
  const isThere = projects.some(({ id }) => id === found.projectId);
  return choiceFor(workflow, (isThere ? found.projectId : projects[0]?.id) ?? '', found);
}

/** The same form for another workflow: what both have stays. */
function anotherWorkflow(workflows: readonly WorkflowSummary[], name: string, before: Choice): Choice {
  const workflow = workflows.find((each) => each.name === name);
  if (workflow === undefined) return before;
  const kept = keptFor(remembered(), name);
  const { projectId = '' } = before.projectId === '' ? kept : before;
  return choiceFor(workflow, projectId, { ...kept, budgets: before.budgets, baseBranch: before.baseBranch, input: {} });
}

function remembered(): KeptChoices {
  try {
    // Written by `remember` alone; what does not fit any more is left out.
    return JSON.parse(localStorage.getItem(MEMORY) ?? '{}') as KeptChoices;
  } catch {
    return {};
  }
}

function remember(choice: Choice): void {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(keptAfter(remembered(), choice)));
  } catch {
    // A browser that keeps nothing: the next form begins with the defaults.
  }
}
