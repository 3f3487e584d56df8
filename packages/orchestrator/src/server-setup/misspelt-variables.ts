/** Finds variables that were meant for the server or its command line and that neither knows. */
import { SERVER_VARIABLES } from '../config.ts';

/** Every name that begins so is the product's. */
const OWN = /^(?:ORCHESTRATOR|AUTONOMOUS)_/;
/** Of other programs' names that begin so, only those that are nearly one of the server's are meant for it. */
const SHARED =
  /^(?:ALLOW|ALLOWED|ARCHIVE|BLOCKED|BRANCHES|COMMIT|CONTEXT|DEFAULT|EGRESS|ENABLE|FORGE|LIMIT|MAX|MODEL|RECORD|RESUME|REVIEW|SANDBOX|SEARCH|SETUP|WEB)_/;
/** Names of the product that its other programs read or set: the command line, the package's scripts, tests. */
const OF_OTHER_PROGRAMS = /^AUTONOMOUS_(?:SERVER|CWD|MUTANTS|INSTALL_SCRIPTS|TEST_\w+)$/;
/** Letters that a misspelt name has too many, too few or wrong. */
const MOST_SLIPS = 2;

/** A sentence for each misspelt variable, in the order of their names. */
export function misspeltVariables(names: Iterable<string>): readonly string[] {
  return [...names].filter(isMisspelt).toSorted().map(describe);
}

/** Whether the name is meant for the server, which does not know it. */
export function isMisspelt(name: string): boolean {
  if (Object.hasOwn(SERVER_VARIABLES, name) || OF_OTHER_PROGRAMS.test(name)) return false;
  return OWN.test(name) || (SHARED.test(name) && slipsTo(nearestTo(name), name) <= MOST_SLIPS);
}

function describe(name: string): string {
  const nearest = nearestTo(name);
  const isNear = slipsTo(nearest, name) <= Math.max(MOST_SLIPS, name.length / 4);
  const meant = isNear ? `Was ${nearest} meant?` : 'The file .env.example lists the variables of the server.';
  return `The variable ${name} is set, and Autonomous has none of this name: it is not used. ${meant}`;
}

function nearestTo(name: string): string {
  const known = [...Object.keys(SERVER_VARIABLES), 'AUTONOMOUS_SERVER'].map(
    (each) => [slipsTo(each, name), each] as const,
  );
  return known.reduce((least, each) => (each[0] < least[0] ? each : least))[1];
}

/** Number of letters to insert, remove or replace to make one word of the other. */
function slipsTo(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of one.split('').entries()) {
    const next = [index + 1];
    for (const [at, its] of other.split('').entries())
      next.push(Math.min((row[at] ?? 0) + (its === letter ? 0 : 1), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    row = next;
  }
  return row[other.length] ?? 0;
}
