/** The commands by which a person starts this program, for texts that tell them what to type. */
import path from 'node:path';

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
  const linked = path.basename(file);
  // npx puts its folder of commands into the PATH of this process alone.
  const isInstalled = env['npm_command'] !== 'exec' && (linked === 'autonomous' || linked === PACKAGE);
  const program = isInstalled ? linked : `npx ${PACKAGE}`;
  return { program, serve: isInstalled ? `${program} serve` : program, demo: `${program} demo` };
}
