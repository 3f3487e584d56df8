/** A web of this machine and a project on a real server, with agents that research in them. */
import type { RunConfigRequest, RunView } from '@autonomous/shared';
import { onTestFinished } from 'vitest';
import {
  anArticle,
  type Answer,
  type LocalSite,
  respond,
  startLocalSite,
} from '../../src/web-pages/local-web.fixture.ts';
import type { Script } from '../../src/models/script.ts';
import { aScript, aServer, type Files, FILES, finish, type Fixture, tool } from '../fixtures/orchestrator.fixture.ts';

type ScriptCall = NonNullable<Script['roles']['planner']>[number];

export const OLDEST = 'The oldest bell of the town was cast in 1288 and weighs 4,500 kilograms.';
export const CRACK = 'A crack was found in the great bell in March 2019 by the keeper of the tower.';
export const OTHER_YEAR = 'Records of the parish say that the oldest bell was cast in 1291.';
export const NOTHING_ABOUT = 'The market is held on Saturdays next to the town hall.';

export const PAGES: Record<string, Answer> = {
  '/robots.txt': respond('text/plain', 'User-agent: *\nDisallow: /private\n'),
  '/oldest': respond('text/html', anArticle('The oldest bell', [OLDEST, NOTHING_ABOUT])),
  '/crack': respond('text/html', anArticle('A crack', [CRACK, 'It was mended in the summer of the same year.'])),
  '/parish': respond(
    'text/html',
    anArticle('Parish records', [OTHER_YEAR, 'They are kept in the archive of the church.']),
  ),
  '/private': respond('text/html', anArticle('Private', ['Nobody is to read this page of the site.'])),
};

/** A finding as an agent reports it. */
export const found = (claim: string, ...evidence: readonly (readonly [quote: string, address: string])[]) => ({
  claim,
  evidence: evidence.map(([quote, address]) => ({ quote, address })),
  confidence: 'medium' as const,
});

export const report = (findings: readonly object[], more: object = {}) => {
  const addresses = findings.flatMap((finding) =>
    (finding as ReturnType<typeof found>).evidence.map(({ address }) => address),
  );
  return {
    summary: 'Looked at the pages.',
    findings,
    sources: [...new Set(addresses)].map((address) => ({ address, credibility: 'medium', why: 'A page of the town.' })),
    contradictions: [],
    followUps: [],
    ...more,
  };
};

/** An agent that reads pages, then reports. */
export const reads = (addresses: readonly string[], result: object): ScriptCall => ({
  turns: [
    ...addresses.map((address) => ({ tools: [tool('fetch', { address })] })),
    { tools: [tool('finish', result as never)] },
  ],
});

export const NO_UPDATE = { themes: [], conflicts: [], openQuestions: ['Which bell is the oldest?'], directions: [] };

export const synthesis = (update: object = {}): ScriptCall => finish({ ...NO_UPDATE, ...update });

export interface ResearchServer extends Fixture {
  readonly site: LocalSite;
  begin(input?: object, config?: RunConfigRequest): Promise<RunView>;
}

/** @param roles by the origin of the web */
export async function aResearchServer(
  roles: (origin: string) => object,
  options: {
    readonly files?: Files;
    readonly pages?: Record<string, Answer>;
    readonly env?: Record<string, string>;
    readonly patienceMs?: number;
  } = {},
): Promise<ResearchServer> {
  const site = await startLocalSite({ ...PAGES, ...options.pages });
  onTestFinished(() => site.close());
  const server = await aServer({
    files: options.files ?? FILES,
    script: aScript(roles(site.origin) as Script['roles']),
    env: { WEB_ALLOW: `*,internal:127.0.0.1:${site.port}`, ...options.env },
    ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs }),
  });
  return {
    ...server,
    site,
    begin: (input = {}, config = {}) =>
      server.client.launchRun({
        projectId: server.project.id,
        workflow: 'research',
        request: 'Which bell of the town is the oldest?',
        input: { topic: 'Bells', researchers: 1, analysts: 0, ...input },
        config,
      }),
  };
}
