/** Backlogs in Markdown: their items, changes of a status, and merges. */
import { describe, expect, it } from 'vitest';
import {
  BACKLOG_COLUMNS,
  type BacklogColumns,
  type ItemStatus,
  MAX_BACKLOG_CHARACTERS,
  byUrgency,
  mergeBacklogs,
  readBacklog,
  withStatus,
} from './backlog-table.ts';
import { choices } from './random.fixture.ts';

const itemsOf = (text: string, columns: BacklogColumns = BACKLOG_COLUMNS) => {
  const read = readBacklog(text, columns);
  if (!read.ok) throw new Error(read.faults.join('\n'));
  return read.backlog.items;
};
const faultsOf = (text: string, columns: BacklogColumns = BACKLOG_COLUMNS) => {
  const read = readBacklog(text, columns);
  return read.ok ? [] : read.faults;
};
const changed = (text: string, id: string, status: ItemStatus, columns: BacklogColumns = BACKLOG_COLUMNS) => {
  const result = withStatus(text, columns, id, status);
  if (!result.ok) throw new Error(result.faults.join('\n'));
  return result.text;
};

const BACKLOG = `# Backlog

Order by priority.

| ID | Title | Status | Priority | Spec | Depends on |
|:---|-------|:------:|---------:|------|------------|
| TECH-65 | Like TECH-6, with \`a | b\` | queued | P1 | [spec](features/TECH-65.md) | TECH-6, TECH-7 |
| **TECH-6** | Escaped \\| pipe | in_progress | P0 | | — |
| [TECH-7](features/TECH-7.md) | done | queued | | \`ai/features/other.md\` | none |

## Later

ID | Status | Title
-- | ------ | -----
FTR-1 | blocked | A table without outer pipes

\`\`\`md
| ID | Status |
|----|--------|
| X-1 | done |
\`\`\`

<!-- | ID | Status |
|----|--------|
| X-2 | done | -->

| Status | Meaning |
|--------|---------|
| done | it is done |
`;

