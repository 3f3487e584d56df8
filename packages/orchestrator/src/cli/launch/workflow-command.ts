/** Commands that start a run, made of a workflow's data: arguments and options are the fields of its input. */
import {
  type JsonObject,
  type JsonValue,
  type NewRun,
  RUN_OPTIONS,
  type RunView,
  type WorkflowSummary,
} from '@autonomous/shared';
import { ApiError, type Client } from '@autonomous/shared/client';
import { fieldsOf, type InputField } from '@autonomous/shared/presentation';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { WorkflowCommand } from '../../workflows/workflow.ts';
import { collect, type CommandLine } from '../command-line.ts';
import { connect } from '../connection.ts';
import { UsageError } from '../exit.ts';
import { followStarted, type Watch } from '../follow/follow-started.ts';
import { type CliIo, note, say } from '../io.ts';
import type { OwnRepository } from '../own-repository.ts';
import { findProject, launchOn } from '../project.ts';
import { refusedBeside } from './open-run.ts';
import { addOwnPlace, ownPlaceOf, type PlaceOptions } from './own-place.ts';
import { addRunOptions, addTrust, configOf, type RunOptions } from './run-options.ts';

/** The part of a workflow of which its command is made. */
export type CommandSource = Pick<
  WorkflowSummary,
  'name' | 'description' | 'input' | 'needsProject' | 'defaultRequest' | 'command'
>;

export type CommandOptions = RunOptions & PlaceOptions & Readonly<Record<string, unknown>>;

/** A run that a command has started. */
export interface StartedRun {
  readonly io: CliIo;
  readonly client: Client;
  readonly run: RunView;
  readonly options: CommandOptions;
}

/** Parts of a command that its workflow's data do not have. */
export interface CommandHooks {
  /** Adds further options. */
  readonly options?: (command: Command) => Command;
  /** Carries the command out without a run. @returns the exit code; `null`: a run is started */
  readonly instead?: (io: CliIo, input: JsonObject, options: CommandOptions) => Promise<number | null>;
  /** The input as it is sent. Default: as the arguments and options give it. */
  readonly input?: (io: CliIo, input: JsonObject, options: CommandOptions) => Promise<JsonObject>;
  /** Watches the events of the run and its child runs. The function that it gives is called at the end. */
  readonly watch?: (started: StartedRun) => Promise<Watch>;
}

/** Adds the command of a workflow to the program, or to a group of its commands. */
export function addCommandOf(
  line: CommandLine,
  source: CommandSource,
  hooks: CommandHooks = {},
  group?: Command,
): Command {
  const info = source.command ?? {};
  const usage = usageOf(source);
  const description = info.description ?? source.description;
  const command =
    group === undefined
      ? line.client(usage, description)
      : group
          .command(usage)
          .description(description)
          .option('--server <url>', 'address of the server; else AUTONOMOUS_SERVER, else this machine');
  if (info.ownRepository === true) addOwnPlace(command);
  else command.option('--project <project>', 'id, name, path or URL; else the repository you stand in');
  for (const { field, name } of optionsOf(source)) command.addOption(optionFor(field, name));
  hooks.options?.(command);
  if (info.review !== undefined) command.option('--review', `asks you about ${info.review.about}`);
  addTrust(command);
  return addRunOptions(command, info.endsWhen ?? 'when every gate is passed').action(
    line.ending((...given: unknown[]) => {
      // commander gives the arguments, then the options and the command itself.
      const options = given.at(-2) as CommandOptions;
      return start(line.io, source, given.slice(0, -2), options, hooks);
    }),
  );
}

const lastWord = (name: string): string => name.slice(name.lastIndexOf(' ') + 1);

const takesRequest = ({ command, defaultRequest }: CommandSource): boolean =>
  command?.takesRequest ?? defaultRequest === undefined;

function usageOf(source: CommandSource): string {
  const { name, command } = source;
  const places = argumentsOf(source).map(({ name: field, isRequired }) => (isRequired ? `<${field}>` : `[${field}]`));
  return [lastWord(command?.name ?? name), ...places, ...(takesRequest(source) ? ['[request...]'] : [])].join(' ');
}

function argumentsOf({ input, command }: CommandSource): readonly InputField[] {
  const fields = fieldsOf(input);
  return (command?.arguments ?? []).flatMap((name) => fields.find((field) => field.name === name) ?? []);
}

