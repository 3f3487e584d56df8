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
    ['Sales rose in 2020.', 'Sales dropped in 2020.', 'rose', 'dropped'],
    ['The treatment improved sleep.', 'The treatment worsened sleep.', 'improved', 'worsened'],
    ['Millions are affected.', 'Thousands are affected.', 'millions', 'thousands'],
    ['Naps cause dementia.', 'Naps are associated with dementia.', 'cause', 'associated'],
    ['More than 40 patients died.', 'Fewer than 40 patients died.', 'More than 40', 'Fewer than 40'],
    ['At most 40 patients died.', 'No fewer than 40 patients died.', 'At most 40', 'fewer than 40'],
    ['All adults need it.', 'Some adults need it.', 'All adults', 'Some adults'],
    ['The bridge opened in 2018.', 'The bridge opened in 1967 and fell in 2018.', 'opened in 2018', 'opened in 1967'],
    ['Norway beat Sweden.', 'Sweden beat Norway in the ranking.', 'Norway beat Sweden', 'Sweden beat Norway'],
    [
      'Rust was influenced by Swift.',
      'Swift was influenced by Rust.',
      'Rust was influenced by Swift',
      'Swift was influenced by Rust',
    ],
    ['Merck was sued by Pfizer.', 'Merck sued Pfizer.', 'Merck was sued by Pfizer', 'Merck sued Pfizer'],
    [
      'Lua is faster than Python.',
      'Python is faster than Lua.',
      'Lua is faster than Python',
      'Python is faster than Lua',
    ],
    [
      'It is effective against the flu.',
      'It is hardly effective against the flu.',
      'effective',
      'hardly effective against',
    ],
    ['Die Brücke ist sicher.', 'Die Brücke ist nicht sicher.', 'sicher', 'nicht sicher'],
    ['El puente es seguro.', 'El puente no es seguro.', 'seguro', 'no es seguro'],
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
    ['Lua is slower than LuaJIT.', 'LuaJIT is faster than Lua.'],
    ['Merck was sued by Pfizer.', 'Pfizer sued Merck over a patent.'],
    ['The new bridge opened in 1990.', 'The old bridge opened in 1883. The new one followed in 1990.'],
    ['More than 145 were hurt.', 'Over 145 were hurt, and fewer than 20 died.'],
    ['All patients gave consent.', 'Consent was given by all patients, some of them late.'],
    ['The bridge is not safe.', 'Die Brücke ist nicht sicher.'],
    ['Awakenings increase.', 'Deep sleep falls with age, while the number of awakenings rises.'],
  ])('%j by %j', (claim, passage) => {
    expect(oppositeOf(claim, [passage])).toBeNull();
  });
});

it('reads long texts in time in proportion to their length', () => {
  const long = 'not '.repeat(100_000);
  expect(oppositeOf(long, [long])).toBeNull();
});
