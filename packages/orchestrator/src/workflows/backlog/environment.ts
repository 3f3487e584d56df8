/**
 * The programs that the *Environment* block of a specification asks for: which they are, the command that looks for them in a
 * sandbox, and what its output says. Pure.
 */

/** A program that has to be there before an item is begun. */
export type Need = {
  /** Line of the block, such as `nodejs: 24`. */
  readonly line: string;
  readonly program: string;
  /** Major version, with a sign before it where one is written: `24`, `>=18`. Absent: any version. */
  readonly version?: string;
};

/** Programs by the names of the block, in lower case. Versions are compared for these alone. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ['nodejs', 'node'],
  ['node.js', 'node'],
  ['python', 'python3'],
  ['golang', 'go'],
  ['rust', 'rustc'],
  ['jdk', 'javac'],
  ['postgres', 'psql'],
  ['postgresql', 'psql'],
  ['sqlite', 'sqlite3'],
  ['redis', 'redis-cli'],
  ...(
    'node npm pnpm yarn bun deno python3 uv go rustc cargo java javac ruby php dotnet gcc clang make cmake docker ' +
    'psql mysql mariadb sqlite3 redis-cli'
  )
    .split(' ')
    .map((name) => [name, name] as const),
]);

/** Programs by the values of `database`. Other values name none. */
const DATABASES: ReadonlyMap<string, string> = new Map([
  ['sqlite', 'sqlite3'],
  ['sqlite3', 'sqlite3'],
  ['postgres', 'psql'],
  ['postgresql', 'psql'],
  ['psql', 'psql'],
  ['mysql', 'mysql'],
  ['mariadb', 'mariadb'],
]);

const ASKS_FOR_NOTHING = new Set(['false', 'no', '0']);
const ASKS_FOR_ANY = new Set(['true', 'yes', '1']);
/** Any other name is not put into a command. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,60}$/;
const VERSION = /^(>=|<=|>|<|\^|~|==?)?[ \t]?v?(\d{1,6})(?:\.(?:\d{1,6}|[x*])){0,3}(\+?)$/i;

/** Programs of one block that are looked for. */
export const MOST_NEEDS = 30;

/** @param environment settings of the block by name, as they are written; those that name no program give nothing */
export function needsOf(environment: Readonly<Record<string, string>>): readonly Need[] {
  return Object.entries(environment)
    .flatMap(([name, value]) => {
      const need = NAME.test(name) ? needOf(name, value) : null;
      return need === null ? [] : [need];
    })
    .slice(0, MOST_NEEDS);
}

function needOf(name: string, value: string): Need | null {
  const word = value.toLowerCase();
  if (ASKS_FOR_NOTHING.has(word)) return null;
  const line = `${name}: ${value}`;
  if (name.toLowerCase() === 'database') {
    const program = DATABASES.get(word);
    return program === undefined ? null : { line, program };
  }
  const known = PROGRAMS.get(name.toLowerCase());
  if (ASKS_FOR_ANY.has(word)) return { line, program: known ?? name };
  const [, sign = '', major, orLater = ''] = VERSION.exec(value) ?? [];
  if (known === undefined || major === undefined) return null;
  return { line, program: known, version: `${orLater === '' ? sign : '>='}${major}` };
}

/** Arguments with which programs say their version. Default: `--version`. */
const VERSION_OF: ReadonlyMap<string, string> = new Map([
  ['go', 'version'],
  ['java', '-version'],
  ['javac', '-version'],
  // Only the server behind it makes it useful.
  ['docker', "version --format '{{.Server.Version}}'"],
]);

/** Prefix of the lines by which answers are recognised. */
const MARK = '===';

/**
 * The command that looks for all of them, for `sh`. It prints a line for each; programs that are known have to start.
 * @param needs of {@link needsOf}, whose names need no quoting beyond `'…'`
 */
