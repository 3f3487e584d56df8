/** The plan that a run carries out, as a file of the project. Pure. */
import { z } from 'zod';
import { isAmong, pathsIn } from '../../path-rules/sorted-paths.ts';
import { inWorker } from '../../foreign-text/in-worker.ts';

/** The parts of a plan from which features are made; further ones are told to the agent as they are. */
const planSchema = z.looseObject({
  components: z.array(z.looseObject({ name: z.string() })),
  tasks: z
    .array(
      z.looseObject({
        id: z.string().trim().min(1).max(200),
        title: z.string(),
        description: z.string(),
        component: z.string().nullable(),
        dependencies: z.array(z.string()),
      }),
    )
    .min(1),
});

/** Characters of a plan as the agent is told it, at most: a longer one would be cut, and tasks be left out. */
export const LONGEST_PLAN = 200_000;
/** Bytes of its file, at most. */
export const MAX_PLAN_BYTES = 8 * LONGEST_PLAN;

export type PlanRead =
  | {
      readonly ok: true;
      readonly text: string;
      /** Ids, in the order of the plan. */ readonly tasks: readonly string[];
    }
  | { readonly ok: false; readonly fault: string };

/**
 * @param path named in the fault
 * @param file its text; `undefined`: it is no regular file, or has too many bytes
 */
export function readPlan(path: string, file: string | undefined): PlanRead {
  const fault = (why: string): PlanRead => ({ ok: false, fault: `${path} is no plan: ${why}` });
  if (file === undefined)
    return fault(`it is a link, or has more than ${MAX_PLAN_BYTES} bytes. Name the file itself, or divide the plan.`);
  if (file.includes('\uFFFD')) return fault('it is not UTF-8 text. Convert it, commit it and push it.');
  // Editors put a byte order mark before the text.
  const text = file.replace(/^\uFEFF/, '');
  const tooLong = ({ length }: string): string => `it has ${length} characters, and at most ${LONGEST_PLAN} are taken.`;
  if (text.length > 2 * LONGEST_PLAN) return fault(tooLong(text));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return fault(`it is not JSON (${error instanceof Error ? error.message : String(error)}).`);
  }
  const parsed = planSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const at = issue?.path.join('.') ?? '';
    return fault(
      `${at === '' ? '' : `${at}: `}${issue?.message ?? 'it has another shape'}. It needs "components" and "tasks".`,
    );
  }
  const told = JSON.stringify(parsed.data, null, 1);
  if (told.length > LONGEST_PLAN) return fault(`${tooLong(told)} Divide it into several plans.`);
  const tasks = parsed.data.tasks.map(({ id }) => id.trim());
  const [doubled] = [...Map.groupBy(tasks, (id) => id)].find(([, same]) => same.length > 1) ?? [];
  if (doubled !== undefined) return fault(`two tasks have the id '${doubled}'. Give each its own.`);
  return { ok: true, text: told, tasks };
}

/** The same in the worker. */
export const { readPlan: readPlanInWorker } = inWorker(import.meta.url, 'The plan', { readPlan });

/**
 * The file that a person means by a path.
 * @param named path of a plan, or of the folder in which it lies
 * @param files all of the project, sorted
 * @returns `null`: there is none
 */
export function planPathIn(named: string, files: readonly string[]): string | null {
  const path = named.replace(/^\.\//, '').replace(/\/{1,100}$/, '');
  if (isAmong(files, path)) return path;
  const inFolder = pathsIn(files, path).filter((file) => file.endsWith('-plan.json'));
  return inFolder.length === 1 ? (inFolder[0] ?? null) : null;
}