describe('readBacklog', () => {
  it('reads the items of all tables with the columns, in the order of the file', () => {
    expect(itemsOf(BACKLOG)).toEqual([
      {
        id: 'TECH-65',
        title: 'Like TECH-6, with `a | b`',
        status: 'queued',
        priority: 1,
        line: 7,
        specPath: 'features/TECH-65.md',
        dependsOn: ['TECH-6', 'TECH-7'],
      },
      {
        id: 'TECH-6',
        title: 'Escaped | pipe',
        status: 'in_progress',
        priority: 0,
        line: 8,
        specPath: null,
        dependsOn: [],
      },
      {
        id: 'TECH-7',
        title: 'done',
        status: 'queued',
        priority: null,
        line: 9,
        specPath: 'ai/features/other.md',
        dependsOn: [],
      },
      {
        id: 'FTR-1',
        title: 'A table without outer pipes',
        status: 'blocked',
        priority: null,
        line: 15,
        specPath: null,
        dependsOn: [],
      },
    ]);
  });

  it('reads the same from CRLF, without a line end at the end, and after a byte order mark', () => {
    expect(itemsOf(BACKLOG.replaceAll('\n', '\r\n'))).toEqual(itemsOf(BACKLOG));
    expect(itemsOf(`\ufeff${BACKLOG}`)).toEqual(itemsOf(BACKLOG));
    const table = '| ID | Status |\n|---|---|\n| A-1 | done |';
    expect(itemsOf(table)).toEqual(itemsOf(`${table}\n`));
  });

  it('reads the same from columns in any order', () => {
    const cells = (line: string) =>
      [
        ['ID', ':--', 'TECH-1', '[TECH-2](x/TECH-2.md)'],
        ['Title', '---', 'See `a|b`', 'Like TECH-1 \\| two'],
        ['Status', '--:', 'queued', 'done'],
        ['Priority', '---', 'P2', '-'],
        ['Spec', '---', '', ''],
        ['Depends on', '---', '', '[TECH-1](x/TECH-1.md)'],
        ['Notes', '---', 'n', ''],
        ['Effort', '---', '[S](y/z.md)', 'L'],
      ].map((column) => [...column, line]);
    const text = (columns: readonly (readonly string[])[]) =>
      [0, 1, 2, 3].map((row) => `| ${columns.map((column) => column[row]).join(' | ')} |`).join('\n');
    const expected = itemsOf(text(cells('')));
    expect(expected).toMatchObject([
      { id: 'TECH-1', title: 'See `a|b`', specPath: 'y/z.md' },
      { id: 'TECH-2', title: 'Like TECH-1 | two', specPath: 'x/TECH-2.md', dependsOn: ['TECH-1'] },
    ]);
    for (let seed = 0; seed < 100; seed += 1)
      expect(itemsOf(text(choices(seed).shuffled(cells(''))))).toEqual(expected);
  });

  it('takes names of columns and words of statuses from the configuration', () => {
    const columns: BacklogColumns = {
      ...BACKLOG_COLUMNS,
      id: 'Key',
      title: 'Задача',
      status: 'State',
      statusWords: { '🟢 done': 'done', '🟡 doing': 'in_progress', queued: 'queued', new: 'queued' },
    };
    const text = '| key | ЗАДАЧА | **State** |\n|-|-|-|\n| A | б | 🟢 done |\n| B | в | queued |\n';
    expect(itemsOf(text, columns)).toMatchObject([
      { id: 'A', title: 'б', status: 'done' },
      { id: 'B', title: 'в', status: 'queued' },
    ]);
    expect(changed(text, 'B', 'in_progress', columns)).toContain('| B | в | 🟡 doing |');
    expect(changed(text, 'B', 'blocked', columns)).toContain('| B | в | blocked |');
    expect(changed(text.replace('queued', 'new'), 'B', 'queued', columns)).toContain('| B | в | new |');
    expect(changed(text, 'A', 'queued', columns)).toContain('| A | б | queued |');
  });

  it.each(['Depends on', 'Depends', 'DEPENDENCIES'])('reads what an item depends on from the column %s', (name) => {
    const text = `| ID | Status | ${name} |\n|---|---|---|\n| A | done | |\n| B | queued | A |\n`;
    expect(itemsOf(text)[1]).toMatchObject({ dependsOn: ['A'] });
  });

  it('takes only the column of dependencies that is configured, and none for two things', () => {
    const text = '| ID | Status | Dependencies |\n|---|---|---|\n| A | done | |\n| B | queued | the database |\n';
    expect(itemsOf(text, { ...BACKLOG_COLUMNS, dependsOn: 'After' })[1]).toMatchObject({ dependsOn: [] });
    expect(itemsOf(text, { ...BACKLOG_COLUMNS, title: 'Dependencies' })[1]).toMatchObject({
      title: 'the database',
      dependsOn: [],
    });
  });

  it.each([
    ['| constructor | done |', 'constructor'],
    ['| `#12` | done |', '#12'],
    ['| __TECH_1__ | done |', 'TECH_1'],
    ['| **[TECH-1](a.md)** | done |', 'TECH-1'],
    ['| [**TECH-1**][1] | `done` |', 'TECH-1'],
    ['| [[TECH-1]] | **done** |', 'TECH-1'],
    ['| ~~TECH-1~~ | done |', 'TECH-1'],
    ['| TECH\\_1 | done |', 'TECH_1'],
    ['|TECH-1|done|', 'TECH-1'],
    ['TECH-1 | done', 'TECH-1'],
    ['   | TECH-1 | done |  ', 'TECH-1'],
  ])('reads the id of %s', (row, id) => {
    expect(itemsOf(`| ID | Status |\n|---|---|\n${row}\n`)).toMatchObject([{ id, status: 'done' }]);
  });

  it.each([
    ['| A | done | [S](s.md) | x | |', 's.md'],
    ['| [A](a.md) | done | [S](s.md) | | |', 's.md'],
    ['| [A](a.md) | done | | [N](n.md) | |', 'a.md'],
    ['| A | done | | [N](n.md) | |', 'n.md'],
    ['| A | done | | [N](n.md), [M](m.md) | |', null],
    ['| A | done | | | [B](b.md) |', null],
  ])('finds the path of the spec in %s', (row, specPath) => {
    const head = '| ID | Status | Spec | Notes | Depends on |\n|---|---|---|---|---|\n| B | done | | | |\n';
    expect(itemsOf(`${head}${row}\n`)[1]).toMatchObject({ specPath });
  });

  it('takes rows without any text, and a table without rows, for no items', () => {
    expect(itemsOf('| ID | Status |\n|---|---|\n|  |  |\n---\n')).toEqual([]);
    expect(itemsOf('| ID | Status |\n|---|---|\n')).toEqual([]);
  });

  it.each([
    ['', /^No table of the file has the columns 'ID' and 'Status'\. Add/],
    ['| Key | State |\n|---|---|\n', /that in line 1 has 'Key', 'State'/],
    ['```\n| ID | Status |\n|---|---|\n| A | done |\n```\n', /No table/],
    ['<!--\n| ID | Status |\n|---|---|\n| A | done |\n-->\n', /No table/],
    ['    | ID | Status |\n    |---|---|\n', /No table/],
    ['| ID | Status |\n|---|\n', /No table/],
    ['| ID | Status |\n|---|---|\n| A | done |\n| A | done |\n', /^Line 4: the id 'A' is in line 3 already; give/],
    ['| ID | Status |\n|---|---|\n| A | Done |\n', /^Line 3: the status 'Done' of A is unknown; write 'queued', /],
    ['| ID | Status |\n|---|---|\n| A | 🟢 done |\n', /^Line 3: the status '🟢 done' of A is unknown/],
    ['| ID | Status |\n|---|---|\n| A | |\n', /^Line 3: the status '' of A/],
    [
      '| ID | Status |\n|---|---|\n| A | done | more |\n',
      /^Line 3: the row '.*' has 3 cells, and its table has 2 columns \(line 1\)\. Write/,
    ],
    ['| ID | Status |\n|---|---|\n| A | done |\nText\n', /^Line 4: the row 'Text' has 1 cells/],
    [
      '| ID | Status |\n|---|---|\n| | done |\n',
      /^Line 3: the row '\| \| done \|' has no id; write one in the column 'ID'/,
    ],
    ['| ID | Status |\n|---|---|\n| A 1 | done |\n', /^Line 3: the id 'A 1' is invalid/],
    ['| ID | Status |\n|---|---|\n| ../x | done |\n', /^Line 3: the id '..\/x' is invalid/],
    [
      '| ID | Status | Depends on | Dependencies |\n|---|---|---|---|\n',
      /^Line 1: the table has several columns 'Depends on' and 'Dependencies'/,
    ],
    ['| ID | Status | Status |\n|---|---|---|\n', /^Line 1: the table has several columns 'Status'/],
    [
      '| ID | Status | Priority |\n|---|---|---|\n| A | done | high |\n',
      /^Line 3: the priority 'high' of A is unknown; write P0/,
    ],
    [
      '| ID | Status | Depends on |\n|---|---|---|\n| A | done | B |\n',
      /^Line 3: A depends on 'B', which the backlog does not have/,
    ],
    ['| ID | Status | Depends on |\n|---|---|---|\n| A | done | A |\n', /^Line 3: A depends on itself/],
    [
      '| ID | Status | Depends on |\n|---|---|---|\n| D | done | A |\n| A | done | B |\n| B | done | C |\n| C | done | A |\n',
      /^Line 4: items depend on each other in a circle: A → B → C → A\. Take/,
    ],
    ['| ID | Status |\n|---|---|\n\n```\n', /^Line 4: the block of code that begins here has no end/],
    ['x'.repeat(MAX_BACKLOG_CHARACTERS + 1), /1000001 characters; at most 1000000/],
  ])('refuses by name: %j', (text, message) => {
    const [fault, ...others] = faultsOf(text);
    expect(fault).toMatch(message);
    expect(others).toEqual([]);
  });

  it('names the faults of all rows, at most 20 of them', () => {
    const faults = faultsOf(`| ID | Status |\n|---|---|\n${'| A | x |\n'.repeat(30)}`);
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toBe('… and 39 more.');
  });

  it('answers to any text', () => {
    const parts = [
      '| ID | Status |',
      '|---|---|',
      '| A-1 | done |',
      '|',
      '\\',
      '`',
      '``',
      '\n',
      '\r\n',
      '\r',
      '-',
      ' ',
      '[',
      '](',
      ')',
      '**',
      '~~~',
      '```',
      '<!--',
      '-->',
      'ID',
      'Depends on',
      '\u0000',
      '\ud800',
      '🟢',
      '> ',
      '- ',
      '#',
      'x.md',
    ] as const;
    for (let seed = 0; seed < 500; seed += 1) {
      const { pick, below } = choices(seed);
      const random = (): string => Array.from({ length: below(80) }, () => pick(parts)).join('');
      const text = `${below(2) === 0 ? '| ID | Status | Depends on |\n|---|---|---|\n| A-1 | done | A-1 |\n' : ''}${random()}`;
      const read = readBacklog(text, BACKLOG_COLUMNS);
      if (!read.ok) expect(read.faults.length).toBeGreaterThan(0);
      else
        for (const { id, status } of read.backlog.items)
          expect(changed(changed(text, id, 'blocked'), id, status).replaceAll(/ +/g, ' ')).toBe(
            text.replaceAll(/ +/g, ' '),
          );
      const other = random();
      expect(mergeBacklogs(text, text, other, BACKLOG_COLUMNS)).toEqual({ text: other, conflicts: [] });
      mergeBacklogs(other, text, random(), BACKLOG_COLUMNS);
    }
  });

  it('takes linear time of a text that a stranger wrote', () => {
    const parts = [
      '|',
      '`',
      '\\',
      '[',
      '](',
      '| A |',
      '``` ',
      '**',
      ' ',
      '| `',
      '`|``',
      '](x.md',
      '<!--',
      '- ',
      '| a ',
    ];
    const head = '| ID | Status | Depends on |\n|---|---|---|\n';
    // Where the time grows with the square, one of these takes minutes.
    const started = process.cpuUsage();
    for (const part of parts) {
      const long = part.repeat(Math.floor(100_000 / part.length));
      for (const text of [long, `${head}| A | done | ${long}`, `${head}${`${part}\n`.repeat(5_000)}`])
        readBacklog(text, BACKLOG_COLUMNS);
    }
    const chain = Array.from({ length: 10_000 }, (_, n) => `| A${n} | done | A${(n + 1) % 10_000}, A0 |`);
    readBacklog(`${head}${chain.join('\n')}`, BACKLOG_COLUMNS);
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(15_000);
  });
});

