/** Specs in Markdown: header, allowed files, environment, and the log. */
import { describe, expect, it } from 'vitest';
import { allowedPaths } from '../../path-rules/allowed-files.ts';
import { choices } from './random.fixture.ts';
import { limitsOf, MAX_SPEC_CHARACTERS, readSpec, withLogEntry, withSpecStatus } from './spec-file.ts';

const SPEC = `# Tech: [TECH-069] One fresh context per spec

**Status:** queued | **Priority:** P1 | **Date:** 2026-02-02

## Why

\`\`\`md
## Allowed Files
- \`in/a/fence.ts\`
\`\`\`

## Allowed Files

**ONLY these files may be modified during implementation:**

1. \`scripts/loop.sh\` — new: the loop, called by \`other.sh\`
2. \`template/.claude/skills/autopilot/SKILL.md\` — modify
   - accept \`SPEC_ID\`
3. \`src/**/*.md\` - docs

**New files allowed:**
- \`scripts/loop.sh\`
- \`tests/*.test.ts\`, \`tests/data/\`

**FORBIDDEN:** All other files.

---

## Environment

nodejs: false
docker: false
database: false

---

## Autopilot Log

*(Filled by Autopilot during execution)*
`;

const files = (section: string) => readSpec(`# T\n\n## Allowed Files\n\n${section}\n\n## Next\n- \`next.ts\`\n`);

