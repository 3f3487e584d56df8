/** The commands of a roadmap in a real repository, without a server. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../program.ts';

const LOGIN = '550e8400-e29b-41d4-a716-446655440001';
const ITEMS: readonly Fields[] = [
  { id: LOGIN, title: 'Sign in by a link', moscow: 'must-have', timeHorizon: 'now', health: 'at-risk' },
  {
    id: 'layout',
    title: 'Layout',
    status: 'in-progress',
    workflowState: { phase: 'testing', tasksTotal: 7, tasksCompleted: 3, blockers: ['2 tests fail'] },
  },
  { id: 'mail', title: 'E-mails', dependencies: [LOGIN] },
  { id: 'pool', title: 'Pool', status: 'completed', timeHorizon: 'later' },
  { id: 'never', title: 'Never', moscow: 'wont-have' },
];

type Fields = Readonly<Record<string, unknown>>;

const roadmap = (items: readonly Fields[]): string =>
  `${JSON.stringify(
    {
      projectName: 'Shop',
      items: items.map((fields) => ({
        type: 'feature',
        moscow: 'should-have',
        status: 'not-started',
        health: 'on-track',
        timeHorizon: 'next',
        ...fields,
      })),
    },
    null,
    2,
  )}\n`;

it('says that the followed branch has newer states, as the last fetch knows them', async () => {
  const [ours, theirs] = [aFolder(), aFolder()];
  const git = (folder: string, ...words: readonly string[]): void => {
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], {
      cwd: folder,
      stdio: 'pipe',
    });
  };
  const commit = (text: string): void => {
    mkdirSync(path.join(theirs, 'roadmap'), { recursive: true });
    writeFileSync(path.join(theirs, 'roadmap/roadmap.json'), text);
    git(theirs, 'add', '--all');
    git(theirs, 'commit', '--quiet', '--message=one');
  };
  git(theirs, 'init', '--quiet', '--initial-branch=main');
  commit(roadmap(ITEMS));
  git(ours, 'clone', '--quiet', theirs, '.');
  for (const name of ['next', 'status']) expect((await command(ours, name)).stderr).toBe('');
  commit(roadmap(ITEMS.slice(1)));
  git(ours, 'fetch', '--quiet');
  for (const name of ['next', 'status'])
    expect((await command(ours, name)).stderr).toContain(
      'origin/main has a newer roadmap/roadmap.json: 1 commit that this clone does not have yet. See them with: git pull',
    );
  git(ours, 'pull', '--quiet');
  expect((await command(ours, 'status')).stderr).not.toContain('newer');
});

/** Carries out a command in a folder inside a repository with this roadmap. */
async function inRepository(text: string | null, ...words: readonly string[]) {
  const folder = aFolder();
  execFileSync('git', ['init', '--quiet', folder], { stdio: 'pipe' });
  for (const name of ['roadmap', 'docs']) mkdirSync(path.join(folder, name));
  const file = path.join(folder, 'roadmap/roadmap.json');
  if (text !== null) writeFileSync(file, text);
  const finished = await command(path.join(folder, 'docs'), ...words);
  if (text !== null) expect(readFileSync(file, 'utf8')).toBe(text);
  return finished;
}

function aFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'roadmap-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function command(cwd: string, ...words: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        said[name] += chunk.toString();
        done();
      },
    });
  const exitCode = await runCli(['roadmap', ...words], {
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: {},
    cwd,
    program: 'autonomous',
  });
  return { exitCode, ...said };
}

