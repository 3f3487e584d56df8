/** Schemas of run and project configuration, as people write them. The server resolves defaults and limits. */
import { z } from 'zod';

export const trustLevelSchema = z.enum(['auto', 'manual']);
export type TrustLevel = z.infer<typeof trustLevelSchema>;

const minutes = z
  .number()
  .positive()
  .max(7 * 24 * 60);
/** Name of a role, stage or trust mode. Each workflow has its own: the server checks which of them a run may set. */
export const SETTING_NAME = /^[a-z][a-zA-Z0-9_-]{0,63}$/;
/** Login at a forge, or a team of its organisation. */
const REVIEWER = /^(?:team\/)?[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}$/;
const settingName = z.string().regex(SETTING_NAME);
const trustModes = z.record(settingName, trustLevelSchema);
/** Model id by role. */
const modelRouting = z.record(settingName, z.string().min(1).max(200));
/** Time limit by stage. */
const timeouts = z.record(settingName, minutes);
const gitShape = {
  createPR: z.boolean(),
  autoMerge: z.boolean(),
  baseBranch: z.string().min(1).max(200),
  mergeStrategy: z.enum(['squash', 'merge', 'ff']),
};
const followingShape = {
  /** Whether a run stays open with its pull request until that is merged or closed. Absent: yes, where it opens one. */
  followPR: z.boolean(),
  /** Times that remarks of reviewers and failed checks go back by themselves. Absent: {@link MAX_REVIEW_ROUNDS}. */
  maxReviewRounds: z.number().int().min(0).max(20),
};
/** Default of `git.maxReviewRounds`. */
export const MAX_REVIEW_ROUNDS = 3;
/** Budgets of a run. Absent: no bound. */
const budgetShape = {
  /** US dollars. */
  maxCostUsd: z.number().positive().max(1_000_000),
  /** Input and output tokens together. */
  maxTokens: z.number().int().min(1).max(1e12),
  maxToolCalls: z.number().int().min(1).max(1e9),
  /** The same three budgets for the whole run family. */
  maxTreeCostUsd: z.number().positive().max(1_000_000),
  maxTreeTokens: z.number().int().min(1).max(1e12),
  maxTreeToolCalls: z.number().int().min(1).max(1e9),
};
/** Changes of budgets; `null` removes one. */
export const budgetChangeShape = {
  maxCostUsd: budgetShape.maxCostUsd.nullable().optional(),
  maxTokens: budgetShape.maxTokens.nullable().optional(),
  maxToolCalls: budgetShape.maxToolCalls.nullable().optional(),
  maxTreeCostUsd: budgetShape.maxTreeCostUsd.nullable().optional(),
  maxTreeTokens: budgetShape.maxTreeTokens.nullable().optional(),
  maxTreeToolCalls: budgetShape.maxTreeToolCalls.nullable().optional(),
};

/** Shell commands of the project, run in the sandbox. `null`: there is none. */
const commandsShape = {
  setup: z.string().min(1).max(4_000).nullable(),
  test: z.string().min(1).max(4_000).nullable(),
  /** Used by workflows that look for faults without running the product, such as plans in phases. */
  lint: z.string().min(1).max(4_000).nullable(),
  /** Checks of a roadmap's item beside the tests, in its phase of testing: of the product in a browser, of its speed, of its documentation. */
  browserCheck: z.string().min(1).max(4_000).nullable(),
  performanceCheck: z.string().min(1).max(4_000).nullable(),
  docsCheck: z.string().min(1).max(4_000).nullable(),
  /** Releases the published result of a roadmap's item, after a person has decided so. */
  release: z.string().min(1).max(4_000).nullable(),
  /** Whether packages may run code of their own while the install step installs them. Absent: no. A project cannot allow it. */
  installScripts: z.boolean(),
};

/** The install step's name beside the roles of agents, where hosts are listed by role. */
export const SETUP_ROLE = 'setup';
/** Hosts as `host` or `host:port`. They can only narrow the server's allow-list. */
const egressHosts = z.array(z.string().regex(/^[a-z0-9.:[\]-]{1,260}$/)).max(200);
const egressLists = z.record(settingName, egressHosts);