/** The options of a workflow's input, in the order of its fields. What cannot be the name of one, or is taken, is left out. */
function optionsOf({ input, command }: CommandSource) {
  const taken = new Set(RUN_OPTIONS);
  return fieldsOf(input).flatMap((field) => {
    if (command?.arguments?.includes(field.name) === true) return [];
    const named = command?.options;
    const given = named !== undefined && Object.hasOwn(named, field.name) ? named[field.name] : undefined;
    if (given === null) return [];
    const own = given ?? (field.name === '' ? 'input' : hyphened(field.name));
    // commander takes `--no-x` for the absence of `--x`.
    const name = RUN_OPTIONS.includes(own) || own.startsWith('no-') ? `input-${own}` : own;
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(name) || taken.has(name)) return [];
    taken.add(name);
    return [{ field, name }];
  });
}

const hyphened = (name: string): string => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, '-').toLowerCase();

function optionFor(field: InputField, name: string): Option {
  const text = textOf(field, name);
  switch (field.kind) {
    case 'switch':
      return new Option(`--${name}`, text);
    case 'number':
      return new Option(`--${name} <count>`, `${text}${boundsOf(field)}`).argParser((value) => numberOf(field, value));
    case 'choice':
      return new Option(`--${name} <which>`, text).choices(field.options.map(String));
    case 'list':
    case 'choices':
      return new Option(`--${name} <text>`, `${text}; may be repeated`).argParser(collect);
    case 'json':
      return new Option(`--${name} <json>`, text).argParser(jsonOf);
    case 'text':
      return new Option(`--${name} <text>`, text);
    default:
      return field satisfies never;
  }
}

/** The description of a field as help has it: `researchers a round: agents that search the web; else 3`. */
function textOf({ title, description = title, fallback }: InputField, name: string): string {
  const text = description.replaceAll(/[.] Empty: /g, '; else ').replace(/[.]$/, '');
  // A title that says the same as the name of the option is left out.
  const isNamed = title.toLowerCase().replaceAll(' ', '-') === name.replace(/^max-/, '') || description === title;
  const lines = [...(isNamed ? [] : [lowered(title)]), lowered(text)].join(': ');
  if (text.includes('else ') || fallback === undefined || typeof fallback === 'boolean') return lines;
  return `${lines}${text.includes('. ') ? `. Default: ${String(fallback)}` : `; else ${String(fallback)}`}`;
}

