/** Keys of providers, agents of the server's machine and default models: the first page of a server that has none. */
import { type AgentSetup, configuredRoles, type ProviderSetup, type Setup as ServerSetup } from '@autonomous/shared';
import { launchableOf } from '@autonomous/shared/client';
import { useSelector } from '@xstate/store-react';
import { type ReactNode, useId, useState } from 'react';
import type { SetupClient } from '../bridge.ts';
import { Icon } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { Loading, useLoaded } from '../components/loading.tsx';
import { useHost } from '../hosts/host.ts';
import { messageOf } from '../hosts/messages.ts';
import { faultAt, faultsOf } from '../launch-faults.ts';
import { FormField } from './launch/form-field.tsx';

export function Setup() {
  const { setup: client } = useHost();
  if (client === undefined)
    return <p className="empty">Keys are given in the dashboard of the server, or in the editor’s walkthrough.</p>;
  return <SetupOf client={client} />;
}

function SetupOf({ client }: { readonly client: SetupClient }) {
  const loaded = useLoaded('setup', () => client.getSetup());
  return (
    <section className="setup" aria-label="Setup">
      <h1>Setup</h1>
      <Loading of={loaded} what="The setup">
        {(setup) => (
          <>
            <Standing setup={setup} />
            <Keys client={client} setup={setup} onChange={loaded.again} />
            <Agents client={client} setup={setup} onChange={loaded.again} />
            <DefaultModels client={client} setup={setup} onChange={loaded.again} />
            <Demo />
          </>
        )}
      </Loading>
    </section>
  );
}

function Standing({ setup }: { readonly setup: ServerSetup }) {
  const models = [...new Set(Object.values(setup.defaultModels))];
  if (setup.isReady)
    return (
      <p className="standing" role="status">
        <Icon name="pass" /> Ready. Runs use {models.join(', ')}.{' '}
        <Link className="primary" to={{ name: 'launch' }}>
          New run
        </Link>
      </p>
    );
  return (
    <p className="standing" role="status">
      Runs need a model. Paste a key of one provider, or choose a coding agent of this machine. Nothing is spent until a
      run starts.
    </p>
  );
}

