import { expect, it } from 'vitest';
import { reorderedLines, splitDirections } from './reordered-lines.ts';
import { textWarnings } from '../text/text-warnings.ts';

it.each([
  'transfer("א", 100, 2000, "ב");',
  '("א", 100, 2000, "ב")',
  'x = א + 5',
  '["سلام", "عليكم"]',
  'if (a === "א" && 10 > 2) {}',
])('names %s as a line that some programs show in another order', (line) => {
  expect(reorderedLines(`fine()\n  ${line}\n`)).toEqual([line]);
  expect(textWarnings(line, 'in added lines').join()).toContain('in another order in added lines');
});

it.each([
  'const greeting = "שלום עולם";',
  '// הפונקציה הזאת מחזירה 5 ערכים',
  'label: "سلام" # text',
  'שלום, עולם! שנת 1999.',
])('takes %s for text in another language', (line) => {
  expect(reorderedLines(line)).toEqual([]);
});

it('sets words that are read from the right apart, and nothing else', () => {
  expect(splitDirections('f("שלום עולם", 1, "ב")')).toEqual([
    { text: 'f("', isRightToLeft: false },
    { text: 'שלום עולם', isRightToLeft: true },
    { text: '", 1, "', isRightToLeft: false },
    { text: 'ב', isRightToLeft: true },
    { text: '")', isRightToLeft: false },
  ]);
  expect(splitDirections('größe')).toEqual([{ text: 'größe', isRightToLeft: false }]);
});

it('takes time in proportion to the text', () => {
  for (const part of ['א', 'א ', '"א",1', ' ', '",']) {
    const started = process.cpuUsage();
    reorderedLines(`א${part.repeat(300_000)}`);
    expect(process.cpuUsage(started).user / 1_000, part).toBeLessThan(5_000);
  }
});
