/**
 * Public repositories of different kinds at pinned commits, each with a small change that a scripted model makes. Nothing of
 * them is kept here: they are read from clones that the caller has.
 */

/** Text that is added to the end of a file; a file that is not there is made. */
export interface Addition {
  readonly path: string;
  readonly text: string;
}

export interface RealRepository {
  /** Name of its clone in the folder of `--from`. */
  readonly name: string;
  /** `null`: there is no such public repository; it is made by `makeManyFiles`. */
  readonly url: string | null;
  /** Full id. Empty for a repository that is made here. */
  readonly commit: string;
  readonly language: 'JavaScript' | 'TypeScript' | 'Python' | 'Go' | 'Rust';
  readonly kind: string;
  /** Documented variables of the server that differ from its defaults. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly request: string;
  readonly change: readonly Addition[];
}

export const REPOSITORIES: readonly RealRepository[] = [
  {
    name: 'bytes.js',
    url: 'https://github.com/visionmedia/bytes.js',
    commit: '9ddc13b6c66e0cb293616fba246e05db4b6cef4d',
    language: 'JavaScript',
    kind: 'tiny, npm without a lockfile',
    request: 'Add joinWords(), which joins words with single spaces.',
    change: [
      {
        path: 'words.js',
        text: "'use strict'\n\n/** Joins words with single spaces; empty ones are left out. */\nmodule.exports = function joinWords (words) {\n  return words.filter(function (word) { return word !== '' }).join(' ')\n}\n",
      },
      {
        path: 'test/words.js',
        text: "'use strict'\n\nvar assert = require('assert')\nvar joinWords = require('../words')\n\ndescribe('joinWords', function () {\n  it('leaves empty words out', function () {\n    assert.strictEqual(joinWords(['a', '', 'b']), 'a b')\n  })\n})\n",
      },
    ],
  },
  {
    name: 'commander.js',
    url: 'https://github.com/tj/commander.js',
    commit: 'ba6d13ddb4243e5913367734f8c159089ffe7834',
    language: 'JavaScript',
    kind: 'npm with a lockfile, symbolic links',
    request: 'Add joinWords(), which joins words with single spaces.',
    change: [
      {
        path: 'lib/joinWords.js',
        text: "/**\n * Joins words with single spaces; empty ones are left out.\n *\n * @param {string[]} words\n * @returns {string}\n */\nexport function joinWords(words) {\n  return words.filter((word) => word !== '').join(' ');\n}\n",
      },
      {
        path: 'tests/joinWords.test.js',
        text: "import { test } from 'node:test';\nimport assert from 'node:assert/strict';\nimport { joinWords } from '../lib/joinWords.js';\n\ntest('empty words are left out', () => {\n  assert.equal(joinWords(['a', '', 'b']), 'a b');\n});\n",
      },
    ],
  },
  {
    name: 'publint',
    url: 'https://github.com/publint/publint',
    commit: '1bb252e7b4b639ec081a17c0a76eed652b4475ab',
    language: 'JavaScript',
    kind: 'pnpm monorepo',
    request: 'Add joinWords() to the shared code of publint.',
    change: [
      {
        path: 'packages/publint/src/shared/join-words.js',
        text: "/**\n * Joins words with single spaces; empty ones are left out.\n *\n * @param {string[]} words\n */\nexport function joinWords(words) {\n  return words.filter((word) => word !== '').join(' ')\n}\n",
      },
      {
        path: 'packages/publint/tests/join-words.test.js',
        text: "import { test } from 'uvu'\nimport * as assert from 'uvu/assert'\nimport { joinWords } from '../src/shared/join-words.js'\n\ntest('empty words are left out', () => {\n  assert.is(joinWords(['a', '', 'b']), 'a b')\n})\n\ntest.run()\n",
      },
    ],
  },
  {
    name: 'redux-thunk',
    url: 'https://github.com/reduxjs/redux-thunk',
    commit: '184205d49f707c6f203269e0d39ad85824801816',
    language: 'TypeScript',
    kind: 'yarn 4',
    request: 'Add joinWords(), which joins words with single spaces.',
    change: [
      {
        path: 'src/joinWords.ts',
        text: "/** Joins words with single spaces; empty ones are left out. */\nexport function joinWords(words: readonly string[]): string {\n  return words.filter((word) => word !== '').join(' ')\n}\n",
      },
      {
        path: 'test/joinWords.test.ts',
        text: "import { joinWords } from '../src/joinWords'\n\nit('leaves empty words out', () => {\n  expect(joinWords(['a', '', 'b'])).toBe('a b')\n})\n",
      },
    ],
  },
  {
    name: 'hono',
    url: 'https://github.com/honojs/hono',
    commit: '28a9c128912de19f3fb28b00ae289c9b93f6f392',
    language: 'TypeScript',
    kind: 'bun',
    request: 'Add joinWords() to the utilities.',
    change: [
      {
        path: 'src/utils/words.ts',
        text: "/** Joins words with single spaces; empty ones are left out. */\nexport const joinWords = (words: readonly string[]): string =>\n  words.filter((word) => word !== '').join(' ')\n",
      },
      {
        path: 'src/utils/words.test.ts',
        text: "import { joinWords } from './words'\n\ndescribe('joinWords', () => {\n  it('Should leave empty words out', () => {\n    expect(joinWords(['a', '', 'b'])).toBe('a b')\n  })\n})\n",
      },
    ],
  },
  {
    name: 'itsdangerous',
    url: 'https://github.com/pallets/itsdangerous',
    commit: '672971d66a2ef9f85151e53283113f33d642dabd',
    language: 'Python',
    kind: 'pyproject.toml with uv.lock',
    request: 'Add join_words(), which joins words with single spaces.',
    change: [
      {
        path: 'src/itsdangerous/words.py',
        text: 'from __future__ import annotations\n\n\ndef join_words(words: list[str]) -> str:\n    """Join words with single spaces; empty ones are left out."""\n    return " ".join(word for word in words if word)\n',
      },
      {
        path: 'tests/test_itsdangerous/test_words.py',
        text: 'from itsdangerous.words import join_words\n\n\ndef test_empty_words_are_left_out():\n    assert join_words(["a", "", "b"]) == "a b"\n',
      },
    ],
  },
  {
    name: 'schema',
    url: 'https://github.com/keleshev/schema',
    commit: '310a1239b62f500284ce3bd91b7dabf70467f23e',
    language: 'Python',
    kind: 'requirements.txt',
    request: 'Add join_words(), which joins words with single spaces.',
    change: [
      {
        path: 'schema/words.py',
        text: 'def join_words(words):\n    """Join words with single spaces; empty ones are left out."""\n    return " ".join(word for word in words if word)\n',
      },
      {
        path: 'test_words.py',
        text: 'from schema.words import join_words\n\n\ndef test_empty_words_are_left_out():\n    assert join_words(["a", "", "b"]) == "a b"\n',
      },
    ],
  },
  {
    name: 'xmltodict',
    url: 'https://github.com/martinblech/xmltodict',
    commit: '8d7f1fdb2251b5dc3b98df447850cb8229defc32',
    language: 'Python',
    kind: 'pyproject.toml without a lockfile',
    request: 'Add join_words(), which joins words with single spaces.',
    change: [
      {
        path: 'xmltodict_words.py',
        text: 'def join_words(words):\n    """Join words with single spaces; empty ones are left out."""\n    return " ".join(word for word in words if word)\n',
      },
      {
        path: 'tests/test_words.py',
        text: 'from xmltodict_words import join_words\n\n\ndef test_empty_words_are_left_out():\n    assert join_words(["a", "", "b"]) == "a b"\n',
      },
    ],
  },
  {
    name: 'mux',
    url: 'https://github.com/gorilla/mux',
    commit: 'db9d1d0073d27a0a2d9a8c1bc52aa0af4374d265',
    language: 'Go',
    kind: 'Go module with a Makefile',
    request: 'Add joinWords(), which joins words with single spaces.',
    change: [
      {
        path: 'words.go',
        text: 'package mux\n\nimport "strings"\n\n// joinWords joins words with single spaces; runs of white space count as one.\nfunc joinWords(words []string) string {\n\treturn strings.Join(strings.Fields(strings.Join(words, " ")), " ")\n}\n',
      },
      {
        path: 'words_test.go',
        text: 'package mux\n\nimport "testing"\n\nfunc TestJoinWords(t *testing.T) {\n\tif got := joinWords([]string{"a", "", "b"}); got != "a b" {\n\t\tt.Fatalf("expected %q, got %q", "a b", got)\n\t}\n}\n',
      },
    ],
  },
  {
    name: 'heck',
    url: 'https://github.com/withoutboats/heck',
    commit: '252c1906cefefb8d13ecad7fce7b8f27ce6437e0',
    language: 'Rust',
    kind: 'crate without dependencies',
    request: 'Add an integration test for joined conversions.',
    change: [
      {
        path: 'tests/joined.rs',
        text: '//! Conversions one after the other.\nuse heck::{ToKebabCase, ToSnakeCase};\n\n#[test]\nfn kebab_of_snake() {\n    assert_eq!("TwoWords".to_snake_case().to_kebab_case(), "two-words");\n}\n',
      },
    ],
  },
  {
    name: 'many-files',
    url: null,
    commit: '',
    language: 'JavaScript',
    kind: '60,000 files, made by the script',
    request: 'Add joinWords(), which joins words with single spaces.',
    change: [
      {
        path: 'src/join-words.mjs',
        text: "/** Joins words with single spaces; empty ones are left out. */\nexport const joinWords = (words) => words.filter((word) => word !== '').join(' ');\n",
      },
      {
        path: 'test/join-words.test.mjs',
        text: "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { joinWords } from '../src/join-words.mjs';\n\ntest('leaves empty words out', () => assert.equal(joinWords(['a', '', 'b']), 'a b'));\n",
      },
    ],
  },
];
