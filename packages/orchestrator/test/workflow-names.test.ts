import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type WorkflowValue, completeWorkflow } from '../src/workflows/complete-workflow.ts';
import { workflows } from '../src/workflows/index.ts';
import { findViolations, readPackages, type SourceFile } from './layers.ts';
import { findNames, MANIFEST, manifestTexts, namesOf, type WorkflowName } from './workflow-names.ts';

interface Exception {
  readonly path: string;
  readonly names: readonly string[];
  readonly reason: string;
}

/** All uses of a workflow's names outside its folder. A new entry needs a reason that is not convenience. */
const EXCEPTIONS: readonly Exception[] = [
  {
    path: 'orchestrator/src/cli/commands/launch/plan.ts',
    names: ['plan', 'phased-plan', 'phase_blocked'],
    reason: 'the command of the workflow phased-plan',
  },
  {
    path: 'orchestrator/src/cli/commands/launch/backlog.ts',
    names: ['backlog', 'backlog_stopped'],
    reason: 'the command of the workflow backlog',
  },
  {
    path: 'shared/src/config.ts',
    names: ['spec', 'backlog'],
    reason: "the section of a project's configuration that names its backlog, and a column of its table",
  },
  {
    path: 'orchestrator/src/cli/doctor/doctor-project.ts',
    names: ['backlog'],
    reason: 'looks at the section of the configuration that names the backlog',
  },
  {
    path: 'orchestrator/src/workflows/parts/topics/source-facts.ts',
    names: ['SOURCE_FETCHED', 'SOURCE_REFUSED'],
    reason: 'facts of all workflows with agents that read the web',
  },
  {
    path: 'orchestrator/src/workflows/parts/topics/rounds.ts',
    names: ['AGENT_FAILED'],
    reason: 'the fact of all workflows whose agents work in rounds',
  },
  {
    path: 'orchestrator/src/workflows/parts/document-publishing.ts',
    names: ['implementation'],
    reason: 'the trust mode of workflows whose result is documents',
  },
  {
    path: 'orchestrator/src/workflows/index.ts',
    names: ['research'],
    reason: 'the workflow research, which has the name of a stage of full-auto',
  },
  {
    path: 'orchestrator/src/cli/commands/launch/topics.ts',
    names: ['FEATURES_ENDED'],
    reason: 'the command of the workflow full-auto, whose exit code tells that its iterations are used up',
  },
  {
    path: 'orchestrator/src/composition/roadmap-reader.ts',
    names: ['roadmap-item'],
    reason: 'the reader of roadmaps tells the server which workflow carries out an item',
  },
  {
    path: 'shared/src/api/roadmap.ts',
    names: ['releasing', 'research'],
    reason: "a phase of an item's state and a type of items in the file of a roadmap",
  },
  {
    path: 'orchestrator/src/engine/runner/activity-runner.ts',
    names: ['reporting'],
    reason: 'an activity whose outcome is being stored, and not the stage of a run',
  },
  {
    path: 'orchestrator/src/workflows/parts/evidence.ts',
    names: ['validation'],
    reason: 'the stage whose time limit the checks of results of child runs have',
  },
  {
    path: 'orchestrator/src/workflows/parts/result.ts',
    names: ['implementation', 'validation', 'publishing'],
    reason: 'stages and the trust mode of workflows whose result is checked as a whole',
  },
  {
    path: 'orchestrator/src/workflows/attempt-run.ts',
    names: ['build', 'planning', 'implementation', 'fixes', 'preparation', 'validation', 'publishing'],
    reason: 'makes workflows: its own stages, and trust modes that its child runs inherit',
  },
  {
    path: 'orchestrator/src/workflows/parts/watch-children.ts',
    names: ['implementation', 'fixes', 'fix'],
    reason: 'gates and trust modes of the child runs that parents of this kind start',
  },
  {
    path: 'orchestrator/src/config.ts',
    names: ['planner', 'implementer', 'validator'],
    reason: 'environment variables of an earlier form name one role each and keep their meaning',
  },
  {
    path: 'orchestrator/src/cli/commands/launch/run.ts',
    names: ['planning', 'implementation', 'fixes'],
    reason: 'options of an earlier form; --trust takes the modes of any workflow',
  },
  {
    path: 'orchestrator/src/cli/run-texts.ts',
    names: ['plan'],
    reason: 'show --plan, an option of an earlier form; show --document takes the documents of any workflow',
  },
  {
    path: 'shared/src/fold.ts',
    names: ['planning'],
    reason: 'stage of questions without a stage, in stored views of histories',
  },
  {
    path: 'orchestrator/src/activities/git/code-commits.ts',
    names: ['implementation'],
    reason: 'name of the work folder in data folders of open runs, for any workflow that writes code',
  },
  {
    path: 'orchestrator/src/roles/prompt-parts.ts',
    names: ['plan'],
    reason: 'part of a prompt with an approved document, for roles of any workflow',
  },
  {
    path: 'orchestrator/src/project-analysis/project-commands.ts',
    names: ['spec'],
    reason: 'folder name by which test files of a project are recognised',
  },
  {
    path: 'orchestrator/src/repository/checkout/by-products.ts',
    names: ['build'],
    reason: 'folder name of the output of tools',
  },
];

