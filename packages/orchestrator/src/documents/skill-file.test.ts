import { expect, it } from 'vitest';
import { parseSkill, skillPaths } from './skill-file.ts';

it('skills lie one folder deep in the three places, the product’s own first', () => {
  expect(
    skillPaths([
      '.agents/skills/pdf/SKILL.md',
      '.autonomous/skills/pdf/SKILL.md',
      '.claude/skills/SKILL.md',
      '.claude/skills/a/b/SKILL.md',
      '.claude/skills/release/SKILL.md',
      '.claude/skills/release/notes.md',
      'packages/x/.claude/skills/y/SKILL.md',
    ]),
  ).toEqual(['.autonomous/skills/pdf/SKILL.md', '.agents/skills/pdf/SKILL.md', '.claude/skills/release/SKILL.md']);
});

it('a skill is shown by its name and description', () => {
  const path = '.claude/skills/release/SKILL.md';
  expect(parseSkill(path, '---\nname: release-notes\ndescription: >\n  Writes\n  notes\n---\nSecret body')).toEqual({
    ok: true,
    name: 'release-notes',
    description: 'Writes notes',
  });
  expect(parseSkill(path, '---\ndescription: x\n---\n')).toMatchObject({ ok: true, name: 'release' });
  for (const text of [
    'No front matter',
    '---\nname: a b\ndescription: x\n---\n',
    '---\nname: a\n---\n',
    '---\n: [\n---\n',
  ])
    expect(parseSkill(path, text)).toMatchObject({ ok: false, notice: expect.stringContaining(path) });
});
