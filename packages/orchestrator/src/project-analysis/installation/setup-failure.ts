/** Explains why an install step failed, and what a person can do, from its end and its output. Pure. */
import { missingToolOf } from './missing-tool.ts';
import { linesOf } from '../named-paths.ts';

export interface SetupEnd {
  readonly command: string;
  /** File or place that the step was found in. */
  readonly source: string;
  /** `null` if the sandbox ended it. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** Its time limit. */
  readonly minutes: number;
  /** The end of it, without secrets. */
  readonly output: string;
  readonly hasNetwork: boolean;
  /** Requests that the egress proxy refused. */
  readonly refused: readonly string[];
}

const CONFIGURED = 'defaultRunConfig.commands.setup in .autonomous/config.json';

/** Sentences for a person, the first about the end. The output is not among them. */
export function explainSetupFailure(end: SetupEnd): readonly string[] {
  const { command, source, exitCode, timedOut, minutes, output, hasNetwork, refused } = end;
  const step = `The install step \`${command}\` (from ${source})`;
  const last = lastLine(output);
  const missing = missingToolOf({ command, exitCode, output });
  return [
    timedOut
      ? `${step} was ended after ${minutes} minutes${last === '' ? ' without any output' : `; its last line was: ${last}`}. Retry if it was slow, raise SETUP_TIMEOUT_MINUTES on the server, or set another step: ${CONFIGURED}.`
      : `${step} failed with exit code ${exitCode ?? 'none'}.`,
    ...(missing === null
      ? []
      : [
          `The program ${missing} is missing: install it where the sandbox finds it (${WHERE_PROGRAMS}), or set another install step: ${CONFIGURED}.`,
        ]),
    ...(asksForTerminal(output)
      ? [
          `It asked a question (${last}), and no terminal answers. Set a step that asks nothing, such as one with --yes: ${CONFIGURED}.`,
        ]
      : []),
    ...(/No space left on device|ENOSPC|Disk quota exceeded/.test(output)
      ? ['It ran out of space: /tmp is limited by SANDBOX_MEMORY_MB, and the folder and HOME by SANDBOX_DISK_MB.']
      : []),
    ...[scriptHintOf(output)].filter((hint) => hint !== null),
    ...(hasNetwork
      ? []
      : [
          'It had no network: ALLOW_SETUP_NETWORK=true on the server, the default, lets it reach the package registries, and EGRESS_ALLOW other hosts.',
        ]),
    ...(refused.length === 0
      ? []
      : [
          `The network refused it: ${refused.slice(0, 10).join('; ')}. EGRESS_ALLOW="setup=…" on the server adds hosts to those of the install step.`,
        ]),
  ];
}

/** For sentences about a program that is missing. */
export const WHERE_PROGRAMS =
  'the command `doctor PROJECT` lists the folders, and SANDBOX_PROGRAMS on the server adds others';

const ASKS =
  /\[y\/n\]|\(y\/n\)|\(yes\/no\)|password(?: for [^:]{1,80})?:$|passphrase|^username for |press (?:enter|any key|return)|ok to proceed\?|are you sure|do you want to (?:continue|proceed)|^\? .{1,200}[›»(]/i;

function asksForTerminal(output: string): boolean {
  return linesOf(output)
    .slice(-5)
    .some((line) => ASKS.test(line.trim().slice(0, 400)));
}

function lastLine(output: string): string {
  const line = linesOf(output).findLast((each) => each.trim() !== '' && !each.startsWith('[ended by'));
  return (line ?? '').trim().slice(0, 200);
}

/** Packages that only their install script completes, by what is said in its absence. */
const INCOMPLETE: readonly (readonly [said: RegExp, named: string | null])[] = [
  [/Could not locate the bindings file/, 'A package with compiled code'],
  [/The package "@(esbuild)\/[\w-]{1,40}" could not be found|(esbuild): Failed to install correctly/, null],
  [/Could not load the "(sharp)" module/, null],
  [/Cannot find module .{0,200}\/(better-sqlite3|sqlite3|bcrypt|canvas|node-sass|re2|argon2)\//, null],
  [/(Bun)'s postinstall script was not run/, null],
  [/Could not find Chrome|Cypress binary is missing|Cypress executable not found/, 'A browser of the tests'],
];

/** Whether a failure says that a package's own install script did not run; `null` if it says nothing of the kind. */
export function scriptHintOf(output: string): string | null {
  const end = output.slice(-8_000);
  for (const [said, name] of INCOMPLETE) {
    const match = said.exec(end);
    if (match === null) continue;
    const named = name ?? match.slice(1).find((part) => part !== undefined) ?? 'A package';
    return `${named} needs its install script, and install scripts are off. If you trust the packages of this project, start the run with commands.installScripts set to true in its configuration.`;
  }
  return null;
}