describe('byUrgency', () => {
  it('puts P0 before P1, items without a priority last, and equal ones in the order of the file', () => {
    expect(
      byUrgency(
        itemsOf(
          '| ID | Status | Priority |\n|---|---|---|\n| A | done | |\n| B | done | P2 |\n| C | done | P0 |\n| D | done | P2 |\n| E | done | - |\n',
        ),
      ).map(({ id }) => id),
    ).toEqual(['C', 'B', 'D', 'A', 'E']);
  });
});

describe('withStatus', () => {
  it('changes one cell and keeps every other byte', () => {
    expect(changed(BACKLOG, 'TECH-6', 'done')).toBe(BACKLOG.replace('pipe | in_progress', 'pipe | done'));
    expect(changed(BACKLOG, 'TECH-7', 'blocked')).toBe(BACKLOG.replace('done | queued', 'done | blocked'));
    expect(changed(BACKLOG, 'FTR-1', 'done')).toBe(BACKLOG.replace('FTR-1 | blocked', 'FTR-1 | done'));
    const crlf = BACKLOG.replaceAll('\n', '\r\n');
    expect(changed(crlf, 'TECH-65', 'done')).toBe(crlf.replace('b` | queued', 'b` | done'));
    expect(changed(BACKLOG, 'TECH-65', 'queued')).toBe(BACKLOG);
  });

  it.each([
    ['| A | queued      |', '| A | in_progress |'],
    ['| A | queued      |', '| A | done        |', 'done'],
    ['| A | queued  |', '| A | in_progress |'],
    ['| A | queued |', '| A | in_progress |'],
    ['|A|queued|', '|A|in_progress|'],
    ['A | queued', 'A | in_progress'],
    ['| A | **queued** |', '| A | **in_progress** |'],
    ['| A | |', '| A | in_progress |'],
    ['| A ||', '| A |in_progress|'],
    ['| A | 🟢 Done! |', '| A | in_progress |'],
  ])('turns %j into %j', (row, expected, status = 'in_progress') => {
    const head = '| ID | Status |\n|---|---|\n';
    expect(changed(`${head}${row}`, 'A', status as ItemStatus)).toBe(`${head}${expected}`);
  });

  it('keeps a column that is padded to one width', () => {
    const text = '| ID | Status |\n|----|--------|\n| A  | queued |\n| B  | done   |\n';
    expect(changed(text, 'A', 'done')).toBe(text.replace('queued', 'done  '));
    expect(changed(text, 'A', 'in_progress')).toBe(text.replace('queued', 'in_progress'));
  });

  it('needs the whole id in one row, whatever the faults of others', () => {
    const text = '| ID | Status |\n|---|---|\n| A-1 | x |\n| A-12 | y |\n| B | queued |\n| B | queued |\n| C |\n';
    expect(changed(text, 'A-1', 'done')).toBe(text.replace('x', 'done'));
    expect(withStatus(text, BACKLOG_COLUMNS, 'A', 'done')).toEqual({
      ok: false,
      faults: ["The backlog has no row of the item 'A'; add it, or choose another item."],
    });
    expect(withStatus(text, BACKLOG_COLUMNS, 'B', 'done')).toEqual({
      ok: false,
      faults: ["The id 'B' is in the lines 5, 6; give each item an id of its own."],
    });
  });
});