describe('roadmap next', () => {
  it('names what is in progress, then the next item with the reason and the command that starts it', async () => {
    const { exitCode, stdout, stderr } = await inRepository(roadmap(ITEMS), 'next');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toBe(
      [
        '## In Progress',
        '',
        '- **Layout** (layout): In progress (testing, 3 of 7 tasks): go on with it. Blocked by: 2 tests fail. `autonomous roadmap work layout`',
        '',
        '## Next Roadmap Item',
        '',
        '**Selected:** Sign in by a link',
        `**ID:** ${LOGIN}`,
        '**Rationale:** must-have, now, at-risk; 1 item waits for it. Nothing else can be started.',
        '',
        '**To start work:**',
        '```',
        `autonomous roadmap work ${LOGIN}`,
        '```',
        '',
      ].join('\n'),
    );
  });

  it('prints the same as JSON, with a reason for every item', async () => {
    const { exitCode, stdout } = await inRepository(roadmap(ITEMS), 'next', '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      file: '../roadmap/roadmap.json',
      selected: {
        id: LOGIN,
        title: 'Sign in by a link',
        rationale: 'must-have, now, at-risk; 1 item waits for it. Nothing else can be started.',
        startCommand: `autonomous roadmap work ${LOGIN}`,
      },
      inProgress: [
        {
          id: 'layout',
          title: 'Layout',
          rationale: 'In progress (testing, 3 of 7 tasks): go on with it. Blocked by: 2 tests fail.',
          startCommand: 'autonomous roadmap work layout',
        },
      ],
      eligible: [{ id: LOGIN, title: 'Sign in by a link', rationale: 'must-have, now, at-risk; 1 item waits for it.' }],
      others: [
        { id: 'mail', title: 'E-mails', rationale: `Waits for 'Sign in by a link' (${LOGIN}), which is not-started.` },
        { id: 'pool', title: 'Pool', rationale: 'Completed.' },
        { id: 'never', title: 'Never', rationale: 'wont-have: chosen only when it is named.' },
      ],
      circles: [],
      unknownDependencies: [],
      pullIns: [],
    });
  });

  it('offers the lower item that a higher one waits for, and names circles and dependencies that are not there', async () => {
    const { stdout } = await inRepository(
      roadmap([
        { id: 'high', title: 'High', moscow: 'must-have', dependencies: ['low'] },
        { id: 'low', title: 'Low', moscow: 'could-have' },
        { id: 'mid', title: 'Mid' },
        { id: 'b', title: 'B', dependencies: ['a'] },
        { id: 'a', title: 'A', dependencies: ['b', 'gone'] },
      ]),
      'next',
    );
    expect(stdout).toContain('**Selected:** Mid\n');
    expect(stdout.split('\n').slice(-5)).toEqual([
      '**Notes:**',
      "- 'High' (high; must-have, next, on-track) ranks before 'Mid' (mid) and waits for 'Low' (low; could-have, next, on-track). Pull that in to get to it. `autonomous roadmap work low`",
      '- These items depend on each other in a circle: a → b → a.',
      "- a depends on 'gone', which is not in the roadmap.",
      '',
    ]);
  });

  it('takes an item that is named, also a wont-have', async () => {
    expect(await inRepository(roadmap(ITEMS), 'next', '--item', 'never')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^## Next Roadmap Item\n\n\*\*Selected:\*\* Never\n/),
    });
  });

  it('says why an item that is named cannot be started, and ends with 1', async () => {
    const { exitCode, stdout } = await inRepository(roadmap(ITEMS), 'next', '--item', 'mail');
    expect(exitCode).toBe(1);
    expect(stdout).toBe(
      [
        '## Next Roadmap Item',
        '',
        `**E-mails** (mail) cannot be started. Waits for 'Sign in by a link' (${LOGIN}), which is not-started.`,
        '',
        '**Notes:**',
        `- 'E-mails' (mail; should-have, next, on-track) waits for 'Sign in by a link' (${LOGIN}; must-have, now, at-risk). Pull that in to get to it. \`autonomous roadmap work ${LOGIN}\``,
        '',
      ].join('\n'),
    );
  });

  it('says that an item that is named is in progress', async () => {
    const { exitCode, stdout } = await inRepository(roadmap(ITEMS), 'next', '--item', 'layout');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^## In Progress\n\n- \*\*Layout\*\* [^\n]+\n\n## Next Roadmap Item\n\n\*\*Layout\*\* \(layout\) is in progress\.\n$/,
    );
  });

  it('has exactly these words for an id that is not there', async () => {
    expect(await inRepository(roadmap(ITEMS), 'next', '--item', 'gone')).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'Item not found: gone\n',
    });
  });

  it.each<[string, readonly Fields[], readonly string[]]>([
    ['no items', [], ['The roadmap has no items.']],
    ['one completed item', ITEMS.slice(3, 4), ['The only item is completed.']],
    [
      'completed items',
      [...ITEMS.slice(3, 4), { id: 'x', title: 'X', status: 'completed' }],
      ['All 2 items are completed.'],
    ],
    [
      'items that cannot be started',
      [{ id: 'x', title: 'X\n1', status: 'on-hold' }, { id: 'y', title: 'Y', dependencies: ['x'] }, ...ITEMS.slice(3)],
      [
        'No item can be started.',
        '',
        "- **X 1** (x): On hold, and it has no dependencies that would end that. Set its status to 'not-started' to take it up.",
        "- **Y** (y): Waits for 'X 1' (x), which is on-hold.",
        '- **Never** (never): wont-have: chosen only when it is named.',
      ],
    ],
  ])('says that nothing is next with %s', async (_, items, lines) => {
    const { exitCode, stdout } = await inRepository(roadmap(items), 'next');
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')).toEqual(['## Next Roadmap Item', '', ...lines, '']);
  });

  it('refuses a roadmap with faults, naming the first of them', async () => {
    const items = Array.from({ length: 22 }, (_, index) => ({ id: `i${index}`, title: '' }));
    const { exitCode, stdout, stderr } = await inRepository(roadmap(items), 'next');
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    const lines = stderr.trim().split('\n');
    expect(lines[0]).toBe('../roadmap/roadmap.json cannot be read as a roadmap:');
    expect(lines[1]).toBe(`  Field 'title' of item 'i0' is "". Allowed: a text of 1 to 200 characters.`);
    expect(lines.slice(21)).toEqual(['  … and 2 more: autonomous roadmap validate ../roadmap/roadmap.json']);
  });
});

