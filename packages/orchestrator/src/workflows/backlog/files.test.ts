import { NeedsHuman } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { choiceIn, inOrder, readAgainIn, specsToRead, statusUpdate } from './files.ts';
import { BACKLOG_COLUMNS, type BacklogItem, columnsOf, readBacklog } from './backlog-table.ts';
import { type ChooseInput, folderOf, type NewStatus } from './types.ts';

const TABLE = `| ID | Title | Status | Priority | Depends on |
|---|---|---|---|---|
| A-1 | First | queued | P2 | |
| A-10 | Tenth | queued | P1 | A-1 |
| A-2 | Second | queued | P3 | |
`;
const header = {
  runId: 'r',
  projectId: 'p',
  request: 'Work',
  branch: 'autonomous/r',
  startedAt: '2026-03-01T10:00:00Z',
};
const input: ChooseInput = {
  ...header,
  head: 'c',
  baseBranch: 'main',
  file: 'ai/backlog.md',
  specs: 'ai/features',
  item: null,
  keepGoing: false,
  iterations: 0,
  maxIterations: 20,
  begun: [],
  underWay: [],
  merged: [],
};
const SPEC =
  '# Tech: [A-1] First\n\n**Status:** queued | **Priority:** P2\n\n## Allowed Files\n\n- `src/a.js` — new\n\n## Environment\n\nnodejs: true\n';
const specs = new Map([['ai/features/A-1.md', SPEC]]);