/** The complete configuration of a run, after all defaults and limits. */
export const runConfigSchema = z.strictObject({
  trustMode: trustModes,
  maxClarifications: z.number().int().min(0).max(100),
  maxConcurrency: z.number().int().min(1).max(64),
  maxFixAttempts: z.number().int().min(0).max(20),
  modelRouting,
  timeoutMinutes: timeouts,
  git: z.strictObject({
    ...gitShape,
    followPR: followingShape.followPR.optional(),
    maxReviewRounds: followingShape.maxReviewRounds.optional(),
  }),
  /** Absent keys are derived from the project's own files. */
  commands: z.strictObject(commandsShape).partial(),
  /** Absent, as a whole or for a role: all hosts that the server allows. */
  egress: egressLists.optional(),
  maxCostUsd: budgetShape.maxCostUsd.optional(),
  maxTokens: budgetShape.maxTokens.optional(),
  maxToolCalls: budgetShape.maxToolCalls.optional(),
  maxTreeCostUsd: budgetShape.maxTreeCostUsd.optional(),
  maxTreeTokens: budgetShape.maxTreeTokens.optional(),
  maxTreeToolCalls: budgetShape.maxTreeToolCalls.optional(),
});
export type RunConfig = z.infer<typeof runConfigSchema>;

/** Configuration in a request or a project: every key is optional, unknown keys are refused. */
export const runConfigRequestSchema = z
  .strictObject({
    trustMode: trustModes,
    maxClarifications: runConfigSchema.shape.maxClarifications,
    maxConcurrency: runConfigSchema.shape.maxConcurrency,
    maxFixAttempts: runConfigSchema.shape.maxFixAttempts,
    modelRouting,
    timeoutMinutes: timeouts,
    git: z.strictObject({ ...gitShape, ...followingShape }).partial(),
    commands: runConfigSchema.shape.commands,
    egress: egressLists,
    /** `null`: no bound, if the server allows that. */
    ...budgetChangeShape,
  })
  .partial();
export type RunConfigRequest = z.infer<typeof runConfigRequestSchema>;

const columnName = z.string().trim().min(1).max(100);

/** Where a project has its backlog, and the words of the table. Absent ones are those of `docs/backlogs.md`. */
const backlogSettings = z
  .strictObject({
    /** Path of the table in the repository. */
    file: z.string().trim().min(1).max(1_000),
    /** Folder of the specifications. */
    specs: z.string().trim().min(1).max(500),
    /** Names of the table's columns, in any case. */
    columns: z
      .strictObject({
        id: columnName,
        title: columnName,
        status: columnName,
        priority: columnName,
        spec: columnName,
        dependsOn: columnName,
      })
      .partial(),
    /** Statuses by the words of the table's cells. The first word of a status is the one that is written. */
    statusWords: z.record(columnName, z.enum(['queued', 'in_progress', 'blocked', 'done'])),
    /** False: neither the template of the progress log is committed, nor is the log written into clones. */
    progressLog: z.boolean(),
  })
  .partial();

/** `.autonomous/config.json` of a project, read from the base commit when a run starts. */
export const projectConfigSchema = z
  .strictObject({
    defaultRunConfig: runConfigRequestSchema,
    git: z
      .strictObject({
        autoMerge: z.boolean(),
        createPR: z.boolean(),
        ...followingShape,
        mergeStrategy: gitShape.mergeStrategy,
        /** Branch that gets commits of engine-owned files. Absent: the base, unless it refused an earlier push. */
        ownedFiles: z.enum(['base', 'branch']),
        requireApprovalFor: z.array(settingName),
        /** Labels of the run's pull request. The forge makes those that it does not have. */
        labels: z.array(z.string().trim().min(1).max(50)).max(20),
        /** People and teams (`team/NAME`) who are asked to review the run's pull request. */
        reviewers: z.array(z.string().regex(REVIEWER)).max(15),
      })
      .partial(),
    excludePaths: z.array(z.string().min(1).max(500)).max(500),
    /** Paths whose changes a person must review before a merge, in addition to the built-in ones. */
    reviewPaths: z.array(z.string().min(1).max(500)).max(500),
    backlog: backlogSettings,
  })
  .partial();
export type ProjectConfig = z.infer<typeof projectConfigSchema>;
