/** The commands by which a person starts this program, for texts that tell them what to type. */
import path from 'node:path';
import { shellWord } from '@autonomous/shared/presentation';

/** Name of the published package. */
const PACKAGE = 'autonomous-orchestrator';
const IS_CHECKOUT = import.meta.url.endsWith('.ts');

export interface StartCommand {
  /** Comes before a command's name: `npm run autonomous --`. */
  readonly program: string;
  /** Starts the server. */
  readonly serve: string;
  readonly demo: string;
}

export interface Start {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file that Node was started with. */
  readonly file: string | undefined;
  /** Runs from the sources instead of the published package. */
  readonly isCheckout: boolean;
}

/** @param start how this process was started, unless given */
export function startCommand(
  { env, file = '', isCheckout }: Start = { env: process.env, file: process.argv[1], isCheckout: IS_CHECKOUT },
): StartCommand {
  if (isCheckout) {
    const program = env['AUTONOMOUS_CWD'] === undefined ? 'autonomous' : 'npm run autonomous --';
    return { program, serve: 'npm start', demo: 'npm run demo' };
  }
  // npx puts its folder of commands into the PATH of this process alone.
  if (env['npm_command'] === 'exec') return installed(`npx ${PACKAGE}`, '');
  const linked = path.basename(file);
  const isLinked = linked === 'autonomous' || linked === PACKAGE;
  return installed(isLinked ? linked : `node ${shellWord(file)}`, ' serve');
}

function installed(program: string, serve: '' | ' serve'): StartCommand {
  return { program, serve: `${program}${serve}`, demo: `${program} demo` };
}
