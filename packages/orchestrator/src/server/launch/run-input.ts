/** Checks what a new run is given against what its workflow needs. */
import type { Fault, JsonObject, NewRun } from '@autonomous/shared';
import type { z } from 'zod';
import { jsonSchemaOf, type WorkflowDefinition } from '../../core/definition.ts';
import { findNonJson } from '../../core/plain-json.ts';

export interface CheckedRunInput {
  /** As the workflow's schema gives it; absent where it takes none, or there are faults. */
  readonly input?: JsonObject;
  readonly faults: readonly Fault[];
}

/** @param definition `undefined` where the request names no workflow that there is, which is a fault of its own */
export function checkRunInput(
  definition: WorkflowDefinition | undefined,
  { projectId, project, request, input }: NewRun,
): CheckedRunInput {
  if (definition === undefined) return { faults: [] };
  const { name } = definition;
  const needed = definition.needsProject
    ? [
        ...(projectId === undefined && project === undefined ? [missing('projectId', name)] : []),
        ...(request === undefined && definition.defaultRequest === undefined ? [missing('request', name)] : []),
      ]
    : [];
  if (definition.input === undefined) {
    const message = `Workflow '${name}' has no input. Leave the input out.`;
    return { faults: input === undefined ? needed : [...needed, { path: 'input', message }] };
  }
  const parsed = definition.input.safeParse(input ?? {});
  if (!parsed.success) {
    const { properties = {} } = jsonSchemaOf(definition.input);
    const fields = Object.keys(properties as JsonObject); // those of an object, by JSON Schema
    return { faults: [...needed, ...parsed.error.issues.flatMap((issue) => inputFaults(issue, name, fields))] };
  }
  const unfit = findNonJson(parsed.data);
  if (unfit) {
    const message = `The input schema of workflow '${name}' produces a value that ${unfit.what}; the workflow's author must change the schema.`;
    return { faults: [...needed, { path: `input${unfit.path}`, message }] };
  }
  // Found to be JSON just before.
  return { input: JSON.parse(JSON.stringify(parsed.data)) as JsonObject, faults: needed };
}

/** @param fields names of the fields at the top of the input */
function inputFaults(issue: z.core.$ZodIssue, workflow: string, fields: readonly string[]): readonly Fault[] {
  const path = ['input', ...issue.path].map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length > 0 ? '' : fields.length === 0 ? '; it has none' : `; it has ${fields.join(', ')}`;
    return issue.keys.map((key) => ({
      path: `${path}.${key}`,
      message: `The input of workflow '${workflow}' has no field '${[...issue.path, key].map(String).join('.')}'${known}.`,
    }));
  }
  const [, expected] = /^Invalid input: expected (.+), received undefined$/.exec(issue.message) ?? [];
  return [
    { path, message: expected === undefined ? issue.message : `Is missing: a value of the type ${expected} is needed` },
  ];
}

function missing(path: string, workflow: string): Fault {
  return { path, message: `Workflow '${workflow}' needs it.` };
}
