/**
 * Work that goes on beside the engine: the record in git, runs that resume by themselves, the merge radar, probation after
 * crashes, upkeep.
 */
import type { Gate, Project, RunView } from '@autonomous/shared';
import type { Logger } from 'pino';
import { committedSecrets } from '../activities/git/outgoing.ts';
import { recordableObjects, recordableUpload } from '../activities/git/recordable.ts';
import type { ActivityTools } from '../activities/tools.ts';
import { removeRunFolder } from '../activities/work-folders.ts';
import type { ServerConfig } from '../config.ts';
import { isFinal } from '../core/advance.ts';
import { Archiver } from '../upkeep/archiver.ts';
import { systemClock } from '../engine/clock.ts';
import { BranchCleaner } from '../upkeep/branch-cleaner.ts';
import type { CrashLedger } from '../engine/crashes/crash-ledger.ts';
import { CrashProbation } from '../upkeep/crash-probation.ts';
import type { Engine } from '../engine/engine.ts';
import { DailyUpkeep, type UpkeepTask } from '../upkeep/daily-upkeep.ts';
import { MergeRadar } from '../upkeep/merge-radar.ts';
import { MirrorKeeper } from '../upkeep/mirror-keeper.ts';
import { RecordComparison } from '../record/record-comparison.ts';
import { RecordMover } from '../record/record-mover.ts';
import { RunRecordWriter } from '../record/run-record-writer.ts';
import { type Probe, SelfResume, SERVER } from '../engine/self-resume.ts';
import { probeProvider } from '../models/provider-probe.ts';
import type { Workflow } from '../workflows/workflow.ts';
import type { Adapters } from './adapters.ts';
import { whyNoRoom, whyNotStorable } from './storage-health.ts';

export interface BackgroundWorkOptions {
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly adapters: Adapters;
  /** As activities get them. */
  readonly tools: ActivityTools;
  readonly workflows: readonly Workflow[];
  readonly engine: Engine;
  readonly crashes: CrashLedger;
  /** Names this server in the record. */
  readonly serverId: string;
  /** Folder of the runs' work folders. */
  readonly workFolder: string;
}

export interface BackgroundWork {
  readonly comparison: RecordComparison;
  readonly recorder: RunRecordWriter;
  readonly selfResume: SelfResume;
  readonly probation: CrashProbation;
  readonly mirrorKeeper: MirrorKeeper;
  readonly archiver: Archiver;
  readonly branchCleaner: BranchCleaner;
  readonly upkeep: DailyUpkeep;
  readonly mergeRadar: MergeRadar;
}

/** Makes all of it, and lets it follow the engine; nothing is started. */
export function createBackgroundWork(options: BackgroundWorkOptions): BackgroundWork {
  const { config, log, adapters, engine, crashes } = options;
  const { store } = adapters;
  const clock = systemClock;
  const { comparison, recorder } = createRunRecord(options);
  const selfResume = new SelfResume({
    store,
    clock,
    log,
    firstWaitMs: config.resumeProbeMs,
    probeOf: (view, gate) => probeOf(view, gate, options),
    retry: (runId, gateId) => engine.signal(runId, 'RETRY_REQUESTED', { by: SERVER, gateId }, { gateId }),
  });
  const probation = new CrashProbation({
    ledger: crashes,
    store,
    clock,
    log,
    recoverRun: (runId) => engine.recoverRun(runId),
  });
  const mirrorKeeper = new MirrorKeeper({ store, repository: adapters.repository, clock, log });
  const archiver = new Archiver({ store, clock, log, afterDays: config.archiveAfterDays });
  const { repository } = adapters;
  const afterDays = config.branchesAfterDays;
  const branchCleaner = new BranchCleaner({ store, repository, clock, afterDays });
  const recordMover = new RecordMover({ store, repository, clock, afterDays });
  const upkeep = new DailyUpkeep({ store, clock, log, tasks: upkeepTasks(config, branchCleaner, recordMover) });
  const mergeRadar = new MergeRadar({ store, repository: options.tools.repository, log });
  engine.subscribe((message) => {
    if ('progress' in message) adapters.transcripts.add(message.progress);
    else if (isFinal(message.view.status)) void removeFolderOf(message.view, options.workFolder, log);
    recorder.receive(message);
    selfResume.receive(message);
    mergeRadar.receive(message);
  });
  return { comparison, recorder, selfResume, probation, mirrorKeeper, archiver, branchCleaner, upkeep, mergeRadar };
}

function upkeepTasks(config: ServerConfig, cleaner: BranchCleaner, mover: RecordMover): readonly UpkeepTask[] {
  if (config.branchesAfterDays === 0) return [];
  return [
    async (project, signal) => {
      const { removed } = await cleaner.clean(project, {}, signal);
      const names = removed.map(({ branch }) => branch).join(', ');
      return removed.length === 0 ? null : `old branches of runs were removed: ${names}`;
    },
    async (project, signal) => {
      const moved = isInMirrorOnly(config, project) ? 0 : await mover.move(project, signal);
      return moved === 0 ? null : `the records of ${moved} old runs were moved to the branches of their years`;
    },
  ];
}