const lowered = (text: string): string => `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;

const boundsOf = ({ minimum, maximum }: Extract<InputField, { kind: 'number' }>): string =>
  minimum === undefined || maximum === undefined ? '' : ` (${minimum} to ${maximum})`;

function numberOf({ isInteger, minimum, maximum }: Extract<InputField, { kind: 'number' }>, value: string): number {
  const number = Number(value);
  const isOutside = number < (minimum ?? -Infinity) || number > (maximum ?? Infinity);
  if (value.trim() !== '' && Number.isFinite(number) && !isOutside && (!isInteger || Number.isInteger(number)))
    return number;
  const from = minimum === undefined ? '' : ` from ${minimum}`;
  throw new InvalidArgumentError(
    `A ${isInteger ? 'whole ' : ''}number${from}${maximum === undefined ? '' : ` to ${maximum}`} is needed.`,
  );
}

function jsonOf(value: string): JsonValue {
  try {
    return JSON.parse(value) as JsonValue;
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** The input that arguments and options give; what is not given is left out. */
function inputOf(source: CommandSource, places: readonly unknown[], options: CommandOptions): JsonObject {
  const named = optionsOf(source).map(({ field, name }) => [field, options[camelCased(name)]] as const);
  const given = [...argumentsOf(source).map((field, index) => [field, places[index]] as const), ...named];
  const whole = given.find(([{ name }, value]) => name === '' && value !== undefined);
  if (whole !== undefined) return whole[1] as JsonObject; // The server checks it against the schema.
  return Object.fromEntries(
    given.flatMap(([field, value]) => (value === undefined ? [] : [[field.name, valueOf(field, value)]])),
  );
}

/** Choices may be numbers, and options are text. */
function valueOf(field: InputField, value: unknown): JsonValue {
  if (field.kind === 'choice') return field.options.find((option) => String(option) === value) ?? String(value);
  return value as JsonValue;
}

const camelCased = (name: string): string =>
  name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

async function start(
  io: CliIo,
  source: CommandSource,
  places: readonly unknown[],
  options: CommandOptions,
  hooks: CommandHooks,
): Promise<number> {
  const request = takesRequest(source) ? (places.at(-1) as readonly string[]).join(' ') : '';
  const given = inputOf(source, places, options);
  if (takesRequest(source) && request.trim() === '' && (source.needsProject || source.command?.asks !== undefined))
    throw new UsageError(requestMissing(io, source, places));
  const instead = (await hooks.instead?.(io, given, options)) ?? null;
  if (instead !== null) return instead;
  const input = (await hooks.input?.(io, given, options)) ?? given;
  const { review } = source.command ?? {};
  const reviewed = options['review'] === true && review !== undefined ? { [review.trustMode]: 'manual' as const } : {};
  const config = await configOf(io, { ...options, trust: { ...reviewed, ...options.trust } });
  const client = await connect(io, options.server);
  const asked = {
    workflow: source.name,
    config,
    ...(request === '' ? {} : { request }),
    ...(source.input === null ? {} : { input }),
  };
  const started =
    source.command?.ownRepository === true
      ? await startOnOwn(io, client, String(places[0]), asked, options)
      : await startOnProject(io, client, source, asked, options);
  const { run, project } = started;
  const name = project ?? source.name;
  if (!options.json && !options.detach)
    say(io, `run ${run.id}${project === null ? '' : ` on ${project}`}: ${run.originalRequest}`);
  return followStarted(io, client, run, name, {
    ...options,
    watch: await hooks.watch?.({ io, client, run, options }),
  });
}

function requestMissing(io: CliIo, { name, command }: CommandSource, places: readonly unknown[]): string {
  const words = places.slice(0, -1).map((place) => `"${String(place)}"`);
  const { text, example } = command?.asks ?? { text: 'Say what is to be done', example: 'Your request' };
  return `${text}: ${[io.program, command?.name ?? name, ...words, `"${example}"`].join(' ')}`;
}

type Asked = Omit<NewRun, 'projectId' | 'project'>;

interface Started {
  readonly run: RunView;
  /** Name of the project; `null`: the run has none. */
  readonly project: string | null;
}

async function startOnProject(
  io: CliIo,
  client: Client,
  { needsProject }: CommandSource,
  asked: Asked,
  { project: given }: CommandOptions,
): Promise<Started> {
  const project = needsProject || given !== undefined ? await findProject(client, io, given) : undefined;
  const run = await launchOn(client, io, given, project, asked).catch((error: unknown) => refusedBeside(io, error));
  return { run, project: project?.name ?? null };
}

/** Starts the run in a repository of its own where there is no project. */
async function startOnOwn(
  io: CliIo,
  client: Client,
  topic: string,
  asked: Asked,
  options: CommandOptions,
): Promise<Started> {
  const own = await ownPlaceOf(io, topic, asked.request ?? '', options);
  const given = own?.folder ?? options.project;
  const project = await findProject(client, io, given);
  try {
    // Nobody else waits for the result of a repository of its own: it is merged unless something else is asked for.
    const git = { autoMerge: options.pullRequest !== true, ...asked.config?.git };
    const run = await launchOn(client, io, given, project, {
      ...asked,
      ...(own === null ? {} : { config: { ...asked.config, git } }),
    });
    if (own !== null && options.json !== true) noteOwn(io, own);
    return { run, project: project.name };
  } catch (error) {
    // Where no answer came, the run may have been started.
    if (error instanceof ApiError && error.status < 500) await own?.discard();
    return refusedBeside(io, error);
  }
}

function noteOwn(io: CliIo, { isNew, folder }: OwnRepository): void {
  note(io, `${isNew ? 'A repository was made for it' : 'It goes on in the repository'}: ${folder}`);
}

/** The source of the command of a workflow that the program itself has. All of these need a project. */
export function sourceOf({ workflow, input, command }: WorkflowCommand): CommandSource {
  const schema = z.toJSONSchema(input, { io: 'input' }) as JsonObject; // plain JSON
  return { name: workflow, description: command.description, input: schema, needsProject: true, command };
}
