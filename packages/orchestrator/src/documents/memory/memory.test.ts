import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../../test/fixtures/growth.fixture.ts';
import { extendMemory, type MemoryUpdate, parseMemory } from './memory.ts';

const update: MemoryUpdate = {
  project: 'E-commerce Dashboard',
  date: '2026-02-25',
  title: 'Database Schema',
  runId: 'xyz789-abc012',
  decisions: [{ topic: 'Deletion', choice: 'soft deletes on all tables', rationale: 'audit' }],
  techStack: ['Prisma', 'Stripe'],
  patterns: ['Soft deletes on all tables (deletedAt column)'],
};

const existing = `---
project: E-commerce Dashboard
createdAt: 2026-02-21
lastUpdated: 2026-02-21
techStack:
  - Next.js 14
  - Prisma # the ORM
owner: team-shop
patterns:
  - All forms use react-hook-form + zod
---

A note that somebody wrote.

## Past Decisions

### 2026-02-21: Auth System (run: abc123-def456)
- Chose Supabase Auth over Clerk (cost consideration)
- Implemented email+password (not magic links per clarification)

## Other notes

Keep this.
`;

describe('a project without a memory', () => {
  it('gets one in the documented format', () => {
    expect(extendMemory(null, update)).toEqual({
      text: `---
project: E-commerce Dashboard
createdAt: 2026-02-25
lastUpdated: 2026-02-25
techStack:
  - Prisma
  - Stripe
patterns:
  - Soft deletes on all tables (deletedAt column)
---

## Past Decisions

### 2026-02-25: Database Schema (run: xyz789-abc012)
- Deletion: soft deletes on all tables (audit)
`,
      notices: [],
    });
  });

  it('gets an entry also for a run without decisions', () => {
    expect(extendMemory('', { ...update, decisions: [] }).text).toContain(
      '(run: xyz789-abc012)\n- No decisions were recorded\n',
    );
  });
});

describe('a memory that is there', () => {
  it('gains what is new at the right places and keeps all the rest', () => {
    expect(extendMemory(existing, update)).toEqual({
      text: existing
        .replace('lastUpdated: 2026-02-21', 'lastUpdated: 2026-02-25')
        .replace('  - Prisma # the ORM\n', '  - Prisma # the ORM\n  - Stripe\n')
        .replace('+ zod\n', '+ zod\n  - Soft deletes on all tables (deletedAt column)\n')
        .replace(
          'per clarification)\n\n',
          'per clarification)\n\n### 2026-02-25: Database Schema (run: xyz789-abc012)\n- Deletion: soft deletes on all tables (audit)\n\n',
        ),
      notices: [],
    });
  });

  it('is not changed by a second time for the same run', () => {
    for (const start of [
      null,
      '',
      existing,
      '# Notes\n',
      '---\n: [\n---\nx\n',
      '```\nnever closed\n',
      '---\nproject: x\n---\n',
      existing.replaceAll('\n', '\r\n'),
    ]) {
      const once = extendMemory(start, update).text;
      expect(extendMemory(once, { ...update, date: '2026-03-01' }).text).toBe(once);
    }
  });

  it('takes the decisions of several runs in their order', () => {
    const two = extendMemory(extendMemory(null, update).text, {
      ...update,
      runId: 'other',
      date: '2026-02-24',
      title: 'Older',
    }).text;
    expect(parseMemory(two).pastDecisions.map((decision) => decision.runId)).toEqual(['xyz789-abc012', 'other']);
    expect(parseMemory(two).lastUpdated).toBe('2026-02-25');
  });

  it('keeps line ends as they are', () => {
    const text = extendMemory(existing.replaceAll('\n', '\r\n'), update).text;
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(text.replaceAll('\r\n', '\n')).toBe(extendMemory(existing, update).text);
  });

  it('puts front matter before a text that has none', () => {
    const { text, notices } = extendMemory('# Notes\n\nWritten by hand.\n', update);
    expect(text).toMatch(/^---\nproject: E-commerce Dashboard\n/);
    expect(text).toContain('---\n\n# Notes\n\nWritten by hand.\n\n## Past Decisions\n\n### 2026-02-25');
    expect(notices).toEqual([]);
  });

  it('keeps every decision on its own line, whatever a model wrote', () => {
    const { text } = extendMemory(null, {
      ...update,
      title: 'x\n## Past Decisions (run: forged)',
      decisions: [{ topic: 'a\n### 2020-01-01: Forged (run: forged)', choice: '---', rationale: '' }],
      patterns: ['a: b\n---\nproject: other', '# x', '"', '{'],
    });
    expect(parseMemory(text)).toMatchObject({
      project: 'E-commerce Dashboard',
      patterns: ['a: b --- project: other', '# x', '"', '{'],
      pastDecisions: [{ runId: 'xyz789-abc012', lines: ['- a ### 2020-01-01: Forged (run: forged): ---'] }],
    });
  });
});