interface PartProps {
  readonly client: SetupClient;
  readonly setup: ServerSetup;
  readonly onChange: () => void;
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId();
  return (
    <section className="part" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

function Keys({ client, setup, onChange }: PartProps) {
  const known = setup.providers.filter(
    ({ status, source, id }) => source !== null || (id === OLLAMA && status === 'ready'),
  );
  return (
    <Part title="Keys">
      {known.length > 0 && (
        <ul className="entries">
          {known.map((provider) => (
            <ProviderEntry key={provider.id} provider={provider} client={client} onChange={onChange} />
          ))}
        </ul>
      )}
      <KeyForm client={client} providers={setup.providers} onChange={onChange} />
    </Part>
  );
}

const OLLAMA = 'ollama';

const PROVIDER_STANDING = {
  ready: ['pass', 'ready'],
  no_key: ['circle-large-outline', 'no key'],
  refused: ['error', 'refused'],
  unreachable: ['debug-disconnect', 'not reachable'],
} as const;

const SOURCES = {
  environment: 'from the environment',
  file: 'kept in a file',
  memory: 'until the server stops',
} as const;

function ProviderEntry(props: {
  readonly provider: ProviderSetup;
  readonly client: SetupClient;
  readonly onChange: () => void;
}) {
  const { provider, client, onChange } = props;
  const { id, title, status, source, hint, models, detail, baseUrl } = provider;
  const { isBusy, fault, act } = useAction(onChange);
  const [icon, words] = PROVIDER_STANDING[status];
  const facts = [
    words,
    hint,
    source === null ? null : SOURCES[source],
    baseUrl ?? null,
    models.length === 0 ? null : `${models.length} ${models.length === 1 ? 'model' : 'models'}`,
  ];
  return (
    <Entry icon={icon} status={status} title={title} facts={facts} detail={detail} fault={fault}>
      <vscode-button
        secondary
        aria-label={`Test ${title}`}
        disabled={isBusy}
        onClick={() => act(() => client.testProvider(id))}
      >
        {isBusy ? 'Testing…' : 'Test'}
      </vscode-button>
      {(source === 'file' || source === 'memory') && (
        <vscode-button secondary disabled={isBusy} onClick={() => act(() => client.removeKey(id))}>
          Remove key
        </vscode-button>
      )}
    </Entry>
  );
}

function KeyForm(props: {
  readonly client: SetupClient;
  readonly providers: readonly ProviderSetup[];
  readonly onChange: () => void;
}) {
  const { client, providers, onChange } = props;
  const choices = providers.filter(
    ({ source, keysUrl, takesBaseUrl }) => source !== 'environment' && (keysUrl !== '' || takesBaseUrl === true),
  );
  const [chosen, setChosen] = useState('');
  const [key, setKey] = useState('');
  const [address, setAddress] = useState('');
  const [isKept, setKept] = useState(true);
  const [refusal, setRefusal] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [given, setGiven] = useState<string | null>(null);
  const provider = choices.find(({ id }) => id === chosen) ?? choices[0];
  if (provider === undefined) return <p className="quiet">All keys come from the environment of the server.</p>;
  const takesAddress = provider.takesBaseUrl === true;
  const isFilled = takesAddress ? address.trim() !== '' || key !== '' : key !== '';
  const faults = refusal === null ? [] : faultsOf(refusal);
  const keyFault = faultAt(faults, 'key') ?? (refusal !== null && faults.length === 0 ? messageOf(refusal) : null);
  const give = async (): Promise<void> => {
    setBusy(true);
    setRefusal(null);
    setGiven(null);
    try {
      await client.setKey(provider.id, {
        key,
        keep: isKept ? 'file' : 'memory',
        ...(takesAddress && address.trim() !== '' ? { baseUrl: address.trim() } : {}),
      });
      setKey('');
      setGiven(provider.title);
      onChange();
    } catch (error) {
      setRefusal(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="key-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isFilled && !isBusy) void give();
      }}
    >
      <FormField label="Provider" fault={null}>
        {(field) => (
          <select
            {...field}
            value={provider.id}
            onChange={({ target }) => {
              setChosen(target.value);
              setRefusal(null);
            }}
          >
            {choices.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        )}
      </FormField>
      {takesAddress && (
        <FormField label="Address" fault={faultAt(faults, 'baseUrl')}>
          {(field) => (
            <input
              {...field}
              type="url"
              placeholder={provider.baseUrl ?? 'http://127.0.0.1:8000/v1'}
              value={address}
              onChange={({ target }) => setAddress(target.value)}
            />
          )}
        </FormField>
      )}
      <FormField label="Key" isOptional={takesAddress} fault={keyFault}>
        {(field) => (
          <input
            {...field}
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={key}
            onChange={({ target }) => setKey(target.value)}
          />
        )}
      </FormField>
      {provider.keysUrl !== '' && (
        <p className="quiet">
          {provider.title} gives keys at{' '}
          <a href={provider.keysUrl} target="_blank" rel="noreferrer">
            {provider.keysUrl}
          </a>
        </p>
      )}
      <label className="kept">
        <input type="checkbox" checked={isKept} onChange={({ target }) => setKept(target.checked)} /> Keep it after a
        restart, in a file that only the server’s user can read
      </label>
      <div className="actions">
        <vscode-button disabled={!isFilled || isBusy} onClick={() => void give()}>
          {isBusy ? 'Testing…' : 'Test and use'}
        </vscode-button>
        <span role="status">{given === null ? '' : `The key of ${given} works.`}</span>
      </div>
    </form>
  );
}

const AGENT_STANDING = {
  ready: ['pass', 'found'],
  not_signed_in: ['key', 'needs a key'],
  not_found: ['circle-large-outline', 'not found'],
  failed: ['error', 'does not start'],
} as const;

function Agents({ client, setup, onChange }: PartProps) {
  const models = setup.providers.find(({ id }) => id === OLLAMA)?.models ?? [];
  return (
    <Part title="Agents of this machine">
      <ul className="entries">
        {setup.agents.map((agent) => (
          <AgentEntry key={agent.id} agent={agent} setup={setup} client={client} onChange={onChange} />
        ))}
        <OllamaEntry models={models} setup={setup} client={client} onChange={onChange} />
      </ul>
    </Part>
  );
}

/** All roles by one model, as far as the environment leaves them. */
function forAllRoles({ defaultModels }: ServerSetup, model: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(defaultModels).map((role) => [role, model]));
}

function AgentEntry({ agent, setup, client, onChange }: PartProps & { readonly agent: AgentSetup }) {
  const { id, title, status, version, detail, way } = agent;
  const { isBusy, fault, act } = useAction(onChange);
  const [icon, words] = AGENT_STANDING[status];
  const model = `acp:${id}`;
  const isChosen = Object.values(setup.defaultModels).every((each) => each === model);
  const said = [detail, way].filter((text) => text !== null).join(' ');
  return (
    <Entry icon={icon} status={status} title={title} facts={[words, version]} detail={said || null} fault={fault}>
      {status !== 'not_found' && (
        <vscode-button
          secondary
          aria-label={`Test ${title}`}
          disabled={isBusy}
          onClick={() => act(() => client.testAgent(id))}
        >
          {isBusy ? 'Testing…' : 'Test'}
        </vscode-button>
      )}
      {status === 'ready' && (
        <vscode-button
          disabled={isBusy || isChosen}
          onClick={() => act(() => client.setDefaultModels(forAllRoles(setup, model)))}
        >
          {isChosen ? 'Used for all roles' : `Use ${title}`}
        </vscode-button>
      )}
    </Entry>
  );
}

function OllamaEntry({ models, setup, client, onChange }: PartProps & { readonly models: readonly string[] }) {
  const { isBusy, fault, act } = useAction(onChange);
  const provider = setup.providers.find(({ id }) => id === OLLAMA);
  const [first] = models;
  if (provider === undefined) return null;
  const isChosen = Object.values(setup.defaultModels).every((each) => each === first);
  const [icon, words] = PROVIDER_STANDING[provider.status];
  const isAway = provider.status === 'unreachable';
  const facts = [isAway ? 'not running' : words, first ?? null];
  return (
    <Entry
      icon={isAway ? 'circle-large-outline' : icon}
      status={isAway ? 'not_found' : provider.status}
      title={provider.title}
      facts={facts}
      detail={provider.detail}
      fault={fault}
    >
      {first !== undefined && (
        <vscode-button
          disabled={isBusy || isChosen}
          onClick={() => act(() => client.setDefaultModels(forAllRoles(setup, first)))}
        >
          {isChosen ? 'Used for all roles' : `Use ${provider.title}`}
        </vscode-button>
      )}
    </Entry>
  );
}

function DefaultModels({ client, setup, onChange }: PartProps) {
  const { workflows } = useHost();
  const catalog = useSelector(workflows, ({ context }) => context);
  const { fault, act, isBusy } = useAction(onChange);
  const titles = new Map(
    launchableOf(catalog)
      .flatMap(configuredRoles)
      .map(({ name, title }) => [name, title]),
  );
  const usable = [
    ...setup.providers.flatMap(({ models }) => models),
    ...setup.agents.flatMap(({ id, status }) => (status === 'ready' ? [`acp:${id}`] : [])),
  ];
  if (usable.length === 0) return null;
  return (
    <Part title="Default models">
      <div className="role-models">
        {Object.entries(setup.defaultModels).map(([role, model]) => (
          <FormField key={role} label={titles.get(role) ?? role} fault={null}>
            {(field) => (
              <select
                {...field}
                value={model}
                disabled={isBusy}
                onChange={({ target }) => act(() => client.setDefaultModels({ [role]: target.value }))}
              >
                {!usable.includes(model) && <option value={model}>{model} (cannot be used)</option>}
                {usable.map((id) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            )}
          </FormField>
        ))}
      </div>
      {fault !== null && (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
    </Part>
  );
}

function Demo() {
  // Web views have no such data.
  const { demo } = document.documentElement.dataset;
  return (
    <Part title="Try the demo">
      <p>A scripted run on a small project, in a server of its own. It needs no key and costs nothing:</p>
      <pre>{demo ?? 'autonomous demo'}</pre>
    </Part>
  );
}

function Entry(props: {
  readonly icon: string;
  readonly status: string;
  readonly title: string;
  readonly facts: readonly (string | null)[];
  readonly detail: string | null;
  readonly fault: string | null;
  readonly children: ReactNode;
}) {
  const { icon, status, title, facts, detail, fault, children } = props;
  return (
    <li data-status={status}>
      <Icon name={icon} />
      <div className="words">
        <strong>{title}</strong>{' '}
        <span className="quiet known">
          {facts
            .filter((fact) => fact !== null)
            .map((fact) => (
              <span key={fact}>{fact}</span>
            ))}
        </span>
        {detail !== null && <p>{detail}</p>}
        {fault !== null && (
          <p className="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <div className="actions">{children}</div>
    </li>
  );
}

/** One action at a time, with what went wrong. */
function useAction(onDone: () => void) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const act = (action: () => Promise<unknown>): void => {
    setBusy(true);
    setFault(null);
    action()
      .then(onDone, (error: unknown) => setFault(messageOf(error)))
      .finally(() => setBusy(false));
  };
  return { isBusy, fault, act };
}
