/**
 * Files of the progress log in a repository: a template that is committed, and beside it the log itself, which git ignores. Pure.
 *
 * A file that git tracks cannot be ignored by it, so that template and log are two files.
 */

/** Heading of template and log. */
export const PROGRESS_HEADING = '# Ralph Autopilot Progress';

/** Paths in the repository. */
export type ProgressPlace = {
  /** Committed: says where the progress is. */
  readonly template: string;
  /** Ignored by git: the progress of the runs that somebody followed in this clone. */
  readonly log: string;
  /** The `.gitignore` of their folder. */
  readonly ignore: string;
};

const LOG_NAME = 'autopilot-progress.log.md';

/** @param file path of the backlog, such as `ai/backlog.md`, whose folder then has `diary/` */
export function progressPlaceOf(file: string): ProgressPlace {
  const folder = [...file.split('/').slice(0, -1), 'diary'].join('/');
  return {
    template: `${folder}/autopilot-progress.md`,
    log: `${folder}/${LOG_NAME}`,
    ignore: `${folder}/.gitignore`,
  };
}

const TEMPLATE = `${PROGRESS_HEADING}

The progress of a run is written to \`${LOG_NAME}\` beside this file while the command \`backlog run\` follows it; git ignores that file, and the run's record has the committed form: \`.autonomous/runs/RUN/autopilot-progress.md\`.
`;

/** The template; a file that is there already stays as it is. */
export function withTemplate(text: string | null): string {
  return text ?? TEMPLATE;
}

/** Adds the line that ignores the log, unless the file says something of it already. */
export function withIgnoredLog(text: string | null): string {
  const line = `/${LOG_NAME}`;
  if (text === null || text === '') return `${line}\n`;
  if (text.split(/\r?\n/).some((each) => KNOWN_LINES.has(each.trim()))) return text;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return `${text}${text.endsWith('\n') ? '' : eol}${line}${eol}`;
}

/** Lines by which a person has decided about the log, also that it is to be committed. */
const KNOWN_LINES = new Set(['*', '*.log.md', `/${LOG_NAME}`, LOG_NAME, `!${LOG_NAME}`, `!/${LOG_NAME}`]);