describe('roadmap status', () => {
  it('shows all items by time horizon and MoSCoW, with phase, tasks and blockers', async () => {
    const { exitCode, stdout, stderr } = await inRepository(roadmap(ITEMS), 'status');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const columns = (row: string) => row.trimEnd().replaceAll(/ {2,}/g, ' | ');
    expect(stdout.split('\n').map(columns)).toEqual([
      '5 items: 1 completed, 1 in progress, 0 on hold',
      '',
      'now',
      ' | MOSCOW | STATUS | HEALTH | PHASE | TASKS | ID | TITLE',
      ` | must-have | not-started | at-risk | - | - | ${LOGIN} | Sign in by a link`,
      '',
      'next',
      ' | MOSCOW | STATUS | HEALTH | PHASE | TASKS | ID | TITLE',
      ' | should-have | in-progress | on-track | testing | 3/7 | layout | Layout',
      ' | blocked by: 2 tests fail',
      ' | should-have | not-started | on-track | - | - | mail | E-mails',
      ' | wont-have | not-started | on-track | - | - | never | Never',
      '',
      'later',
      ' | MOSCOW | STATUS | HEALTH | PHASE | TASKS | ID | TITLE',
      ' | should-have | completed | on-track | - | - | pool | Pool',
      '',
    ]);
    expect(stdout).toContain(
      [
        `  MOSCOW       STATUS       HEALTH    PHASE    TASKS  ${'ID'.padEnd(36)}  TITLE`,
        `  should-have  in-progress  on-track  testing  3/7    ${'layout'.padEnd(36)}  Layout`,
      ].join('\n'),
    );
  });

  it('mentions faults of dependencies beside the table', async () => {
    const { exitCode, stdout, stderr } = await inRepository(
      roadmap([{ id: 'a', title: 'A', dependencies: ['a'] }]),
      'status',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toContain('1 item: 0 completed');
    expect(stderr).toBe('Dependencies have 1 fault. See: autonomous roadmap validate ../roadmap/roadmap.json\n');
  });
});

describe('roadmap validate', () => {
  it('ends with 0 where there are no faults', async () => {
    expect(await inRepository(roadmap(ITEMS), 'validate')).toEqual({
      exitCode: 0,
      stdout: '../roadmap/roadmap.json: no faults\n',
      stderr: '',
    });
  });

  it('names all faults of values and of dependencies together, and ends with 1', async () => {
    const { exitCode, stdout } = await inRepository(
      roadmap([
        { id: 'a', title: 'A', moscow: 'urgent', dependencies: ['b'] },
        { id: 'b', title: 'B', dependencies: ['a', 'gone'] },
        { id: 'c', title: 'C' },
        { id: 'c', title: 'C again' },
      ]),
      'validate',
    );
    expect(exitCode).toBe(1);
    expect(stdout.split('\n')).toEqual([
      '../roadmap/roadmap.json: 4 faults',
      `  Field 'moscow' of item 'a' is "urgent". Allowed: one of must-have, should-have, could-have, wont-have.`,
      `  Field 'id' of item 'c' is "c", which 2 items have. Allowed: an id of its own for each item.`,
      `  Field 'dependencies' of item 'b' has "gone", which is not in the roadmap. Allowed: ids of its items.`,
      "  Field 'dependencies' of item 'a' leads back to it: a → b → a. Allowed: dependencies without a circle; take one of these out.",
      '',
    ]);
  });

  it('says where a file is not JSON', async () => {
    expect(await inRepository('{"items": [}', 'validate')).toMatchObject({
      exitCode: 1,
      stdout:
        '../roadmap/roadmap.json: 1 fault\n  The roadmap is not JSON from line 1, column 12 on: value expected.\n',
    });
  });
});

describe('the file', () => {
  it.each(['next', 'status', 'validate'])('of %s may be named, also outside of repositories', async (name) => {
    const folder = aFolder();
    writeFileSync(path.join(folder, 'plan.json'), roadmap(ITEMS));
    expect(await command(folder, name, 'plan.json')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await command(folder, name)).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: 'You stand in no git repository whose roadmap/roadmap.json could be read. Name the file.\n',
    });
  });

  it('is named where it is not there', async () => {
    expect(await inRepository(null, 'next')).toMatchObject({
      exitCode: 64,
      stderr: expect.stringMatching(/^There is no file \S+\/roadmap\/roadmap\.json\./),
    });
  });
});
