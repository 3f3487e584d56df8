import { describe, expect, it } from 'vitest';
import { withEntry, withoutEntry, withValue } from './json-edit.ts';

describe('an entry', () => {
  it.each([
    ['an empty object', '{}\n', '{\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}\n'],
    ['two spaces', '{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}\n'],
    ['tabs', '{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"x": {\n\t\t"y": [\n\t\t\t1\n\t\t]\n\t}\n}'],
    [
      'carriage returns',
      '{\r\n  "a": 1\r\n}\r\n',
      '{\r\n  "a": 1,\r\n  "x": {\r\n    "y": [\r\n      1\r\n    ]\r\n  }\r\n}\r\n',
    ],
    ['one line', '{"a":1}', '{"a":1, "x": {"y":[1]}}'],
    [
      'comments and a last comma',
      '{\n  // first\n  "a": 1, // of a\n  // end\n}\n',
      '{\n  // first\n  "a": 1, // of a\n  // end\n  "x": {\n    "y": [\n      1\n    ]\n  },\n}\n',
    ],
    [
      'a comment behind the last entry',
      '{\n  "a": 1 // of a\n}\n',
      '{\n  "a": 1, // of a\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}\n',
    ],
    ['a comment alone', '{\n  // none\n}\n', '{\n  // none\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}\n'],
    ['a bracket beside the last entry', '{\n  "a": 1}', '{\n  "a": 1,\n  "x": {\n    "y": [\n      1\n    ]\n  }\n}'],
  ])('is added in the layout of a text with %s, and can be taken out again', (_, before, after) => {
    expect(withEntry(before, [], 'x', { y: [1] })).toBe(after);
    const again = withoutEntry(after, ['x']);
    expect(again.replaceAll(/\s/g, '')).toBe(before.replaceAll(/\s/g, ''));
  });

  it.each([
    ['an empty list', '{\n  "l": []\n}\n', '{\n  "l": [\n    {\n      "n": 1\n    }\n  ]\n}\n'],
    ['a list in one line', '{\n  "l": [{"n":0}]\n}\n', '{\n  "l": [{"n":0}, {"n":1}]\n}\n'],
    ['an empty list in one line', '{"l":[],"z":1}', '{"l":[{"n":1}],"z":1}'],
    ['a list in lines', '{\n  "l": [\n    0\n  ]\n}\n', '{\n  "l": [\n    0,\n    {\n      "n": 1\n    }\n  ]\n}\n'],
  ])('is added to %s, and can be taken out again', (_, before, after) => {
    expect(withEntry(before, ['l'], null, { n: 1 })).toBe(after);
    expect(withoutEntry(after, ['l', before.includes('0') ? 1 : 0])).toBe(before);
  });

  it.each([
    ['the first', '{\n  "a": 1, // one\n  "b": 2\n}', ['a'], '{\n   // one\n  "b": 2\n}'],
    ['the middle one', '[0, 1, 2]', [1], '[0, 2]'],
    [
      'the last, with a comment behind the one before',
      '{\n  "a": 1, // one\n  "b": 2\n}',
      ['b'],
      '{\n  "a": 1 // one\n}',
    ],
    ['the only one, beside a comment', '{\n  // c\n  "a": 1\n}', ['a'], '{\n  // c\n}'],
    ['the last, before a bracket', '{\n  "a": 1, // one\n  "b": 2}', ['b'], '{\n  "a": 1 // one\n  }'],
    ['one with a comma in its text', '{"a": ",", "b": "x,y"}', ['b'], '{"a": ","}'],
  ])('is taken out as %s', (_, before, way, after) => {
    expect(withoutEntry(before, way)).toBe(after);
  });
});

it('puts a value in the place of another one', () => {
  expect(withValue('{ "a": ["b", /* c */ "d"] }', ['a', 1], 'e "f"')).toBe(
    String.raw`{ "a": ["b", /* c */ "e \"f\""] }`,
  );
});
