/** Claims beside passages that do not say them. */
import { expect, it } from 'vitest';
import { unsaidWords } from './unsaid-words.ts';

it.each([
  [
    'Sodium cells are cheaper than lithium ones.',
    'The market is held on Saturdays next to the hall.',
    'sodium cells cheaper lithium ones',
  ],
  ['It is the oldest bell of the country.', 'The bell of the country was cast in bronze.', 'oldest'],
  ['The bell is the only one that rings.', 'The bell of bronze rings at noon.', 'only'],
])('says what the passages do not: %j by %j', (claim, passage, words) => {
  expect(unsaidWords(claim, [passage])?.join(' ')).toBe(words);
});

it.each([
  ['The council decided on a new tower.', 'A decision of the council is known: the tower is to be built anew.'],
  ['The oldest bell hangs in the forest.', 'The bell in the forest is older than any other.'],
  ['The bell was cast in 1288.', 'Die Glocke wurde im Jahr 1288 gegossen.'],
  ['The tower of Aldermoor burned down.', 'In Aldermoor a fire took all of it.'],
  ['It rang.', 'The market is held on Saturdays.'],
])('says what the passages say: %j by %j', (claim, passage) => {
  expect(unsaidWords(claim, [passage])).toBeNull();
});
