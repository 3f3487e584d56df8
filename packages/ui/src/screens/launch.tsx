/** A new run, or several ways of doing the same side by side. Remembers what was chosen last. */
import type { Project } from '@autonomous/shared';
import { useSelector } from '@xstate/store-react';
import { useState } from 'react';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { type Choice, configOf, DEFAULT_TRUST, type LaunchDraft, STAGES } from '../launch-choice.ts';
import { valueOf } from '../components/elements.ts';
import { Loading, useLoaded } from '../components/loading.tsx';
import { MoreOptions } from './launch-options.tsx';

const MEMORY = 'autonomous.launch';
const STAGE_TITLES: Readonly<Record<(typeof STAGES)[number], string>> = {
  planning: 'the plan',
  implementation: 'the result',
  fixes: 'failed checks',
};

export function Launch() {
  const { client, place } = useHost();
  const draft = useSelector(place, ({ context }) => (context.screen.name === 'launch' ? context.screen.draft : null));
  const projects = useLoaded('projects', () => client.listProjects({ limit: 200 }));
  return (
    <section className="launch" aria-label="New run">
      <h1>New run</h1>
      <Loading of={projects} what="The projects">
        {({ items }) =>
          items.length === 0 ? (
            <NewProject onMade={projects.again} />
          ) : (
            <Form key={draft?.id ?? ''} projects={items} draft={draft ?? null} />
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

function Form({ projects, draft }: { readonly projects: readonly Project[]; readonly draft: LaunchDraft | null }) {
  const { client, runs, go } = useHost();
  const [choice, setChoice] = useState<Choice>(() => begin(projects, draft?.choice ?? remembered()));
  const typed = draft?.requests ?? [];
  const [requests, setRequests] = useState<readonly string[]>(typed.length > 0 ? typed : ['']);
  const [fault, setFault] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  const wanted = requests.map((request) => request.trim()).filter((request) => request !== '');

  const launch = async (): Promise<void> => {
    setSent(true);
    setFault(null);
    remember(choice);
    const config = configOf(choice, wanted.length > 1);
    try {
      const [only, ...others] = wanted;
      if (only === undefined) return;
      if (others.length === 0) {
        const run = await client.launchRun({ projectId: choice.projectId, request: only, config });
        runs.trigger.listed({ runs: [run] });
        go({ name: 'run', runId: run.id });
        return;
      }
      const variants = wanted.map((request) => ({ request, config }));
      const exploration = await client.explore({ projectId: choice.projectId, variants });
      runs.trigger.listed({ runs: exploration.runs });
      go({ name: 'exploration', explorationId: exploration.id });
    } catch (error) {
      setFault(messageOf(error));
      setSent(false);
    }
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void launch();
      }}
    >
      <label className="field">
        Project
        <vscode-single-select
          label="Project"
          value={choice.projectId}
          onchange={(event) => setChoice({ ...choice, projectId: valueOf(event) })}
        >
          {projects.map(({ id, name, repository }) => (
            <vscode-option key={id} value={id} selected={id === choice.projectId}>
              {`${name} (${repository})`}
            </vscode-option>
          ))}
        </vscode-single-select>
      </label>
      {requests.map((request, index) => (
        <div className="field" key={index}>
          <span id={`request-${index}`}>{requests.length === 1 ? 'What is to be done?' : `Approach ${index + 1}`}</span>
          <vscode-textarea
            label={requests.length === 1 ? 'What is to be done?' : `Approach ${index + 1}`}
            rows={5}
            resize="vertical"
            value={request}
            oninput={(event) => setRequests(requests.with(index, valueOf(event)))}
          />
        </div>
      ))}
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
      <fieldset className="options">
        <legend>Ask me about</legend>
        {STAGES.map((stage) => (
          <label key={stage}>
            <input
              type="checkbox"
              checked={choice.trust[stage] === 'manual'}
              onChange={({ target }) =>
                setChoice({ ...choice, trust: { ...choice.trust, [stage]: target.checked ? 'manual' : 'auto' } })
              }
            />
            {STAGE_TITLES[stage]}
          </label>
        ))}
      </fieldset>
      <MoreOptions choice={choice} onChoice={setChoice} isExploration={wanted.length > 1} isAsked={typed.length > 0} />
      <div className="actions">
        <vscode-button disabled={isSent || wanted.length === 0} onClick={() => void launch()}>
          {wanted.length > 1 ? `Explore ${wanted.length} approaches` : 'Start the run'}
        </vscode-button>
      </div>
      {fault !== null && (
        <p className="fault" role="alert">
          Not started: {fault}
        </p>
      )}
    </form>
  );
}

/** What was chosen before, as far as it fits the projects that there are. */
function begin(projects: readonly Project[], found: Partial<Choice>): Choice {
  const isThere = projects.some(({ id }) => id === found.projectId);
  return {
    projectId: (isThere ? found.projectId : projects[0]?.id) ?? '',
    trust: { ...DEFAULT_TRUST, ...found.trust },
    models: found.models ?? {},
    budgets: found.budgets ?? {},
    baseBranch: found.baseBranch ?? '',
  };
}

function remembered(): Partial<Choice> {
  try {
    // Written by `remember` alone; what does not fit any more is left out.
    return JSON.parse(localStorage.getItem(MEMORY) ?? '{}') as Partial<Choice>;
  } catch {
    return {};
  }
}

function remember(choice: Choice): void {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(choice));
  } catch {
    // A browser that keeps nothing: the next form begins with the defaults.
  }
}