describe('the choice of an item', () => {
  it('brings what the specification says, and counts', () => {
    expect(choiceIn(input, TABLE, specs)).toEqual({
      counts: { total: 3, done: 0 },
      skipped: [],
      item: {
        id: 'A-1',
        title: 'First',
        specPath: 'ai/features/A-1.md',
        allowedFiles: { changes: ['src/a.js'], newFiles: [] },
        environment: ['nodejs: true'],
        needs: [{ line: 'nodejs: true', program: 'node' }],
        text: SPEC,
      },
      end: null,
    });
    expect(choiceIn({ ...input, underWay: ['A-1'] }, TABLE, specs).item).toMatchObject({ id: 'A-2', specPath: null });
  });

  it('ends with what a person has to do where the files cannot be used', () => {
    const faults = (...given: Parameters<typeof choiceIn>) => {
      const { end } = choiceIn(...given);
      return end?.kind === 'faults' ? end.faults.join('\n') : '';
    };
    expect(faults(input, null, specs)).toContain("main has no file 'ai/backlog.md'");
    expect(faults(input, TABLE.replace('A-10', 'A-1'), specs)).toContain("'A-1'");
    expect(faults({ ...input, item: 'A-3' }, TABLE, specs)).toBe('Item not found: A-3');
    const absolute = new Map([['ai/features/A-1.md', SPEC.replace('src/a.js', '/etc/passwd')]]);
    expect(faults(input, TABLE, absolute)).toMatch(/^ai\/features\/A-1\.md: Line 7: .*\/etc\/passwd/);
    const two = new Map([
      ['ai/features/A-1-once.md', SPEC],
      ['ai/features/A-1-again.md', SPEC],
    ]);
    expect(faults(input, TABLE, two)).toContain('several specs');
  });

  it('needs the specification of its row or name alone, and the titles of others only where it has none', () => {
    const unread = (...names: readonly string[]) => new Map(names.map((each) => [`ai/features/${each}.md`, null]));
    const wanted = (specs: ReadonlyMap<string, string | null>, text = TABLE) =>
      specsToRead(input, text, specs, BACKLOG_COLUMNS);
    expect(wanted(unread('A-1', 'A-10', 'other'))).toEqual(['ai/features/A-1.md']);
    expect(wanted(unread('A-10', 'other'))).toEqual(['ai/features/A-10.md', 'ai/features/other.md']);
    expect(wanted(new Map([...unread('A-10'), ['ai/features/other.md', SPEC]]))).toEqual(['ai/features/other.md']);
    expect(wanted(unread('A-1'), TABLE.replace('A-10', 'A-1'))).toEqual([]);
    expect(choiceIn(input, TABLE, unread('A-10', 'other')).item).toMatchObject({ id: 'A-1', specPath: null });
    expect(choiceIn(input, TABLE, unread('A-1')).end).toEqual({
      kind: 'faults',
      faults: ['ai/features/A-1.md is no file of at most 2 MB. Divide it into several specifications.'],
    });
    const titled = new Map([['ai/features/other.md', SPEC]]);
    expect(choiceIn(input, TABLE, titled).item).toMatchObject({ specPath: 'ai/features/other.md' });
  });

  it('takes what is merged for done, whatever the table says yet, and a title for no path', () => {
    const begun = TABLE.replace('| First | queued', '| First | in_progress');
    expect(choiceIn({ ...input, merged: ['A-1'] }, begun, specs)).toMatchObject({
      counts: { total: 3, done: 1 },
      item: { id: 'A-10' },
    });
    const titled = TABLE.replace('| First |', '| Update README.md |');
    expect(choiceIn(input, titled, new Map()).item).toMatchObject({ id: 'A-1', specPath: null });
    const linked = TABLE.replace('| First |', '| [First](docs/first.md) |');
    expect(choiceIn(input, linked, new Map()).end).toMatchObject({
      kind: 'faults',
      faults: [expect.stringContaining("'docs/first.md', and there is no such file in ai/features")],
    });
  });

  it('asks where people have set a merged item to another status, before that is published', () => {
    const blocked = TABLE.replace('| First | queued', '| First | blocked');
    const merged = { ...input, merged: ['A-1'] };
    expect(choiceIn(merged, blocked, specs)).toMatchObject({
      item: null,
      end: {
        kind: 'faults',
        faults: [expect.stringMatching(/^ai\/backlog\.md says that A-1 is 'blocked', and its result/)],
      },
    });
    expect(choiceIn(merged, TABLE, specs).end).toMatchObject({ kind: 'faults' });
    // There, a merge may have taken the table of the base, where it is still queued.
    expect(choiceIn(merged, TABLE, specs, BACKLOG_COLUMNS, 'branch').item).toMatchObject({ id: 'A-10' });
    expect(choiceIn(merged, blocked, specs, BACKLOG_COLUMNS, 'branch').end).toMatchObject({ kind: 'faults' });
    const done = TABLE.replace('| First | queued', '| First | done');
    expect(choiceIn(merged, done, specs).item).toMatchObject({ id: 'A-10' });
  });

  it('brings no byte order mark, control character or mark that turns text round', () => {
    const table = TABLE.replace('| First |', '| Fir\u202est\u0007 |');
    const hidden = `\ufeff${SPEC}region: e\u200bu\n\nOne\u001b[31m\u0000\r\ntwo\r\n\u202ethree\ud800`;
    const { item } = choiceIn(input, table, new Map([['ai/features/A-1.md', hidden]]));
    expect(item?.title).toBe('Fir⟨U+202E⟩st⟨U+0007⟩');
    expect(item?.environment).toEqual(['nodejs: true', 'region: e⟨U+200B⟩u']);
    expect(item?.text).toBe(`${SPEC}region: e⟨U+200B⟩u\n\nOne⟨U+001B⟩[31m⟨U+0000⟩\ntwo\n⟨U+202E⟩three\ufffd`);
    const long = choiceIn(input, TABLE, new Map([['ai/features/A-1.md', `${SPEC}${'\u0000'.repeat(39_000)}`]]));
    expect(long.item?.text).toHaveLength(40_000);
  });

  it('names those that wait for a blocked item', () => {
    const blocked = TABLE.replace('| First | queued', '| First | blocked').replace(
      '| Second | queued',
      '| Second | done',
    );
    expect(choiceIn({ ...input, begun: ['A-1'], keepGoing: true }, blocked, specs)).toMatchObject({
      skipped: ['A-10'],
      item: null,
      end: { kind: 'blocked', id: 'A-1', item: 'A-1: First' },
    });
  });
});

