/**
 * Assertions in the text of a test, counted by their words: enough to say that a test asserts less than it did, in any of the
 * languages whose tests are counted. It does not say what an assertion is worth.
 */

/** After the word: a macro's `!`, and names joined by dots, before the call. */
const CALLED = /(?:!|(?:\.\w{1,60}){1,4})?[ \t]*\(/y;
/** Of the context that `node:test`, AVA, tap and Go give a test. */
const OF_THE_CONTEXT =
  /\b(?:t|b)\.(?:assert\.\w{1,60}|is|not|true|false|truthy|falsy|ok|notOk|equal|notEqual|same|like|deepEqual|throws|throwsAsync|regex|match|Error|Errorf|Fatal|Fatalf|Fail|FailNow)[ \t]*\(/g;

/** Calls of assertions, and Python's statement; what a line's own comment holds does not count. */
export function countAssertions(text: string): number {
  return text
    .split(/\r\n|\r|\n/)
    .filter((line) => !/^\s*(?:\/\/|#|\*|\/\*)/.test(line))
    .reduce((sum, line) => sum + countIn(line), 0);
}

/** The same of each text, by its key. */
export function countAllAssertions(texts: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  return new Map([...texts].map(([key, text]) => [key, countAssertions(text)]));
}

function countIn(line: string): number {
  const isStatement = /^\s*assert\b(?!\s*[(.!])/.test(line) && !/^\s*assert\s*=/.test(line);
  return (isStatement ? 1 : 0) + called(line) + [...line.matchAll(OF_THE_CONTEXT)].length;
}

function called(line: string): number {
  let count = 0;
  for (const { 0: word, index } of line.matchAll(/\w+/g)) {
    if (!/assert|expect|^(?:should|raises|require)$/i.test(word) || isOfTheContext(line, index)) continue;
    CALLED.lastIndex = index + word.length;
    // `require('chai')` loads a module; `require.NoError(t, err)` of Go asserts.
    const isAssertion = word === 'require' ? /^\.[A-Z]/.test(line.slice(index + word.length)) : true;
    if (isAssertion && CALLED.test(line)) count += 1;
  }
  return count;
}

/** `t.assert.equal(` is counted as the context's. */
function isOfTheContext(line: string, index: number): boolean {
  return /(?:^|\W)[tb]\.$/.test(line.slice(Math.max(0, index - 3), index));
}