describe('mergeBacklogs', () => {
  const base = `Intro

| ID | Title | Status | Notes |
|----|-------|--------|-------|
| A | One | queued | |
| B | Two | queued | |
| C | Three | queued | |
`;
  const merge = (ours: string, theirs: string) => mergeBacklogs(base, ours, theirs, BACKLOG_COLUMNS);
  const ours = changed(base, 'A', 'in_progress');

  it('takes changes of different cells and rows from both, and the text around from theirs', () => {
    const theirs = base
      .replace('Intro', 'A new intro')
      .replace('| A | One | queued | |', '| A | The first | queued | soon |')
      .replace('| C | Three | queued | |\n', '| D | Four | queued | new |\n| C | Three | done | |\n');
    expect(merge(ours, theirs)).toEqual({
      text: theirs.replace('first | queued', 'first | in_progress'),
      conflicts: [],
    });
  });

  it('gives ours where theirs is unchanged, and theirs where ours is', () => {
    expect(merge(ours, base)).toEqual({ text: ours, conflicts: [] });
    expect(merge(base, ours)).toEqual({ text: ours, conflicts: [] });
    expect(merge(ours, ours)).toEqual({ text: ours, conflicts: [] });
  });

  it('returns a cell that both changed, and leaves it as theirs', () => {
    const theirs = changed(changed(base, 'A', 'done'), 'B', 'done');
    expect(merge(changed(ours, 'C', 'blocked'), theirs)).toEqual({
      text: changed(theirs, 'C', 'blocked'),
      conflicts: [{ id: 'A', column: 'Status', ours: 'in_progress', theirs: 'done' }],
    });
  });

  it('finds rows by their ids in another order, with other columns and in another table', () => {
    const theirs = `## Done

| Status | Owner | ID |
|---|---|---|
| queued | Ann | B |

## Open

| ID | Status | Title |
|---|---|---|
| C | queued | Three |
| A | queued | One |
`;
    expect(merge(ours, theirs)).toEqual({ text: theirs.replace('| A | queued', '| A | in_progress'), conflicts: [] });
  });

  it('returns changes of a row that the other side removed', () => {
    const without = base.replace('| A | One | queued | |\n', '');
    expect(merge(ours, without)).toEqual({
      text: without,
      conflicts: [{ id: 'A', column: 'Status', ours: 'in_progress', theirs: null }],
    });
    expect(merge(without, ours)).toEqual({
      text: ours,
      conflicts: [{ id: 'A', column: 'Status', ours: null, theirs: 'in_progress' }],
    });
    expect(merge(base, without)).toEqual({ text: without, conflicts: [] });
    expect(merge(without, base)).toEqual({ text: without, conflicts: [] });
  });

  it('removes the last line of a file without a line end', () => {
    const table = '| ID | Status |\r\n|---|---|\r\n| A | done |\r\n| B | done |';
    const without = '| ID | Status |\r\n|---|---|\r\n| A | done |';
    expect(mergeBacklogs(table, without, table, BACKLOG_COLUMNS)).toEqual({ text: without, conflicts: [] });
  });

  it('puts new rows where they stand in ours, in the columns of theirs', () => {
    const added = base
      .replace('| A |', '| N | First | queued | |\n| A |')
      .replace('| C |', '| D | Four | queued | x |\n| E | Five | done | |\n| C |');
    expect(merge(added, base)).toEqual({ text: added, conflicts: [] });
    const theirs = '| Notes | Status | ID | Title |\n|---|---|---|---|\n| | queued | B | Two |';
    expect(merge(added, theirs)).toEqual({
      text: '| Notes | Status | ID | Title |\n|---|---|---|---|\n|  | queued | N | First |\n| | queued | B | Two |\n| x | queued | D | Four |\n|  | done | E | Five |',
      conflicts: [],
    });
  });

  it('returns a new row whose cells have no place in theirs', () => {
    const added = base.replace('| C |', '| D | Four | queued | x |\n| C |');
    const narrow = '| ID | Status |\n|---|---|\n| B | queued |\n';
    expect(merge(added, narrow)).toEqual({
      text: narrow,
      conflicts: [
        { id: 'D', column: 'Title', ours: 'Four', theirs: null },
        { id: 'D', column: 'Notes', ours: 'x', theirs: null },
      ],
    });
    expect(merge(added, 'No table').conflicts).toHaveLength(4);
  });

  it('returns the cells of a row that both added differently', () => {
    const one = base.replace('| C |', '| D | Four | queued | x |\n| C |');
    const two = base.replace('| C |', '| C |').concat('| D | Vier | queued | |\n');
    expect(merge(one, two)).toEqual({
      text: two.replace('Vier | queued | |', 'Vier | queued | x |'),
      conflicts: [{ id: 'D', column: 'Title', ours: 'Four', theirs: 'Vier' }],
    });
  });

  it('decides nothing for an id that several rows of theirs have', () => {
    const theirs = `${base}| A | Again | queued | |\n`;
    expect(merge(ours, theirs)).toEqual({
      text: theirs,
      conflicts: [{ id: 'A', column: 'Status', ours: 'in_progress', theirs: 'queued' }],
    });
  });

  it('gives every change of one side alone, in any combination', () => {
    const statuses = ['queued', 'in_progress', 'blocked', 'done'] as const;
    for (let seed = 0; seed < 200; seed += 1) {
      const { pick, below } = choices(seed);
      let [mine, theirs] = [base, base];
      const wanted: string[] = [];
      for (const id of ['A', 'B', 'C']) {
        const status = pick(statuses);
        if (below(2) === 0) mine = changed(mine, id, status);
        else theirs = changed(theirs, id, status);
        wanted.push(status);
      }
      const merged = merge(mine, theirs);
      expect(merged.conflicts).toEqual([]);
      expect(itemsOf(merged.text).map(({ status }) => status)).toEqual(wanted);
    }
  });
});