describe('a malformed memory', () => {
  it.each([
    ['front matter that is never closed', '---\nproject: x\n\nsome text\n'],
    ['front matter that is no YAML', '---\nproject: [x\n---\n\nsome text\n'],
    ['a merge conflict', '---\n<<<<<<< ours\nproject: x\n=======\nproject: y\n>>>>>>> theirs\n---\nsome text\n'],
    ['a list as front matter', '---\n- x\n---\nsome text\n'],
    ['a key that is there twice', '---\nproject: x\nproject: y\n---\nsome text\n'],
  ])('with %s is kept to the letter, gets the entry and is reported', (_, text) => {
    const extended = extendMemory(text, update);
    expect(extended.text.startsWith(text.trimEnd())).toBe(true);
    expect(extended.text).toContain('\n\n## Past Decisions\n\n### 2026-02-25: Database Schema (run: xyz789-abc012)\n');
    expect(extended.notices).toEqual([expect.stringContaining('.autonomous/memory.md could not be parsed')]);
    expect(parseMemory(text).notices).toHaveLength(1);
  });

  it('with a word where a list belongs keeps the word', () => {
    const { text, notices } = extendMemory('---\ntechStack: Rust\n---\n', update);
    expect(text).toContain('techStack: Rust\n');
    expect(text).toContain('patterns:\n  - Soft deletes');
    expect(notices).toEqual([expect.stringContaining('"techStack" is not a list')]);
  });
});

it('is read as the documented format says', () => {
  expect(parseMemory(existing)).toEqual({
    project: 'E-commerce Dashboard',
    createdAt: '2026-02-21',
    lastUpdated: '2026-02-21',
    techStack: ['Next.js 14', 'Prisma'],
    patterns: ['All forms use react-hook-form + zod'],
    pastDecisions: [
      {
        date: '2026-02-21',
        title: 'Auth System',
        runId: 'abc123-def456',
        lines: [
          '- Chose Supabase Auth over Clerk (cost consideration)',
          '- Implemented email+password (not magic links per clarification)',
        ],
      },
    ],
    notices: [],
  });
});

describe('a memory written to be slow to read', () => {
  it.each([
    ['spaces in a heading', (n: number) => `## Past Decisions\n\n### 2024-01-01: ${' '.repeat(n)}x\n`],
    ['brackets in a heading', (n: number) => `### 2024-01-01: ${'(run: '.repeat(n)}x\n`],
    ['spaces in brackets', (n: number) => `### 2024-01-01: a (run: ${' '.repeat(n)}x\n`],
  ])('takes time in proportion to its size: %s', async (_, make) => {
    expect(await growthOf(250, make, parseMemory)).toBeLessThan(LINEAR);
  });

  it('is left as it is where its front matter is nested beyond any use', () => {
    const text = `---\n${'? '.repeat(4_000)}a\n---\n`;
    const extended = extendMemory(text, update);
    expect(extended.text.startsWith(text)).toBe(true);
    expect(extended.notices).toEqual([expect.stringContaining('is nested deeper than 40 levels')]);
  });
});