const names = namesOf(workflows);

describe('the names of the shipped workflows', () => {
  const packages = path.join(import.meta.dirname, '..', '..');
  const manifest = manifestTexts(readFileSync(path.join(packages, MANIFEST), 'utf8'));
  const files = [...readPackages(packages), manifest];
  const excepted = new Set(EXCEPTIONS.flatMap((each) => each.names.map((name) => `${each.path} ${name}`)));
  const isExcepted = (use: { readonly path: string; readonly name: string }): boolean =>
    excepted.has(`${use.path} ${use.name}`);

  it('stand in no source outside their folders, apart from the exceptions', () => {
    const uses = findNames(files, names).filter((use) => !isExcepted(use));
    expect(uses.map((use) => `${use.path}:${use.line} uses '${use.name}'; read it from the workflow.`)).toEqual([]);
  });

  it("are found in the titles of the editor's manifest", () => {
    const role = names.find(({ kinds }) => kinds.includes('role'));
    const title = `Ask the ${role?.name.toUpperCase()}…`;
    const planted = manifestTexts(JSON.stringify({ commands: [{ title: 'Open' }, { title }] }).replaceAll(':"', ': "'));
    expect(findNames([planted], names).map((use) => use.name)).toEqual([role?.name]);
  });

  it('make each exception necessary', () => {
    const used = new Set(findNames(files, names).map((use) => `${use.path} ${use.name}`));
    expect([...excepted].filter((each) => !used.has(each))).toEqual([]);
  });

  it('are those of every kind: of the workflow, its roles, stages, trust modes, gates, documents and events', () => {
    expect(new Set(names.flatMap(({ kinds }) => kinds))).toEqual(
      new Set(['workflow', 'role', 'stage', 'trust mode', 'gate', 'document', 'event']),
    );
    const { length } = names.filter(({ name }) => ['code', 'pause', 'clarification', 'FIX_DECIDED'].includes(name));
    expect(length).toBe(0);
  });

  it.each(names.map(({ name }) => name))("make a planted '%s' a fault, in the server and in each client", (name) => {
    const planted = [...PLANTED].map((path): SourceFile => {
      const file = files.find((each) => each.path === path);
      return { path, source: `${file?.source}\nexport const PLANTED = '${name}';\n` };
    });
    expect(new Set(findNames(planted, [nameOf(name)]).map((use) => use.path))).toEqual(PLANTED);
  });
});

const PLANTED = new Set([
  'orchestrator/src/engine/engine.ts',
  'orchestrator/src/server/metrics.ts',
  'orchestrator/src/workflows/parts/gate.ts',
  'orchestrator/src/cli/gates/dialog.ts',
  'shared/src/run.ts',
  'ui/src/labels.ts',
  'vscode-extension/src/notices.ts',
]);