describe('the table that is read again before the result is published', () => {
  const merged = { file: 'ai/backlog.md', merged: ['A-1'] };
  const as = (status: string): string => TABLE.replace('| First | queued', `| First | ${status}`);

  it('counts what is merged as done, and has nothing against other rows', () => {
    const more = `${as('in_progress')}| A-3 | Third | queued | P0 | |\n`;
    expect(readAgainIn(merged, more)).toEqual({ faults: [], counts: { total: 4, done: 1 } });
    expect(readAgainIn(merged, `${more}| A-3 | Twice | wontfix | P0 | |\n`)).toEqual({ faults: [], counts: null });
    expect(readAgainIn(merged, as('done')).faults).toEqual([]);
    expect(readAgainIn(merged, TABLE.replace('| A-1 | First | queued | P2 | |\n', '')).faults).toEqual([]);
    expect(readAgainIn(merged, null)).toEqual({ faults: [], counts: null });
  });

  it.each(['queued', 'blocked', 'wontfix'])('names an item that is merged and %s by now', (status) => {
    expect(readAgainIn(merged, as(status)).faults).toEqual([expect.stringContaining(`says that A-1 is '${status}'`)]);
  });

  it('takes a queued item where the statuses are on the branch, and names a row that cannot be read', () => {
    expect(readAgainIn(merged, TABLE, BACKLOG_COLUMNS, 'branch').faults).toEqual([]);
    expect(readAgainIn(merged, as('in_progress').replace('| First |', '| First | or not |')).faults).toEqual([
      expect.stringMatching(/^ai\/backlog\.md, of A-1: Line \d+: the row/),
    ]);
  });
});

it('takes a folder as people write it', () => {
  expect(['ai/features', 'ai/features/', 'ai//'].map(folderOf)).toEqual(['ai/features', 'ai/features', 'ai']);
});

it('shows items in the order in which they are begun', () => {
  const read = readBacklog(TABLE.replace('| Second | queued', '| Second | in_progress'), BACKLOG_COLUMNS);
  if (!read.ok) throw new Error('it is readable');
  expect(inOrder(read.backlog).map(({ id }) => id)).toEqual(['A-2', 'A-1', 'A-10']);
  expect(inOrder(read.backlog, 'A-1').map(({ id }) => id)).toEqual(['A-1']);
});

it('shows many items in that order, whatever they wait for', () => {
  const item = (id: number, dependsOn: readonly number[]): BacklogItem =>
    ({
      id: `A-${id}`,
      title: '',
      line: id,
      status: 'queued',
      dependsOn: dependsOn.map((each) => `A-${each}`),
    }) as never;
  const ids = (items: readonly BacklogItem[]) => inOrder({ items }).map(({ id }) => Number(id.slice(2)));
  expect(ids([item(1, [3]), item(2, [5, 5]), item(3, []), item(4, [4]), item(5, [1, 3]), item(6, [9])])).toEqual([
    3, 1, 5, 2, 4, 6,
  ]);
  const many = Array.from({ length: 20_000 }, (_, index) => index);
  expect(ids(many.map((index) => item(index, index + 1 < many.length ? [index + 1] : [])))).toEqual(many.toReversed());
});

