/** Assertions are counted in the languages whose tests are. */
import { expect, it } from 'vitest';
import { countAssertions } from './assertions.ts';

it.each([
  ["import assert from 'node:assert';\ntest('adds', () => assert.equal(add(1, 2), 3));\nassert(add(0, 0) === 0);", 2],
  ["import { expect } from 'vitest';\nit('expected', () => { expect(add(1, 2)).toBe(3); });", 1],
  ['await expect.soft(page).toHaveTitle(/x/);', 1],
  ["const { assert } = require('chai');\nassert.deepEqual(a, b); sum.should.equal(3);", 2],
  ["test('adds', (t) => { t.assert.strictEqual(add(1, 2), 3); t.is(1, 1); });", 2],
  ['def test_adds():\n    assert add(1, 2) == 3\n    with pytest.raises(ValueError):\n        add(None)', 2],
  ['    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)', 1],
  ['if got != 3 {\n  t.Errorf("got %d", got)\n}\nrequire.NoError(t, err)', 2],
  ['assert_eq!(add(1, 2), 3);\nassert!(true);', 2],
  ['  // assert.equal(add(1, 2), 3);\n# assert add\n', 0],
  ["test('adds', () => {});", 0],
])('counts the assertions of %j', (text, count) => {
  expect(countAssertions(text)).toBe(count);
});

it('reads a hostile line in no time', () => {
  const started = process.cpuUsage();
  countAssertions('assert'.repeat(200_000));
  countAssertions('assert '.repeat(100_000));
  countAssertions(`t.${'.a'.repeat(400_000)}`);
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(10_000);
});