function nameOf(wanted: string): WorkflowName {
  const found = names.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no workflow has the name '${wanted}'`);
  return found;
}

describe('the reader of names', () => {
  const OWN: readonly WorkflowName[] = [
    { name: 'drafting', kinds: ['stage'] },
    { name: 'outline', kinds: ['document', 'gate'] },
    { name: 'author', kinds: ['role'] },
    { name: 'final_check', kinds: ['gate'] },
    { name: 'DRAFT_WRITTEN', kinds: ['event'] },
  ];
  const uses = (source: string, file = 'orchestrator/src/cli/a.ts'): readonly string[] =>
    findNames([{ path: file, source }], OWN).map(({ line, name }) => `${line} ${name}`);

  it.each([
    ['a string', "if (kind === 'outline') show();"],
    ['a string in double quotes', 'const kind = "outline";'],
    ['a template', 'const kind = `outline`;'],
    ['a string in an expression of a template', "const text = `of ${kind === 'outline' ? `a ${b}` : ''}`;"],
    ['a string after a regular expression with a quote', "const a = /['\"`]/; const kind = 'outline';"],
    ['a type', "type Kind = 'outline' | 'b';"],
    ['an option of a command', "line.option('--outline', 'its first part');"],
    ['an option with a value', "line.option('--outline <text>', 'its first part');"],
    ['a key of an object', 'const titles = { outline: 1 };'],
    ['a key of an object over lines', 'const titles = {\n  a: f(b),\n  outline: 1,\n};'],
    ['a quoted key', "const titles = { 'outline': 1 };"],
    ['a setting that is read', 'const { drafting } = config.trustMode;'],
    ['a setting that is read of an object', 'const level = config.trustMode.drafting;'],
    ['a role within a sentence', "const help = 'asks the author about it';"],
    ['a name of several words within a sentence', 'const help = `at ${a} or final_check`;'],
    ['an event', "if (isEvent(event, 'DRAFT_WRITTEN')) end();"],
  ])('finds %s', (_, source) => {
    expect(uses(source)).toHaveLength(1);
  });

  it.each([
    ['a comment', "// the 'outline'\n/* 'outline'\n * author */"],
    ['an ordinary word within a sentence', "const help = 'shows the outline of it';"],
    ['a part of a longer word', "const name = 'outlines'; const other = 'co-author';"],
    ['a variable', 'const outline = read(outline, drafting);'],
    ['a parameter', 'function f(a: string, outline: string): void {}'],
    ['a class of a style', '<section className="outline" />'],
  ])('leaves out %s', (_, source) => {
    expect(uses(source)).toEqual([]);
  });

  it('reads sources that ship, with the parts that workflows share, and not the folders of workflows', () => {
    const source = "const kind =\n  'outline';";
    expect(uses(source, 'ui/src/screens/a.tsx')).toEqual(['2 outline']);
    expect(uses(source, 'orchestrator/src/workflows/parts/a.ts')).toEqual(['2 outline']);
    expect(uses(source, 'orchestrator/src/workflows/index.ts')).toEqual(['2 outline']);
    expect(uses(source, 'orchestrator/src/workflows/essay/a.ts')).toEqual([]);
    expect(uses(source, 'orchestrator/src/cli/a.test.ts')).toEqual([]);
    expect(uses(source, 'orchestrator/test/a.ts')).toEqual([]);
  });

  it('counts the names of child workflows, and no names that every workflow has', () => {
    const [first] = workflows;
    if (first === undefined) throw new Error('there is no workflow');
    const value: WorkflowValue = {
      versions: first.versions,
      activities: {},
      stages: [{ name: 'drafting', title: 'Drafting' }],
      gates: { pause: { title: 'Pause', presents: 'message' } },
      documents: { code: { title: 'Changes', drawnAs: 'changes' } },
    };
    const child = completeWorkflow(value);
    expect(namesOf([{ ...child, stages: [], children: [child] }])).toEqual([
      { name: first.name, kinds: ['workflow'] },
      { name: 'drafting', kinds: ['stage'] },
    ]);
  });
});

it('the engine and the core import no workflow', () => {
  for (const file of ['engine/engine.ts', 'core/advance.ts', 'activities/prepare.ts']) {
    const source = `import { workflows } from '../workflows/index.ts';`;
    expect(findViolations([{ path: `orchestrator/src/${file}`, source }])).toEqual([
      expect.stringContaining('imports go down only'),
    ]);
  }
});
