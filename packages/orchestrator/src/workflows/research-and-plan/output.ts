/** Output of a run of `research-and-plan`, and the plan as it is committed for programs. Workflows that carry a plan out read both. */
import { z } from 'zod';

const id = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,39}$/);
const level = z.enum(['high', 'medium', 'low']);

/** Prose may cite findings of the report: `[F12]`. */
export const planDataSchema = z.object({
  topic: z.string(),
  /** Day of the plan, `YYYY-MM-DD`. */
  date: z.string(),
  vision: z.string(),
  architecture: z.string(),
  components: z.array(
    z.object({
      /** Unique; other components and the tasks name it. */
      name: z.string(),
      purpose: z.string(),
      interfaces: z.string(),
      approach: z.string(),
      /** Names of other components. */
      dependencies: z.array(z.string()),
    }),
  ),
  technologyStack: z.string(),
  defensibility: z.string(),
  risks: z.array(z.object({ risk: z.string(), likelihood: level, impact: level, mitigation: z.string() })),
  /** In the order of their dependencies: each stands behind those that it depends on. */
  tasks: z.array(
    z.object({
      /** Unique. */
      id,
      title: z.string(),
      description: z.string(),
      /** Name of a component; `null`: it belongs to none. */
      component: z.string().nullable(),
      /** Ids of other tasks. There is no cycle. */
      dependencies: z.array(id),
      acceptanceCriteria: z.array(z.string()),
    }),
  ),
  openDecisions: z.array(z.object({ decision: z.string(), detail: z.string() })),
});
export type PlanData = z.infer<typeof planDataSchema>;

export const openBlockerSchema = z.object({
  /** `I1`, `I2`, … */
  id: z.string(),
  /** The agent that raised it, such as `critic-1`. */
  by: z.string(),
  text: z.string(),
  /** Ids of findings of the report. */
  evidence: z.array(z.string()),
});
export type OpenBlocker = z.infer<typeof openBlockerSchema>;

export const researchAndPlanOutputSchema = z.object({
  topic: z.string(),
  /** `docs/research-<topic>`, in which the files below lie. */
  directory: z.string(),
  /** Path of the report as `.tex`; the same name with `.md` is there, too. */
  report: z.string(),
  /** Path of the plan as `.tex`. */
  plan: z.string(),
  /** Path of the plan as JSON, of the shape of `planDataSchema`. */
  planData: z.string(),
  /** True: no blocker was open and the plan did not change for the asked number of rounds. False: a person took it in spite of that. */
  converged: z.boolean(),
  /** Blockers that were open at the end; empty where it converged. */
  openBlockers: z.array(openBlockerSchema),
});
export type ResearchAndPlanOutput = z.infer<typeof researchAndPlanOutputSchema>;