describe('the change of a status', () => {
  const set = (change: Partial<NewStatus>) => {
    const status: NewStatus = {
      item: 'A-1',
      specPath: 'ai/features/A-1.md',
      status: 'done',
      reason: '',
      iteration: 2,
      expected: ['in_progress'],
      ...change,
    };
    const asked = { ...header, head: 'c', baseBranch: 'main', file: 'ai/backlog.md', statuses: [status] };
    const { files } = statusUpdate(asked, '2026-03-01T10:07:09.123Z');
    return async (path: string, text: string | null, to: 'base' | 'branch' = 'base') =>
      (await files[path]?.(text, to)) ?? null;
  };
  const begun = TABLE.replace('| First | queued', '| First | in_progress');

  it('changes one cell, also where people have edited other rows meanwhile', async () => {
    const edited = `${begun}| A-3 | Third | queued | P0 | |\n`;
    expect(await set({})('ai/backlog.md', edited)).toBe(edited.replace('in_progress', 'done'));
  });

  it('brings the template of the progress log where it is asked to, and where there is none', async () => {
    const asked = { ...header, head: 'c', baseBranch: 'main', file: 'docs/todo.md', statuses: [] };
    const { files } = statusUpdate(asked, '2026-03-01T10:07:09.123Z', BACKLOG_COLUMNS, true);
    expect(Object.keys(files)).toEqual(['docs/diary/autopilot-progress.md', 'docs/diary/.gitignore', 'docs/todo.md']);
    expect(await files['docs/diary/autopilot-progress.md']?.('Mine\n', 'base')).toBe('Mine\n');
    expect(Object.keys(statusUpdate(asked, '2026-03-01T10:07:09.123Z').files)).toEqual(['docs/todo.md']);
  });

  it('asks where people have set another status meanwhile, and takes the same one', async () => {
    const other = TABLE.replace('| First | queued', '| First | blocked');
    await expect(set({})('ai/backlog.md', other)).rejects.toThrow(NeedsHuman);
    await expect(set({})('ai/backlog.md', other)).rejects.toThrow(
      /says that A-1 is 'blocked', and this run would set it to done/,
    );
    const same = TABLE.replace('| First | queued', '| First | done');
    expect(await set({})('ai/backlog.md', same)).toBe(same);
  });

  it('takes an item on the branch that is in progress in the base alone, and asks there about every other status', async () => {
    await expect(set({})('ai/backlog.md', TABLE)).rejects.toThrow(NeedsHuman);
    expect(await set({})('ai/backlog.md', TABLE, 'branch')).toBe(TABLE.replace('| First | queued', '| First | done'));
    const other = TABLE.replace('| First | queued', '| First | blocked');
    await expect(set({})('ai/backlog.md', other, 'branch')).rejects.toThrow(NeedsHuman);
  });

  it('asks for a word that it does not know, too, and leaves a table without the row', async () => {
    const unknown = TABLE.replace('| First | queued', '| First | wontfix');
    await expect(set({})('ai/backlog.md', unknown)).rejects.toThrow(/'wontfix'/);
    const without = TABLE.replace('| A-1 | First | queued | P2 | |\n', '');
    expect(await set({})('ai/backlog.md', without)).toBe(without);
    expect(await set({})('ai/backlog.md', null)).toBeNull();
  });

  it('asks where the row is there and cannot be read, so that no item is called done in vain', async () => {
    const uneven = begun.replace('| First |', '| First | or not |');
    const doubled = `${begun}| A-1 | First | queued | P2 | |\n`;
    const hidden = `\`\`\`\n${begun}`;
    for (const text of [uneven, doubled, hidden, begun.replace('| Status |', '| State |')])
      await expect(set({})('ai/backlog.md', text)).rejects.toThrow(NeedsHuman);
    await expect(set({})('ai/backlog.md', uneven)).rejects.toThrow(
      /A-1 cannot be set to done: Line \d+: the row .* 6 cells/,
    );
  });

  it('writes the header and one entry an attempt into the specification', async () => {
    expect(await set({ status: 'in_progress', expected: ['queued'] })('ai/features/A-1.md', SPEC)).toBe(
      SPEC.replace('queued', 'in_progress'),
    );
    const blocked = await set({ status: 'blocked', reason: 'Two tests fail.\nMore.' })('ai/features/A-1.md', SPEC);
    expect(blocked).toContain('**Status:** blocked');
    expect(blocked).toMatch(/## Autopilot Log\n\n- 2026-03-01 10:07.* attempt 2: blocked .*Two tests fail\./);
    expect(await set({})('ai/features/A-1.md', null)).toBeNull();
  });
});

describe('with columns and words of the project', () => {
  const table = TABLE.replace('| ID |', '| Nr |').replace('Status', 'Stand').replaceAll('| queued', '| 🟡 open');
  const columns = columnsOf({
    backlog: { columns: { id: 'nr', status: 'Stand' }, statusWords: { '🟡 open': 'queued', '🟢 ready': 'done' } },
  });

  it('the next item is chosen, and its status is written in those words', async () => {
    expect(choiceIn(input, table, specs, columns).item?.id).toBe(choiceIn(input, TABLE, specs).item?.id);
    const set = {
      item: 'A-2',
      specPath: null,
      status: 'done',
      reason: '',
      iteration: 1,
      expected: ['queued'],
    } as const;
    const asked = { ...header, head: 'c', baseBranch: 'main', file: 'ai/backlog.md', statuses: [set] };
    const { files } = statusUpdate(asked, '2026-03-01T10:07:09.123Z', columns);
    const written = (await files['ai/backlog.md']?.(table, 'base')) ?? '';
    expect(written).toMatch(/^\| A-2 .*🟢 ready/m);
    expect(written.match(/🟢 ready/g)).toHaveLength(1);
  });

  it('are refused where one column is named for two things, and named where the table has others', () => {
    const twice = columnsOf({ backlog: { columns: { title: 'id' } } });
    expect(readBacklog(TABLE, twice)).toEqual({
      ok: false,
      faults: [
        "The column 'ID' is named for id and title. Give each a column of its own: backlog.columns of .autonomous/config.json.",
      ],
    });
    expect(readBacklog(TABLE, columns)).toMatchObject({
      ok: false,
      faults: [expect.stringContaining("has the columns 'nr' and 'Stand'")],
    });
    expect(columnsOf(null)).toEqual(BACKLOG_COLUMNS);
  });
});
