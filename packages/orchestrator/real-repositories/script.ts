/** The script of one try: a plan, the change of the table, and a review that finds nothing. */
import type { Script } from '../src/models/script.ts';
import type { RealRepository } from './repositories.ts';

export const SCRIPT_NAME = 'real-repositories';

/** A file of the change as a whole. */
export interface FileWrite {
  readonly path: string;
  readonly content: string;
  readonly isNew: boolean;
}

/** @param before text of a file at the pinned commit; `null` if there is none */
export async function writesOf(
  { change }: RealRepository,
  before: (path: string) => Promise<string | null>,
): Promise<readonly FileWrite[]> {
  return Promise.all(
    change.map(async ({ path, text }) => {
      const old = await before(path);
      return { path, content: `${old ?? ''}${text}`, isNew: old === null };
    }),
  );
}

export function scriptOf({ request }: RealRepository, files: readonly FileWrite[]): Script {
  const writes = files.map(({ path, content }) => ({ name: 'write' as const, input: { path, content } }));
  return {
    name: SCRIPT_NAME,
    roles: {
      planner: [
        {
          turns: [
            {
              tools: [
                {
                  name: 'finish',
                  input: {
                    title: request,
                    plan: `# ${request}\n\n\`\`\`mermaid\nflowchart TD\n  words --> joined\n\`\`\`\n`,
                  },
                },
              ],
            },
          ],
        },
      ],
      implementer: [
        {
          turns: [{ tools: writes }, { tools: [{ name: 'finish', input: { summary: 'The function and its test.' } }] }],
        },
      ],
      validator: [
        {
          turns: [
            {
              tools: [
                { name: 'finish', input: { verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' } },
              ],
            },
          ],
        },
      ],
    },
  };
}
