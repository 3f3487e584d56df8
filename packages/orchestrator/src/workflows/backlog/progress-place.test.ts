/** The files of the progress log, and what is written into them. */
import { expect, it } from 'vitest';
import { progressPlaceOf, withIgnoredLog, withTemplate } from './progress-place.ts';

it.each([
  ['ai/backlog.md', 'ai/diary/'],
  ['backlog.md', 'diary/'],
  ['docs/plans/todo.md', 'docs/plans/diary/'],
])('of %s are in %s', (file, folder) => {
  expect(progressPlaceOf(file)).toEqual({
    template: `${folder}autopilot-progress.md`,
    log: `${folder}autopilot-progress.log.md`,
    ignore: `${folder}.gitignore`,
  });
});

it('a template that is there stays as it is, also an empty one', () => {
  expect(withTemplate('# Mine\n')).toBe('# Mine\n');
  expect(withTemplate('')).toBe('');
  expect(withTemplate(null)).toContain('git ignores that file');
});

it.each([
  [null, '/autopilot-progress.log.md\n'],
  ['', '/autopilot-progress.log.md\n'],
  ['drafts/', 'drafts/\n/autopilot-progress.log.md\n'],
  ['drafts/\r\n', 'drafts/\r\n/autopilot-progress.log.md\r\n'],
  ['autopilot-progress.log.md\n', 'autopilot-progress.log.md\n'],
  ['*\r\n!.gitignore\r\n', '*\r\n!.gitignore\r\n'],
  ['!autopilot-progress.log.md', '!autopilot-progress.log.md'],
])('a .gitignore with %j becomes %j, and stays so', (text, expected) => {
  expect(withIgnoredLog(text)).toBe(expected);
  expect(withIgnoredLog(expected)).toBe(expected);
});
