/** What the commands of time travel take and print: wishes of a fork, a run's history line by line. */
import {
  type GateDecision,
  type JsonObject,
  type RunConfigRequest,
  runConfigRequestSchema,
  type WorkflowEvent,
} from '@autonomous/shared';
import { describeEvent } from './timeline.ts';
import { readTextFile } from './decide.ts';
import { UsageError } from './exit.ts';
import type { CliIo } from './io.ts';

/**
 * A configuration from settings such as `trustMode.planning=auto`; values are JSON, or text where they are none.
 * @throws {UsageError} naming every setting that is none
 */
export function configFrom(settings: readonly string[], models: Readonly<Record<string, string>>): RunConfigRequest {
  const config: Record<string, unknown> = Object.keys(models).length === 0 ? {} : { modelRouting: { ...models } };
  for (const setting of settings) {
    const [, section = '', name, text] = /^([a-zA-Z]+)(?:\.([a-zA-Z]+))?=(.*)$/s.exec(setting) ?? [];
    if (text === undefined) {
      throw new UsageError(`'${setting}' is no setting; write it as trustMode.planning=auto or maxFixAttempts=5.`);
    }
    const value = jsonOr(text);
    config[section] = name === undefined ? value : { ...(config[section] as object | undefined), [name]: value };
  }
  const parsed = runConfigRequestSchema.safeParse(config);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw new UsageError(`These settings are no run configuration:\n${faults.join('\n')}`);
}

/**
 * A gate's decision from one argument: `approve`, `retry`, `ignore`, `reject=…`, `ask=…`, `accept=…`, `extend=MINUTES`;
 * anything else is the answer to a question.
 */
export function decisionFrom(text: string): GateDecision {
  if (text === 'approve' || text === 'retry' || text === 'ignore') return { decision: text };
  const [, decision, words = ''] = /^(reject|answer|ask|accept|extend)=(.*)$/s.exec(text) ?? [];
  switch (decision) {
    case 'reject':
      return { decision, feedback: words };
    case 'ask':
      return { decision, question: words };
    case 'accept':
      return { decision, reason: words };
    case 'extend':
      if (!(Number(words) > 0)) throw new UsageError(`'${words}' is no number of minutes.`);
      return { decision, minutes: Number(words) };
    default:
      return { decision: 'answer', response: decision === 'answer' ? words : text };
  }
}

/**
 * An object given as JSON, or in a file as `@path`.
 * @param what names it in a fault
 */
export async function readJson(io: CliIo, given: string, what: string): Promise<JsonObject> {
  const text = given.startsWith('@') ? await readTextFile(io, given.slice(1)) : given;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${what} is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as JsonObject;
  throw new UsageError(`${what} is no JSON object; write it as '{"name": "value"}' or @FILE.`);
}

/** One event in a history: its sequence, its time, its type and what it says. */
export function historyLine(event: WorkflowEvent, width: number): string {
  const [said = ''] = (describeEvent(event)?.text ?? JSON.stringify(event.payload)).split('\n');
  const text = said.startsWith(`${event.type} `) ? said.slice(event.type.length + 1) : said;
  const cut = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  const time = event.timestamp.slice(0, 19).replace('T', ' ');
  return `${String(event.sequence).padStart(width)}  ${time}  ${event.type.padEnd(24)}  ${cut}`.trimEnd();
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
