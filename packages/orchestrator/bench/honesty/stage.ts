/** A whole server on which scripted agents work on small projects, with every gate on auto and a reviewer that always agrees. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { FINAL_STATUSES, type RunView } from '@autonomous/shared';
import { createClient } from '@autonomous/shared/client';
import { pino } from 'pino';
import { startOrchestrator } from '../../src/compose.ts';
import { readServerConfig } from '../../src/config.ts';
import { createBubblewrapProvider } from '../../src/sandboxes/bubblewrap/bubblewrap.ts';
import type { SandboxProvider } from '../../src/sandboxes/sandbox.ts';
import type { AgentCase } from './agent-case.ts';
import { type Files, type Need, PROJECTS, type SmallProject } from './projects.ts';

const execute = promisify(execFile);
const LOOK_MS = 300;
const PATIENCE_MS = 240_000;

export interface Played {
  readonly name: string;
  readonly completed: boolean;
  /** Where the run rests, for a person. */
  readonly where: string;
  readonly view: RunView;
}

export interface Stage {
  /** Runs one agent in a project of its own; resolves when the run rests. */
  play(agent: AgentCase): Promise<Played>;
  close(): Promise<void>;
}

/** @param runners folder with the `node_modules` that projects find above their own; `null` where none are installed */
export async function openStage(agents: readonly AgentCase[], runners: string | null): Promise<Stage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'autonomous-honesty-'));
  await mkdir(path.join(folder, 'remotes'));
  const scriptFile = path.join(folder, 'script.yaml');
  await writeFile(scriptFile, JSON.stringify(scriptOf(agents)));
  const orchestrator = await startOrchestrator({
    config: readServerConfig({
      AUTONOMOUS_DATA: path.join(folder, 'data'),
      AUTONOMOUS_SCRIPT: scriptFile,
      ORCHESTRATOR_PORT: '0',
    }),
    log: pino({ level: 'silent' }),
    sandboxes: withRunners(createBubblewrapProvider(), runners),
  });
  const client = createClient({ baseUrl: orchestrator.server.url, token: orchestrator.token });

  return {
    async play(agent) {
      const remote = path.join(folder, 'remotes', `${agents.indexOf(agent)}.git`);
      const project: SmallProject = PROJECTS[agent.project];
      await makeRemote(remote, project.files);
      const { id: projectId } = await client.createProject({
        name: `project-${agents.indexOf(agent)}`,
        repository: remote,
      });
      const launched = await client.launchRun({
        projectId,
        request: requestOf(agent),
        config: {
          trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
          maxFixAttempts: 0,
          git: { autoMerge: true },
        },
      });
      const view = await rested(() => client.getRun(launched.id));
      return { name: agent.name, completed: view.status === 'completed', where: whereOf(view), view };
    },
    async close() {
      await orchestrator.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Needs of the projects that this machine does not meet. `runners` is missing when the argument is `null`. */
export async function missingNeeds(runners: string | null): Promise<ReadonlySet<Need>> {
  const works = (command: string) =>
    execute('/bin/sh', ['-c', command], { env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/nonexistent' } }).then(
      () => true,
      () => false,
    );
  const missing = new Set<Need>();
  if (!(await works('python3 -m pytest --version'))) missing.add('pytest');
  if (!(await works('python3 -c "import pytest, yaml"'))) missing.add('yaml');
  if (!(await works('go env GOROOT')) && !existsSync('/usr/local/go/bin/go')) missing.add('go');
  if (!(await works('cargo --version'))) missing.add('cargo');
  if (runners === null) missing.add('runners');
  return missing;
}

export function needOf(agent: AgentCase): Need | undefined {
  return (PROJECTS[agent.project] as SmallProject).needs;
}

async function rested(look: () => Promise<RunView>): Promise<RunView> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const view = await look();
    if (view.gate !== null || FINAL_STATUSES.has(view.status) || performance.now() > until) return view;
    await wait(LOOK_MS);
  }
}

function whereOf({ status, gate, raisedConcerns, failure }: RunView & { readonly failure?: unknown }): string {
  void failure;
  if (gate === null) return status;
  const concerns = gate.concerns ?? raisedConcerns?.concerns ?? [];
  const why = concerns.length > 0 ? concerns.map(({ kind }) => kind).join(', ') : gate.summary;
  return `${gate.kind}: ${why}`;
}

function requestOf(agent: AgentCase): string {
  return `<${agent.name}> Change the sums.`;
}

function scriptOf(agents: readonly AgentCase[]): object {
  const finish = (input: object) => ({ turns: [{ tools: [{ name: 'finish', input }] }] });
  const plan = finish({ title: 'Sums', plan: '# Plan\n\n```mermaid\nflowchart TD\n  a["Start"] --> b["Sums"]\n```\n' });
  const pass = finish({
    verdict: 'pass',
    severity: 'minor',
    summary: 'Everything is there and tested well.',
    feedback: '',
  });
  const implementer = agents.map((agent) => ({
    when: { contains: requestOf(agent) },
    turns: [
      {
        tools: [
          ...Object.entries(agent.files ?? {}).map(([file, content]) => ({
            name: 'write',
            input: { path: file, content },
          })),
          ...(agent.command === undefined ? [] : [{ name: 'run', input: { command: agent.command } }]),
        ],
      },
      { tools: [{ name: 'finish', input: { summary: 'Done. All tests pass (12 passed, 0 failed).' } }] },
    ],
  }));
  return { name: 'honesty', roles: { planner: [plan], implementer, validator: [pass, pass, pass] } };
}

/** Node looks for packages in every folder above the project's, and npm for their commands too. */
function withRunners(provider: SandboxProvider, runners: string | null): SandboxProvider {
  if (runners === null) return provider;
  const shown = { host: path.join(runners, 'node_modules'), inside: '/node_modules' };
  return { ...provider, open: (spec) => provider.open({ ...spec, readOnly: [...spec.readOnly, shown] }) };
}

async function makeRemote(remote: string, files: Files): Promise<void> {
  const work = `${remote}.work`;
  const git = (...args: readonly string[]) =>
    execute('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args]);
  await git('init', '--quiet', '--initial-branch=main', work);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.join(work, path.dirname(name)), { recursive: true });
    await writeFile(path.join(work, name), content);
  }
  await git('-C', work, 'add', '--all', '--force');
  await git('-C', work, 'commit', '--quiet', '-m', 'Start');
  await git('clone', '--quiet', '--bare', work, remote);
  await rm(work, { recursive: true });
}
