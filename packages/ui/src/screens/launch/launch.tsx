/** A new run of any workflow, or several ways of doing the same side by side. Remembers what was chosen last. */
import type { Fault, Project, WorkflowSummary } from '@autonomous/shared';
import { launchableOf } from '@autonomous/shared/client';
import { fieldsOf, filledInput, filledText, pathOf } from '@autonomous/shared/presentation';
import { useSelector } from '@xstate/store-react';
import { useState } from 'react';
import { useHost } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';
import {
  type Choice,
  choiceFor,
  explorationOf,
  type KeptChoices,
  keptAfter,
  keptFor,
  type LaunchDraft,
  launchOf,
} from '../../launch-choice.ts';
import { faultsElsewhere, faultsOf } from '../../launch-faults.ts';
import { Link } from '../../components/link.tsx';
import { type Loaded, Loading, useLoaded } from '../../components/loading.tsx';
import { InputForm } from './input-form.tsx';
import {
  ApproachActions,
  LaunchRefusal,
  NewProject,
  ProjectField,
  RequestFields,
  TrustFields,
  WorkflowField,
} from './launch-fields.tsx';
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
      <NoModel />
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

/** Says once that nothing can be used, and where to change that. */
function NoModel() {
  const { client, setup } = useHost();
  const models = useLoaded('models', () => client.listModels());
  if (models.value === null || models.value.some(({ usable }) => usable)) return null;
  return (
    <p className="fault" role="alert">
      No model can be used yet: no provider has a key, and no agent is ready.{' '}
      {setup === undefined ? (
        'Give the server a key in the walkthrough.'
      ) : (
        <Link to={{ name: 'setup' }}>Give it a key or choose an agent.</Link>
      )}
    </p>
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
  const shown = needsProject ? requests : requests.slice(0, 1);
  const wanted = shown.map((request) => request.trim()).filter((request) => request !== '');
  const isExploration = wanted.length > 1;
  const isOptional = !needsProject || workflow.defaultRequest !== undefined;
  const isReady = (isOptional || wanted.length > 0) && (!needsProject || project !== undefined);
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
    const { exploration: several } = explorationOf(workflow, chosen, wanted);
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
      const exploration = await client.explore(several);
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
        <WorkflowField
          workflows={workflows}
          workflow={workflow}
          faults={faults}
          onWorkflow={(name) => {
            setRefusal(null);
            setChoice(anotherWorkflow(workflows, name, choice));
          }}
        />
      )}
      {needsProject && project === undefined && <NewProject onMade={onProject} />}
      {needsProject && project !== undefined && (
        <ProjectField
          projects={projects}
          project={project}
          faults={faults}
          onProject={(projectId) => setChoice({ ...choice, projectId })}
        />
      )}
      <RequestFields
        requests={shown}
        isOptional={isOptional}
        placeholder={
          workflow.defaultRequest === undefined
            ? workflow.command?.asks?.text
            : filledText(workflow.defaultRequest, filledInput(fields, choice.input))
        }
        faults={faults}
        onRequests={(changed) => setRequests([...changed, ...requests.slice(shown.length)])}
      />
      {needsProject && <ApproachActions requests={requests} onRequests={setRequests} />}
      <InputForm
        fields={fields}
        texts={choice.input}
        faults={faults}
        onTexts={(input) => setChoice({ ...choice, input })}
      />
      {trustModes.length > 0 && (
        <TrustFields
          trustModes={trustModes}
          trust={choice.trust}
          faults={faults}
          onTrust={(trust) => setChoice({ ...choice, trust })}
        />
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
        {!isReady && (
          <span className="quiet">
            {needsProject && project === undefined ? 'Add a project first.' : 'Say first what is to be done.'}
          </span>
        )}
      </div>
      {refusal !== null && <LaunchRefusal message={refusal.message} faults={elsewhere} />}
    </form>
  );
}

/** Earlier choice, as far as its workflow and project still exist. */
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
  const { budgets, baseBranch, end } = before;
  return choiceFor(workflow, projectId, { ...kept, projectId, budgets, baseBranch, end, input: {} });
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
