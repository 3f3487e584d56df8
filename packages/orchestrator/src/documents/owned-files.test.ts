/** Paths and patterns of engine-owned files. */
import { describe, expect, it } from 'vitest';
import { ownedPathFaults, ownedPaths, writingFault } from './owned-files.ts';

describe('owned paths', () => {
  const owned = ownedPaths(['ai/backlog.md', 'ai/features/*.md', 'roadmap/**', 'docs/**/status-*.json']);

  it.each([
    'ai/backlog.md',
    'AI/Backlog.MD',
    'ai/backlog.md.',
    'ai/backlog.md/inside',
    'ai/features/TECH-6.md',
    'roadmap/roadmap.json',
    'roadmap/a/b/c',
    'docs/status-1.json',
    'docs/a/b/status-.json',
  ])('include %s', (path) => {
    expect(owned.has(path)).toBe(true);
  });

  it.each([
    'ai/backlog.mdx',
    'ai',
    'src/ai/backlog.md',
    'ai/features/a/b.md',
    'ai/features/x.txt',
    'roadmap',
    'docs/status.json',
    'other/status-1.json',
  ])('do not include %s', (path) => {
    expect(owned.has(path)).toBe(false);
  });

  it('name the folders whose place no file may take', () => {
    expect(['ai', 'AI', 'ai/features', 'roadmap', 'docs'].filter((path) => !owned.isAbove(path))).toEqual([]);
    expect(['src', 'ai/other', 'docs/a'].filter((path) => owned.isAbove(path))).toEqual([]);
  });

  it('are none without patterns', () => {
    expect(ownedPaths().has('ai/backlog.md')).toBe(false);
  });
});

describe('faults of owned paths', () => {
  it.each([
    ['/etc/passwd', 'relative to the root'],
    ['C:/backlog.md', 'relative to the root'],
    ['ai/../secret.md', 'must not lead out'],
    ['ai//backlog.md', 'empty name'],
    ['ai/', 'empty name'],
    ['', '1 to 500 characters'],
    ['**', 'first name must be written out'],
    ['*.md', 'first name must be written out'],
    ['.autonomous/specs/1.md', ".autonomous is never a workflow's"],
    ['.Autonomous/x.md', ".autonomous is never a workflow's"],
    ['ai/.git/config', 'git keeps its own files'],
    ['ai/**/x/**', 'may stand in it once'],
    ['ai/a**', 'is a name of its own'],
    [String.raw`ai\backlog.md`, 'use letters, digits'],
    ['ai/what?.md', 'use letters, digits'],
    ['ai/backlog.md ', 'ends in neither'],
    ['ai/nul.md', 'a device'],
    ['.github/workflows/ci.yml', 'run code by itself'],
    ['package.json', 'run code by itself'],
    [7, 'not a text'],
  ])('name %j', (pattern, why) => {
    expect(ownedPathFaults([pattern]).join('\n')).toContain(why);
  });

  it('are none for good paths; a list that is none, or too long, is one', () => {
    expect(ownedPathFaults(['ai/backlog.md', 'ai/features/*.md', 'roadmap/**', '.roadmap/état (1).json'])).toEqual([]);
    expect(ownedPathFaults('ai/backlog.md').join()).toContain('not a list');
    expect(ownedPathFaults(Array.from({ length: 51 }, (_, n) => `ai/${n}.md`)).join()).toContain('51 paths');
  });

  it('are found for the path of a file too, which a pattern hid', () => {
    expect(writingFault('ai/backlog.md')).toBeNull();
    expect(writingFault('ai/package.json')).toContain('run code by itself');
  });
});