describe('readSpec', () => {
  it('reads title, header, files and environment', () => {
    expect(readSpec(SPEC)).toEqual({
      title: 'Tech: [TECH-069] One fresh context per spec',
      status: 'queued',
      priority: 1,
      allowedFiles: ['scripts/loop.sh', 'template/.claude/skills/autopilot/SKILL.md', 'src/**/*.md'],
      newFiles: ['scripts/loop.sh', 'tests/*.test.ts', 'tests/data'],
      forbiddenFiles: [],
      environment: { nodejs: 'false', docker: 'false', database: 'false' },
      faults: [],
    });
    expect(readSpec(`\ufeff${SPEC.replaceAll('\n', '\r\n')}`)).toEqual(readSpec(SPEC));
  });

  it('limits nothing where the section is missing', () => {
    expect(readSpec('Text\n')).toEqual({
      title: null,
      status: null,
      priority: null,
      allowedFiles: null,
      newFiles: [],
      forbiddenFiles: [],
      environment: {},
      faults: [],
    });
  });

  it.each([
    ['**Status**: done\n**Priority**: P0', 'done', 0],
    ['- **status:** `x`\n> __Priority:__ p3', null, 3],
    ['**Status:** | **Priority:** -', null, null],
    ['**Status:** in_progress\n---', 'in_progress', null],
    ['Status: queued', null, null],
    ['## Why\n**Status:** done', null, null],
  ])('reads the header %j', (header, status, priority) => {
    expect(readSpec(`# T\n\n${header}\n`)).toMatchObject({ status, priority });
  });

  it.each([
    [
      '- [ ] `a.ts` — x\n* [x] **`b.ts`**: y\n+ Modify `c.ts`, `d.ts` and `e.ts`; see `f.ts`',
      ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'],
    ],
    ['- `a.ts` (moves), `b.ts` (new) and `c.ts`: see (d) `no.ts`', ['a.ts', 'b.ts', 'c.ts']],
    [
      '- (moves) `a.ts` (to another folder) `b.ts`\n- `c.ts` (do not touch) `no.ts`\n- `d.ts` (as `no.ts`)',
      ['a.ts', 'b.ts', 'c.ts', 'd.ts'],
    ],
    ['- Backend:\n  - `a.ts`\n    - uses `b.ts`\n  - `c.ts`\n- `d.ts`', ['a.ts', 'c.ts', 'd.ts']],
    ['### Tests\n- `./a.ts`\n- `b/`\n- `c.ts:10-20`\n- `a.ts`', ['a.ts', 'b', 'c.ts']],
    ['Allowed: `a.ts`, `b.ts` — both\n\nSee: `no.ts`\n**Note:** `no.ts`', ['a.ts', 'b.ts']],
    ['- `app/[id]/page.tsx`\n- ``b`c.ts``\n- `**/x.md`\n- `*`', ['app/[id]/page.tsx', 'bc.ts', '**/x.md', '*']],
    ['- `a.ts`\n\n~~~\n- `no.ts`\n~~~\n<!-- - `no.ts` -->\n- none', ['a.ts']],
  ])('reads the files of %j', (section, expected) => {
    expect(files(section)).toMatchObject({ allowedFiles: expected, faults: [] });
  });

  it('reads tables, with the paths of the column of files or of the first cell that has one', () => {
    expect(
      files(
        `| # | File | Action | Reason |
|---|------|--------|--------|
| 1 | \`a.ts\` | modify | as \`no.ts\` |
| 2 | \`no.ts\` | keep | |
| 3 | \`b.ts\`, \`c.ts\` | modify | |

### New files to create

| Reason | Where |
|--------|-------|
| a test | \`d.ts\` |

### Files not to modify

| File |
|------|
| \`e.ts\` |
| other |

### Files to modify

| File | Why |
|---|---|
| f.ts | as \`no.ts\` |
| \`g.ts\` |`,
      ),
    ).toMatchObject({
      allowedFiles: ['a.ts', 'b.ts', 'c.ts'],
      newFiles: ['d.ts'],
      forbiddenFiles: ['e.ts'],
      faults: [
        expect.stringMatching(/^Line 28: '\| f\.ts \|.*' names no path in backticks/),
        expect.stringMatching(/^Line 29: /),
      ],
    });
  });

  it('reads new and forbidden files by their labels', () => {
    expect(
      files(
        '- `src/**`\n\n### New files allowed\n- `a.ts`\n\n**Forbidden:** `b.ts`, `c/**`\n- `d.ts`\n- anything else\n\n**Do not touch:**\n1. `e.ts`\n\nRead-only:\n* `f.ts`\n\nMore:\n- `g.ts`',
      ),
    ).toMatchObject({
      allowedFiles: ['src/**', 'g.ts'],
      newFiles: ['a.ts'],
      forbiddenFiles: ['b.ts', 'c/**', 'd.ts', 'e.ts', 'f.ts'],
      faults: [],
    });
    expect(files('- `a.ts`\n\n**New files allowed:** none')).toMatchObject({ newFiles: [] });
    expect(readSpec('# T\n\n**Allowed Files:**\n- `a.ts`\n\n# Next\n- `b.ts`\n')).toMatchObject({
      allowedFiles: ['a.ts'],
    });
    expect(readSpec('# T\n\n3. Allowed files:\n----\n\n## 3. Allowed Files (all)\n- `a.ts`\n')).toMatchObject({
      allowedFiles: ['a.ts'],
    });
  });

  it.each([
    [
      '- `/etc/passwd`',
      /^Line 5: the path '\/etc\/passwd' allows nothing: the path is absolute or contains an empty part\. Write/,
    ],
    ['- `C:/x.ts`', /'C:\/x\.ts' allows nothing: it is absolute/],
    ['- `~/.ssh`', /it is absolute/],
    ['- `src/../../x`', /the path contains \. or \.\./],
    ['- `..`', /the path contains \. or \.\./],
    [String.raw`- \`src\\a.ts\``.replaceAll('\\`', '`'), /contains a backslash/],
    ['- `.git/config`', /git keeps its own files/],
    ['- `src/a**`', /'\*\*' stands for whole folders/],
    ['- `a/**/b/**`', /'\*\*' may stand in it once/],
    ['- ``', /^Line 5: '.*' names no path/],
    ['- src/a.ts — modify', /^Line 5: '- src\/a\.ts — modify' names no path in backticks/],
    ["- don't touch `a.ts`", /^Line 5: '.*' names no path/],
    ['- see — `a.ts`', /^Line 5: '.*' names no path/],
    ['As needed.', /^Line 3: the section 'Allowed Files' names no path/],
  ])('names the fault of %j', (section, message) => {
    const { faults, allowedFiles } = files(section);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(message);
    expect(allowedFiles).toEqual([]);
  });

  it.each([
    [
      '# T\n**Status:** 🟢 done | **Priority:** high\n',
      ["Line 2: the status '🟢 done' is unknown", "Line 2: the priority 'high'"],
    ],
    [
      '## Allowed Files\n- `a`\n## Allowed Files\n- `b`\n',
      ["Line 3: the section 'Allowed Files' is there already (line 1)"],
    ],
    ['## Environment\na: 1\na: 2\n', ["Line 3: the setting 'a' is there already"]],
    ['# T\n```\n', ['Line 2: the block of code that begins here has no end']],
    ['x'.repeat(MAX_SPEC_CHARACTERS + 1), ['The spec has 500001 characters; at most 500000']],
  ])('names the faults of %.60j', (text, expected) => {
    const { faults } = readSpec(text);
    expect(faults.map((fault, index) => fault.slice(0, expected[index]?.length))).toEqual(expected);
  });

  it('reads settings in a block of code and in lists, and leaves prose out', () => {
    const { environment } = readSpec(
      '## Environment\nNeeds:\n```yaml\nnode: 24 # as CI\nname: "x y"\n```\n- **docker:** true\n- `db`: `pg`\nconstructor: 1\nurl: http://a:1\nnot this:that\n',
    );
    expect(Object.entries(environment)).toEqual([
      ['Needs', ''],
      ['node', '24'],
      ['name', 'x y'],
      ['docker', 'true'],
      ['db', 'pg'],
      ['constructor', '1'],
      ['url', 'http://a:1'],
    ]);
  });

  it('answers to any text', () => {
    const parts = [
      '## Allowed Files',
      '## Environment',
      '## Autopilot Log',
      '**Status:**',
      '**Priority:** P',
      ' queued',
      '- ',
      '1. ',
      '`',
      '``',
      '`a.ts`',
      '**',
      '|',
      '\n',
      '\r\n',
      '\r',
      ':',
      '---',
      '```',
      '<!--',
      '-->',
      '\\',
      '../',
      '\u0000',
      '\ud800',
      '**FORBIDDEN:**',
      '**New files allowed:**',
      'a: b',
      '*(Filled by Autopilot during execution)*',
    ] as const;
    for (let seed = 0; seed < 500; seed += 1) {
      const { pick, below } = choices(seed);
      const text = Array.from({ length: below(100) }, () => pick(parts)).join('');
      const spec = readSpec(text);
      limitsOf(spec);
      const done = withSpecStatus(text, 'done');
      if (done !== text) expect(readSpec(done).status).toBe('done');
      const logged = withLogEntry(text, text);
      expect(logged.length).toBeGreaterThanOrEqual(text.length - '*(Filled by Autopilot during execution)*'.length);
      expect(readSpec(withLogEntry(text, 'x')).allowedFiles).toEqual(spec.allowedFiles);
    }
  });

  it('takes linear time of a text that a stranger wrote', () => {
    const parts = [
      '`',
      '- `a` ',
      '**',
      '**a',
      '## Environment\n',
      '## Allowed Files\n',
      '- `a`\n',
      '- a\n',
      'a: ',
      ' ',
      '|',
      '#',
      '**Status:** ',
      '**Status:** |',
      '\n---\n',
      'a\n---\n',
      '*',
      'a**',
      '- [',
      '``` ',
      '- ```\n',
    ];
    const started = process.cpuUsage();
    for (const part of parts) {
      const text = `# T\n\n## Allowed Files\n${part.repeat(Math.floor(100_000 / part.length))}`;
      for (const each of [text, part.repeat(Math.floor(100_000 / part.length))]) {
        readSpec(each);
        withSpecStatus(each, 'done');
        withLogEntry(each, each);
      }
    }
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(20_000);
  });
});

