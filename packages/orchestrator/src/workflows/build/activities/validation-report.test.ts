/** The search of a validation report for the plan's routes: in the code that the run changed, beside the event loop. */
import type { RunView } from '@autonomous/shared';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  commitFiles,
  type Fixture,
  mainHead,
  openFixture,
  temporaryFolder,
} from '../../../repository/git-fixture.fixture.ts';
import { growthOf } from '../../../../test/fixtures/growth.fixture.ts';
import type { ActivityContext } from '../../../core/activity.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { type RenderedReport, renderReport } from './validation-report.ts';

const BRANCH = 'autonomous/r-1-mine';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path, {
    files: { 'src/old.js': "go('/before')\n", 'README.md': '# Shop\n' },
  });
});
afterEach(() => temporary.remove());

const reported = async (files: Readonly<Record<string, string>>): Promise<RenderedReport> =>
  reportOf(await commitFiles(fixture, BRANCH, files, 'r-1/1/commitCode'));

async function reportOf(head: string): Promise<RenderedReport> {
  const { repository, project } = fixture;
  const baseCommit = await mainHead(fixture);
  const tools = { repository, scrub: (text: string) => text } as unknown as ActivityTools;
  const context = { signal: new AbortController().signal } as ActivityContext;
  const view = { evidence: [], baseCommit, scriptedModels: [] } as unknown as RunView;
  const constraints = {
    requiredRoutes: ['/login', '/before'],
    requiredComponents: [],
    dataEntities: [],
    validationRules: [],
  };
  return renderReport(tools, context, project, {
    at: '2026-01-01T00:00:00.000Z',
    commit: head,
    head,
    runId: 'r-1',
    request: 'Log in',
    codeTree: 'c'.repeat(40),
    evidence: [],
    review: null,
    failure: null,
    view,
    plan: { title: 'Log in', constraints },
  } as never);
}

const mentioned = ({ findings }: RenderedReport): readonly string[] =>
  findings.filter(({ result }) => result === 'mentioned').map(({ where }) => where ?? '');

it('finds a route in a changed file, and looks at no other', async () => {
  const found = await reported({
    'src/login.test.js': "go('/login')\n",
    'src/app.js': "// '/login'\ngo('/login')\n",
    'src/nul.js': "\0 go('/before')\n",
  });
  expect(mentioned(found)).toEqual(['src/app.js:2']);
});

it('leaves out files that are too large', async () => {
  const found = await reported({ 'src/large.js': `${'\n'.repeat(400_000)}go('/login')\n` });
  expect(mentioned(found)).toEqual([]);
});

it('costs this thread no more for many large files than for those that it searches', async () => {
  const empty = '\n'.repeat(290_000);
  const heads = new Map<number, string>();
  for (const count of [12, 96]) {
    const large = Object.fromEntries(Array.from({ length: count }, (_, index) => [`src/a${index}.js`, empty]));
    heads.set(count, await commitFiles(fixture, `autonomous/r-${count}`, large, `r-${count}/1/commitCode`));
  }
  // The worker starts and the modules are read with the first.
  await reportOf(heads.get(12) ?? '');
  expect(await growthOf(12, (count) => heads.get(count) ?? '', reportOf)).toBeLessThan(4);
});
