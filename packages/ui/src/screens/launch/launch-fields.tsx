/** Fields of the form of a new run that every workflow may have. */
import type { Fault, Project, WorkflowSummary } from '@autonomous/shared';
import { useState } from 'react';
import { valueOf } from '../../components/elements.ts';
import { useHost } from '../../hosts/host.ts';
import { messageOf } from '../../hosts/messages.ts';
import type { Choice } from '../../launch-choice.ts';
import { faultAt } from '../../launch-faults.ts';
import { FormField } from './form-field.tsx';

/** Most approaches that are explored side by side. */
const MOST_APPROACHES = 8;

export interface WorkflowFieldProps {
  readonly workflows: readonly WorkflowSummary[];
  readonly workflow: WorkflowSummary;
  readonly faults: readonly Fault[];
  readonly onWorkflow: (name: string) => void;
}

export function WorkflowField({ workflows, workflow, faults, onWorkflow }: WorkflowFieldProps) {
  return (
    <FormField label="Workflow" hint={workflow.description} fault={faultAt(faults, 'workflow')}>
      {(field) => (
        <select {...field} value={workflow.name} onChange={({ target }) => onWorkflow(target.value)}>
          {workflows.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

export interface ProjectFieldProps {
  readonly projects: readonly Project[];
  readonly project: Project;
  readonly faults: readonly Fault[];
  readonly onProject: (id: string) => void;
}

export function ProjectField({ projects, project, faults, onProject }: ProjectFieldProps) {
  return (
    <FormField label="Project" fault={faultAt(faults, 'projectId')}>
      {(field) => (
        <select {...field} value={project.id} onChange={({ target }) => onProject(target.value)}>
          {projects.map(({ id, name, repository }) => (
            <option key={id} value={id}>
              {`${name} (${repository})`}
            </option>
          ))}
        </select>
      )}
    </FormField>
  );
}

export function NewProject({ onMade }: { readonly onMade: () => void }) {
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

export interface RequestFieldsProps {
  /** One for each approach. */
  readonly requests: readonly string[];
  readonly isOptional: boolean;
  /** The request that is taken where the field stays empty, or what is to be said in it. */
  readonly placeholder?: string | undefined;
  readonly faults: readonly Fault[];
  readonly onRequests: (requests: readonly string[]) => void;
}

export function RequestFields({ requests, isOptional, placeholder, faults, onRequests }: RequestFieldsProps) {
  return requests.map((request, index) => {
    const label = requests.length === 1 ? 'What is to be done?' : `Approach ${index + 1}`;
    const fault = index === 0 ? faultAt(faults, 'request') : null;
    return (
      <FormField key={index} label={label} fault={fault} isOptional={isOptional}>
        {(field) => (
          <vscode-textarea
            {...field}
            label={label}
            rows={isOptional ? 2 : 5}
            resize="vertical"
            {...(placeholder === undefined ? {} : { placeholder })}
            value={request}
            oninput={(event) => onRequests(requests.with(index, valueOf(event)))}
          />
        )}
      </FormField>
    );
  });
}

/** Adds an approach beside the others, or leaves the last one out. */
export function ApproachActions({ requests, onRequests }: Pick<RequestFieldsProps, 'requests' | 'onRequests'>) {
  return (
    <div className="actions">
      {requests.length < MOST_APPROACHES && (
        <button type="button" className="link" onClick={() => onRequests([...requests, requests[0] ?? ''])}>
          Explore another approach beside it
        </button>
      )}
      {requests.length > 1 && (
        <button type="button" className="link" onClick={() => onRequests(requests.slice(0, -1))}>
          Leave the last out
        </button>
      )}
    </div>
  );
}

export interface TrustFieldsProps {
  readonly trustModes: WorkflowSummary['trustModes'];
  readonly trust: Choice['trust'];
  readonly faults: readonly Fault[];
  readonly onTrust: (trust: Choice['trust']) => void;
}

/** The decisions that a person wants to be asked about. */
export function TrustFields({ trustModes, trust, faults, onTrust }: TrustFieldsProps) {
  return (
    <fieldset className="options">
      <legend>Ask me about</legend>
      {trustModes.map(({ name, title, description }) => {
        const fault = faultAt(faults, `config.trustMode.${name}`);
        return (
          <label key={name} className="switch">
            <input
              type="checkbox"
              checked={trust[name] === 'manual'}
              onChange={({ target }) => onTrust({ ...trust, [name]: target.checked ? 'manual' : 'auto' })}
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
  );
}

export interface LaunchRefusalProps {
  readonly message: string;
  /** Faults that no field of the form shows. */
  readonly faults: readonly Fault[];
}

export function LaunchRefusal({ message, faults }: LaunchRefusalProps) {
  return (
    <div className="fault" role="alert">
      <p>Not started: {message}</p>
      {faults.length > 0 && (
        <ul>
          {faults.map((fault) => (
            <li key={`${fault.path} ${fault.message}`}>
              <code>{fault.path}</code>: {fault.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