export function questionAbout(needs: readonly Need[]): string {
  const questions = needs.map((need, index) => ({ need, index }));
  // Docker may wait for its server until the time is over: the others have answered by then.
  const inOrder = questions.toSorted((a, b) => Number(isDocker(a.need)) - Number(isDocker(b.need)));
  return inOrder.map(({ need, index }) => questionOf(need, index)).join('\n');
}

const isDocker = ({ program }: Need): boolean => program === 'docker';
const isKnown = (program: string): boolean => PROGRAMS.get(program) === program;

function questionOf({ program }: Need, index: number): string {
  const asked = isKnown(program) ? `"$n" ${VERSION_OF.get(program) ?? '--version'} 2>&1 < /dev/null` : '';
  return [
    `n='${program}'; command -v "$n" > /dev/null 2>&1 || n='${program.toLowerCase()}'`,
    `if ! command -v "$n" > /dev/null 2>&1; then echo '${MARK} ${index} absent'`,
    `elif said=$(${asked}); then printf '${MARK} ${index} found %s\\n' "$(printf %s "$said" | tr '\\n\\r' '  ' | cut -c 1-200)"`,
    `else echo '${MARK} ${index} silent'; fi`,
  ].join('\n');
}

/**
 * Lists what is missing, each with the line that asks for it, such as `nodejs: 99 (node is 24.2.0)`.
 * @param output of {@link questionAbout} in the sandbox; what has no line in it did not answer in time
 */
export function missingOf(needs: readonly Need[], output: string): readonly string[] {
  const answers = new Map<number, { readonly kind: string; readonly said: string }>();
  for (const line of output.split('\n')) {
    const [, index, kind = '', said = ''] = /^=== (\d{1,3}) (absent|found|silent) ?(.*)$/.exec(line) ?? [];
    if (index !== undefined) answers.set(Number(index), { kind, said });
  }
  return needs.flatMap((need, index) => {
    const why = faultOf(need, answers.get(index));
    return why === null ? [] : [`${need.line} (${why})`];
  });
}

function faultOf(need: Need, answer: { readonly kind: string; readonly said: string } | undefined): string | null {
  const { program, version } = need;
  if (answer?.kind === 'absent') return `there is no program ${program}`;
  if (answer?.kind !== 'found') return isDocker(need) ? 'docker does not answer' : `${program} does not start`;
  if (version === undefined) return null;
  const found = versionIn(answer.said);
  if (found === null) return `${program} names no version`;
  return isMajor(majorOf(found), version) ? null : `${program} is ${found}`;
}

/** A number with a dot in it is rather a version than one without. */
function versionIn(said: string): string | null {
  return (/\d{1,6}(?:\.\d{1,9}){1,4}/.exec(said) ?? /\d{1,6}/.exec(said))?.[0] ?? null;
}

/** Java called its eighth version 1.8. */
function majorOf(version: string): number {
  const [first = '', second] = version.split('.');
  return Number(first === '1' && second === '8' ? second : first);
}

function isMajor(major: number, wanted: string): boolean {
  const [, sign = '', number = ''] = /^(\D*)(\d+)$/.exec(wanted) ?? [];
  const than = Number(number);
  switch (sign) {
    case '>=':
    // A later minor version of the same major one is later, too.
    case '>':
      return major >= than;
    case '<=':
      return major <= than;
    case '<':
      return major < than;
    default:
      return major === than;
  }
}

/** Phrases of a reason. */
const MOST_NAMED = 5;

/** Reason for which an item is blocked, one line that names the item, what is missing, and the ways out. */
export function environmentReason(item: string, specPath: string, missing: readonly string[]): string {
  const beyond = missing.length - MOST_NAMED;
  const named = [...missing.slice(0, MOST_NAMED), ...(beyond > 0 ? [`and ${beyond} more`] : [])].join(', ');
  return `the sandbox does not have what the specification of ${item} asks for: ${named}. Have the programs found there (SANDBOX_PROGRAMS of the server, or the template with E2B), or change the line in ${specPath}.`;
}