describe('limits of a spec', () => {
  const may = (text: string, path: string): boolean => allowedPaths(limitsOf(readSpec(text))).has(path);
  const inList = (list: string): string => `# T\n\n## Allowed Files\n\n${list}\n`;

  it.each([
    ['scripts/loop.sh', true],
    ['scripts/loop.sh.bak', false],
    ['src/a/b.md', true],
    ['src/b.md', true],
    ['template/.claude/skills/autopilot/SKILL.md', true],
    ['tests/a.test.ts', true],
    ['tests/a/a.test.ts', false],
    ['tests/data/a/b.json', true],
    ['in/a/fence.ts', false],
    ['README.md', false],
  ])('%s: %s', (path, expected) => {
    expect(may(SPEC, path)).toBe(expected);
  });

  it('are not read without the section, which is a fault', () => {
    expect(readSpec('# T\n\n**FORBIDDEN:** `src/core.ts`\n').faults).toEqual([
      expect.stringMatching(/^Line 3: files are forbidden, and there is no section 'Allowed Files'/),
    ]);
    expect(readSpec('# T\n\n**Out of scope:** the rest\n').faults).toEqual([]);
  });

  it('are none without the section, and all files where it names no path', () => {
    expect(may('# T', 'any/file.ts')).toBe(true);
    expect(may(inList('As needed.'), 'any/file.ts')).toBe(false);
  });

  it('forbid a path by name, also where others include it', () => {
    const limited = inList('- `src/**`\n\n**FORBIDDEN:** `src/core/**`, `src/a.ts`');
    expect(['src/b.ts', 'src/a.ts', 'src/core/x/y.ts'].map((path) => may(limited, path))).toEqual([true, false, false]);
  });

  it('include by "*" the names of one folder alone', () => {
    expect(['a/x.ts', 'a/b/x.ts'].map((path) => may(inList('- `a/*`'), path))).toEqual([true, false]);
    expect(['a/x.ts', 'a/b/x.ts'].map((path) => may(inList('- `a/**`'), path))).toEqual([true, true]);
  });
});