/** Whether the record of a project is never pushed. */
function isInMirrorOnly({ recordInMirrorOnly }: ServerConfig, { id, name, repository }: Project): boolean {
  return ['*', id, name, repository].some((each) => recordInMirrorOnly.includes(each));
}

function createRunRecord(options: BackgroundWorkOptions): Pick<BackgroundWork, 'comparison' | 'recorder'> {
  const { config, log, adapters, tools, workflows, engine, serverId } = options;
  const { repository } = tools;
  const { store, transcripts, scrubber } = adapters;
  const comparison: RecordComparison = new RecordComparison({
    store,
    repository,
    clock: systemClock,
    log,
    serverId,
    quarantine: (runId, message) => engine.quarantine(runId, message),
    onKnown: (projectId, { behind, outdated }) => {
      void store
        .getProject(projectId)
        .then((project) => project !== null && !isInMirrorOnly(config, project))
        .catch(() => false)
        .then((isPushed) => recorder.tryAgain([...outdated, ...(isPushed ? behind : [])]));
    },
  });
  const recorder: RunRecordWriter = new RunRecordWriter({
    store,
    repository,
    transcripts,
    clock: systemClock,
    log,
    scrub: scrubber.scrub,
    committedSecrets: (project, { branch }, signal) =>
      branch === '' ? Promise.resolve([]) : committedSecrets(repository, project, branch, signal),
    comparison,
    serverId,
    objectsOf: (project, view, events, signal) => recordableObjects(tools, project, view, events, signal),
    contentOf: (upload, signal) => recordableUpload(tools, upload, signal),
    isInMirrorOnly: (project) => isInMirrorOnly(config, project),
    recordFiles: (view, events) =>
      workflows.find(({ name }) => name === view.workflow.name)?.recordFiles?.(view, events) ?? {},
  });
  return { comparison, recorder };
}

/** Probe for what stopped a paused run; `null` when nothing but the run itself can find out whether it is back. */
async function probeOf(view: RunView, gate: Gate, options: BackgroundWorkOptions): Promise<Probe | null> {
  if (gate.reason === 'storage_full') return diskProbe(options);
  if (gate.reason === 'auth_expired' || gate.reason === 'remote_unavailable')
    return remoteProbe(view, gate, options.adapters);
  return modelProbe(view, gate, options);
}

/** The disk has room when a step of a run can be stored and a sandbox may go on. */
function diskProbe({ config, adapters: { store } }: BackgroundWorkOptions): Probe {
  const isBack = async () => (await whyNotStorable(config, store)) === null && (await whyNoRoom(config)) === null;
  return { key: 'the disk', ask: async () => ((await isBack()) ? 'back' : 'away') };
}

/** Probe for the provider of the model of the gate's stage. `null` where no provider is known. */
function modelProbe({ config, workflow }: RunView, { stage }: Gate, options: BackgroundWorkOptions): Probe | null {
  const { models, setup } = options.adapters;
  const stages = options.workflows.find(({ name }) => name === workflow.name)?.stages ?? [];
  const model = config.modelRouting[stages.find(({ name }) => name === stage)?.role ?? ''];
  const checked = model === undefined ? null : models.check(model);
  if (checked?.ok !== true) return null;
  const provider = checked.id.split(':', 1)[0] ?? '';
  return { key: `provider ${provider}`, ask: () => probeProvider(setup.settings(), provider) };
}

/**
 * The remote is back when it answers and has the run's base branch, and so does the forge that holds it. For `auth_expired` the
 * forge also has to let the server write; `null` where there is none, since anybody may be able to read.
 */
async function remoteProbe(
  { projectId, config }: RunView,
  { reason }: Gate,
  adapters: Adapters,
): Promise<Probe | null> {
  const { store, repository, forge } = adapters;
  const project = await store.getProject(projectId);
  const name = (project && forge?.repositoryAt(project.repository)) ?? null;
  const isRefused = reason === 'auth_expired';
  if (project === null || (isRefused && name === null)) return null;
  const { baseBranch } = config.git;
  return {
    key: `${isRefused ? 'access to ' : ''}${baseBranch} of ${project.repository}`,
    ask: async () => {
      await repository.inspectRemote(project.repository, baseBranch);
      if (forge === null || name === null) return 'back';
      const { mayWrite } = await forge.repository(name, undefined, projectId).facts();
      return mayWrite || !isRefused ? 'back' : 'away';
    },
  };
}

/** Removes the files that agents and checks left behind. Everything that counts is in git. */
async function removeFolderOf(view: RunView, workFolder: string, log: Logger): Promise<void> {
  await removeRunFolder({ workFolder }, view.id).catch((error: unknown) =>
    log.warn({ err: error, runId: view.id }, "a finished run's work folder could not be removed"),
  );
}
