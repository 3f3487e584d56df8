/** The program that a command needs and the sandbox does not have, read from what a shell or make says of it. */
import type { CommandEvidence } from '@autonomous/shared';

/** Runners that are asked for as a part of another program. */
const MODULE = /No module named '?(pytest|tox|nox|poetry|pip|venv)\b/;
const CARGO = /no such command: [`'"]([\w-]{1,60})[`'"]/;
const SPAWN = /(?:^|\s)spawn ([\w./+-]{1,100}) ENOENT\b/;

/** @returns `null` where the command ended well, or says nothing of the kind */
export function missingToolOf({
  exitCode,
  output,
  command,
}: Pick<CommandEvidence, 'exitCode' | 'output' | 'command'>): string | null {
  if (exitCode === 0) return null;
  const end = output.slice(-2_000);
  const said = /(?:^|[\s:])([\w./+-]{1,100}): (?:command )?not found\b/.exec(end)?.[1];
  const make = /make: ([\w./+-]{1,100}): No such file or directory/.exec(end)?.[1];
  if (make !== undefined) return make;
  const env = /(?:^|[\s/])env: ['‘]?([\w./+-]{1,100})['’]?: No such file or directory/.exec(end)?.[1];
  const cargo = CARGO.exec(end)?.[1];
  const part =
    env ?? MODULE.exec(end)?.[1] ?? (cargo === undefined ? undefined : `cargo-${cargo}`) ?? SPAWN.exec(end)?.[1];
  if (part !== undefined) return part;
  if (exitCode !== 127) return null;
  return said ?? command.trim().split(/\s+/, 1)[0] ?? null;
}