describe('withSpecStatus', () => {
  it('changes the value in the header alone', () => {
    expect(withSpecStatus(SPEC, 'in_progress')).toBe(SPEC.replace('queued', 'in_progress'));
    expect(withSpecStatus(SPEC, 'queued')).toBe(SPEC);
    expect(withSpecStatus('# T\r\n**Status**:  🟢 done \r\n## X\r\n**Status:** a', 'blocked')).toBe(
      '# T\r\n**Status**:  blocked \r\n## X\r\n**Status:** a',
    );
    expect(withSpecStatus('# T\n\n**Status:** queued\n---\n', 'done')).toBe('# T\n\n**Status:** done\n---\n');
  });

  it.each([
    ['**Status:** | **Priority:** P1', '**Status:** done | **Priority:** P1'],
    ['**Status:**| **Priority:** P1', '**Status:** done | **Priority:** P1'],
    ['**Status:**', '**Status:** done'],
    ['**Status:** ', '**Status:** done'],
    ['**Priority:** P1 | **Status:** queued |', '**Priority:** P1 | **Status:** done |'],
  ])('fills in %j', (header, expected) => {
    expect(withSpecStatus(`# T\n${header}\n`, 'done')).toBe(`# T\n${expected}\n`);
  });

  it('leaves a spec without a status as it is', () => {
    for (const text of ['', '# T\nStatus: x\n', '# T\n```\n**Status:** a\n```\n', '# T\n## A\n**Status:** a\n'])
      expect(withSpecStatus(text, 'done')).toBe(text);
  });
});

describe('withLogEntry', () => {
  it('replaces the placeholder, then adds below', () => {
    const first = withLogEntry(SPEC, 'Attempt 1: done');
    expect(first).toBe(SPEC.replace('*(Filled by Autopilot during execution)*', '- Attempt 1: done'));
    expect(withLogEntry(first, 'Attempt 2')).toBe(first.replace('1: done\n', '1: done\n- Attempt 2\n'));
  });

  it('keeps what follows, line ends, and a missing one at the end', () => {
    expect(withLogEntry('## Autopilot Log\r\n\r\nText.\r\n\r\n---\r\n\r\n## Next\r\n', 'a')).toBe(
      '## Autopilot Log\r\n\r\nText.\r\n\r\n- a\r\n\r\n---\r\n\r\n## Next\r\n',
    );
    expect(withLogEntry('## Autopilot Log\n- a', 'b')).toBe('## Autopilot Log\n- a\n- b');
    expect(withLogEntry('## Autopilot Log', 'b')).toBe('## Autopilot Log\n\n- b');
    expect(withLogEntry('## Autopilot Log\n\n## Next\n', 'b')).toBe('## Autopilot Log\n\n- b\n\n## Next\n');
  });

  it.each([
    ['', '## Autopilot Log\n\n- a\n'],
    ['# T', '# T\n\n## Autopilot Log\n\n- a\n'],
    ['# T\r\n', '# T\r\n\r\n## Autopilot Log\r\n\r\n- a\r\n'],
    ['# T\n\n', '# T\n\n## Autopilot Log\n\n- a\n'],
    ['```\n## Autopilot Log\n```\n', '```\n## Autopilot Log\n```\n\n## Autopilot Log\n\n- a\n'],
  ])('makes the missing section in %j', (text, expected) => {
    expect(withLogEntry(text, 'a')).toBe(expected);
  });

  it.each([
    ['two\r\nlines\u2028of ## text', '- two lines of \\#\\# text'],
    ['## Allowed Files', '- \\#\\# Allowed Files'],
    ['*x* `y` [z](u) <b> a|b & c', '- \\*x\\* \\`y\\` \\[z\\](u) &lt;b> a\\|b &amp; c'],
    ['```', '- \\`\\`\\`'],
    ['- nested', '- \\- nested'],
    ['1. nested', '- 1\\. nested'],
    ['12) nested', '- 12\\) nested'],
    ['> quoted', '- \\> quoted'],
    ['---', '- \\---'],
    ['2026-02-02: done', '- 2026-02-02: done'],
    ['a\u0000\u202eb\ud800', '- a b\ufffd'],
    ['x'.repeat(2_000), `- ${'x'.repeat(999)}…`],
  ])('writes %.40j as one line that Markdown shows as it is', (entry, expected) => {
    expect(withLogEntry('## Autopilot Log\n', entry)).toBe(`## Autopilot Log\n\n${expected}\n`);
  });

  it('changes nothing for an empty entry', () => {
    expect(withLogEntry(SPEC, ' \n\u200b')).toBe(SPEC);
  });
});
