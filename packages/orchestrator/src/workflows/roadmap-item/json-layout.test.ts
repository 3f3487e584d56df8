import { describe, expect, it } from 'vitest';
import { repeatedKeys, writeLike } from './json-layout.ts';

const parse = (text: string): unknown => JSON.parse(text.replace(/^\ufeff/, ''));

const FILE = `{
    "name": "Shop",
    "labels": ["a",  "b"],
    "items": [
        { "id": "one", "size": 1.0 },
        {
            "id": "two",
            "tags": []
        }
    ]
}
`;

describe('writeLike', () => {
  it.each([
    ['four spaces', FILE],
    ['tabs', FILE.replaceAll('    ', '\t')],
    ['lines of Windows', FILE.replaceAll('\n', '\r\n')],
    ['no newline at its end', FILE.trimEnd()],
    ['several newlines at its end', `\n${FILE}\n\n`],
    ['a byte order mark', `\ufeff${FILE}`],
    ['one line', '{"a":1,"b":[1,2,{"c":null}]}'],
    ['figures as they were written', '{"a": 1e3, "b": 12345678901234567890}'],
  ])('gives a text with %s again where nothing changed', (_, text) => {
    expect(writeLike(parse(text), text)).toBe(text);
  });

  it('changes only the lines of what changed', () => {
    const value = {
      name: 'Shop',
      labels: ['a', 'b'],
      items: [
        { id: 'one', size: 2, state: { phase: 'testing' } },
        { id: 'two', tags: ['x'], state: { notes: [] } },
      ],
    };
    expect(writeLike(value, FILE)).toBe(
      FILE.replace('"size": 1.0 }', '"size": 2, "state": {"phase": "testing"} }').replace(
        '"tags": []',
        '"tags": [\n                "x"\n            ],\n            "state": {\n                "notes": []\n            }',
      ),
    );
  });

  it('keeps the order of the fields in the text, with new ones at the end', () => {
    expect(writeLike({ c: 3, b: 1, a: 1 }, '{\n  "a": 1,\n  "b": 2\n}\n')).toBe(
      '{\n  "a": 1,\n  "b": 1,\n  "c": 3\n}\n',
    );
  });

  it('takes a row for the same one by its id, wherever it stands', () => {
    const value = {
      name: 'Shop',
      labels: ['a', 'b'],
      items: [
        { id: 'two', tags: [] },
        { id: 'one', size: 1 },
      ],
    };
    expect(writeLike(value, FILE)).toContain('        { "id": "one", "size": 1.0 }\n    ]');
  });

  it('leaves out fields and rows that are gone', () => {
    expect(writeLike({ name: undefined, labels: [], items: [] }, FILE)).toBe(
      '{\n    "labels": [],\n    "items": []\n}\n',
    );
  });

  it.each([
    ['a compact text', '{"a":1}', { a: 2, b: [1] }, '{"a":2,"b":[1]}'],
    ['no text', null, { a: [1], b: {} }, '{\n  "a": [\n    1\n  ],\n  "b": {}\n}\n'],
    ['an empty object', '{}\n', { a: [1] }, '{\n  "a": [\n    1\n  ]\n}\n'],
    ['another kind of value', '[1]\n', { a: 1 }, '{"a": 1}\n'],
  ])('writes in the way of %s', (_, source, value, expected) => {
    expect(writeLike(value, source)).toBe(expected);
  });

  it('gives JSON of exactly the value, whatever changed', () => {
    const random = seeded(7);
    for (let round = 0; round < 400; round += 1) {
      const [before, after] = [valueOf(random, 0), valueOf(random, 0)];
      const source = JSON.stringify(before, null, [0, 2, '\t'][round % 3]);
      expect(JSON.parse(writeLike(after, source))).toEqual(after);
      expect(writeLike(before, source)).toBe(source);
    }
  });
});

it('repeatedKeys names the fields that stand twice in one object, with the way to it', () => {
  expect(repeatedKeys('{"a": 1, "b": [{"c": 1, "d": 2, "c": {"e": 1, "e": 2, "e": 3}}], "x": {"a": 1}}')).toEqual([
    ['b', 0, 'c'],
    ['b', 0, 'c', 'e'],
  ]);
});

/** A repeatable row of numbers from 0 to below 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function valueOf(random: () => number, depth: number): unknown {
  const kind = Math.floor(random() * (depth > 3 ? 4 : 7));
  const keys = ['id', 'b', '1', 'items'].filter(() => random() < 0.6);
  if (kind === 0) return null;
  if (kind === 1) return Math.floor(random() * 3);
  if (kind === 2) return ['x', 'y"\n', '\u2028'][Math.floor(random() * 3)];
  if (kind === 3) return random() < 0.5;
  if (kind === 4) return keys.map(() => valueOf(random, depth + 1));
  return Object.fromEntries(keys.map((key) => [key, valueOf(random, depth + 1)]));
}
