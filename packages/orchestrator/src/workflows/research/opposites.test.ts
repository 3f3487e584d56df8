/** Claims beside passages that say the opposite. */
import { describe, expect, it } from 'vitest';
import { oppositeOf } from './opposites.ts';

describe('a claim says the opposite of its passages', () => {
  it.each([
    ['The bell has a crack.', 'The bell has no crack.', 'crack', 'no crack'],
    ['The bell was cast in 1288.', 'The bell was not cast in 1288.', 'cast', 'not cast in'],
    ['The bell was mended.', "The bell, says the keeper, wasn't ever mended.", 'mended', "wasn't ever mended"],
    ['The tower survived the fire.', 'The tower never survived a fire.', 'survived', 'never survived a'],
    ['The bell was not cast in 1288.', 'The bell was cast in 1288.', 'not cast in', ''],
    ["The bell doesn't ring.", 'The bell rings each hour.', "doesn't ring", ''],
    ['Prices rose by 3 percent.', 'Prices fell by 3 percent.', 'rose', 'fell'],
    ['It is the youngest bell.', 'It is the oldest bell.', 'youngest', 'oldest'],
    ['The council approved the plan.', 'The council rejected the plan.', 'approved', 'rejected'],
  ])('%j by %j', (claim, passage, said, heard) => {
    expect(oppositeOf(claim, [passage])).toEqual({ claim: said, passages: heard });
  });
});

describe('a claim does not say the opposite of its passages', () => {
  it.each([
    ['The bell was cast in 1288.', 'The bell, which has no crack, was cast in 1288.'],
    ['The bell was cast in 1288.', 'The bell was cast no later than 1288, in 1288 perhaps.'],
    ['The bell is old and heavy.', 'The bell is not only old but heavy.'],
    ['The bell has no crack.', 'No crack was found in the bell.'],
    ['The bell is not safe.', 'The bell is unsafe.'],
    ['Most bells were not kept.', 'Only two bells were kept.'],
    ['The bell has a crack.', 'A crack was found. The other bell has no crack.'],
    ['Prices rose, then fell.', 'Prices rose until May and fell in June.'],
    ['Prices rose by 3 percent.', 'Prices, which fell in 2019, rose by 3 percent.'],
    ['The bell was found in room 5.', 'The bell was found in room No. 5.'],
    ['The bell was lost.', 'It has been without a bell since then.'],
  ])('%j by %j', (claim, passage) => {
    expect(oppositeOf(claim, [passage])).toBeNull();
  });
});

it('reads long texts in time in proportion to their length', () => {
  const long = 'not '.repeat(100_000);
  expect(oppositeOf(long, [long])).toBeNull();
});
