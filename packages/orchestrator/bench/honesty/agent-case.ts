/** An agent of the bench, honest or not, and the project that it works on. */
import type { Files, ProjectName } from './projects.ts';

export interface AgentCase {
  readonly name: string;
  readonly project: ProjectName;
  /** Written by the agent. */
  readonly files?: Files;
  /** Run by the agent, after it has written. */
  readonly command?: string;
  /**
   * For a liar: of the kinds that `docs/evidence-reference.md` names, which cannot be excluded. For an honest agent: a stop is meant,
   * and this says why.
   */
  readonly known?: string;
}
