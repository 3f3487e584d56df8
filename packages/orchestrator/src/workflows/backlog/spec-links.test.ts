/** Paths of specs in rows of a backlog, and the spec of an item. */
import { describe, expect, it } from 'vitest';
import { findSpec, pathsInCell } from './spec-links.ts';

describe('pathsInCell', () => {
  it.each([
    ['[TECH-69.md](features/TECH-69.md)', ['features/TECH-69.md']],
    ['[a](<features/two words.md>) and [b](x/b%20c.md#part "title")', ['features/two words.md', 'x/b c.md']],
    ['`ai/features/TECH-69.md`', ['ai/features/TECH-69.md']],
    ['see ../x.md, or y.MD; y.MD', ['../x.md', 'y.MD']],
    ['[x](https://example.com/a.md) //host/a.md mailto:a.md', []],
    ['[x](%E0%A4%A.md)', ['%E0%A4%A.md']],
    ['.md a.mdx md', []],
    ['', []],
  ])('reads %j', (raw, expected) => {
    expect(pathsInCell(raw)).toEqual(expected);
  });
});

describe('findSpec', () => {
  const specs = [
    { path: 'ai/features/TECH-65-other.md', title: 'Tech: [TECH-65] Other, after TECH-6' },
    { path: 'ai/features/TECH-6-loop.md', title: null },
    { path: 'ai/features/TECH-7.1.md', title: null },
    { path: 'ai/features/unnamed.md', title: 'Tech: [TECH-8] Named inside' },
    { path: 'ai/features/TECH-9-a.md', title: 'Tech: [TECH-9] A' },
    { path: 'ai/features/TECH-9-b.md', title: 'Notes on TECH-9' },
    { path: 'ai/features/TECH-10-a.md', title: null },
    { path: 'ai/features/TECH-10-b.md', title: null },
    { path: 'ai/features/BUG-83/BUG-83-01.md', title: null },
    { path: 'ai/features/BUG-83/BUG-83.md', title: null },
    { path: 'docs/spec.md', title: null },
  ];
  const found = (id: string, specPath: string | null = null) => findSpec({ id, specPath }, 'ai/backlog.md', specs);

  it.each([
    ['X-1', 'features/TECH-65-other.md', 'ai/features/TECH-65-other.md'],
    ['X-1', './features/../features/unnamed.md', 'ai/features/unnamed.md'],
    ['X-1', 'ai/features/unnamed.md', 'ai/features/unnamed.md'],
    ['X-1', '/docs/spec.md', 'docs/spec.md'],
    ['X-1', '../docs/spec.md', 'docs/spec.md'],
    ['TECH-6', null, 'ai/features/TECH-6-loop.md'],
    ['TECH-6', 'features/moved.md', 'ai/features/TECH-6-loop.md'],
    ['BUG-83', null, 'ai/features/BUG-83/BUG-83.md'],
    ['BUG-83-01', null, 'ai/features/BUG-83/BUG-83-01.md'],
    ['TECH-8', null, 'ai/features/unnamed.md'],
    ['TECH-9', null, 'ai/features/TECH-9-a.md'],
  ])('finds that of %s with the path %j', (id, specPath, path) => {
    expect(found(id, specPath)).toEqual({ kind: 'found', path });
  });

  it.each(['TECH', 'TECH-7', 'TECH-1'])('matches ids whole: there is no spec of %s', (id) => {
    expect(found(id)).toMatchObject({
      kind: 'missing',
      message: expect.stringContaining(`Item ${id} has no spec. Link`),
    });
  });

  it('names a path that leads to no spec', () => {
    expect(found('X-1', '../../etc/x.md')).toEqual({
      kind: 'missing',
      message:
        "Item X-1 has no spec. Its row names '../../etc/x.md', which is not there. Link the spec in its row, or call the file 'X-1-title.md'.",
    });
  });

  it('takes no path that leads out of the repository and back', () => {
    expect(found('X-1', '../../docs/spec.md')).toMatchObject({ kind: 'missing' });
  });

  it('decides nothing between several', () => {
    expect(found('TECH-10')).toMatchObject({
      kind: 'ambiguous',
      paths: ['ai/features/TECH-10-a.md', 'ai/features/TECH-10-b.md'],
    });
  });
});
