/** Files of a topic. */
import { describe, expect, it } from 'vitest';
import { researchFields } from './research-fields.ts';
import { ownedPathsOf, topicFiles, topicSlug } from './topic-files.ts';

it('lie in one folder, named after the topic', () => {
  expect(topicFiles(topicSlug('Solid-state batteries'))).toEqual({
    folder: 'docs/research-solid-state-batteries',
    state: 'docs/research-solid-state-batteries/solid-state-batteries-state.md',
    tex: 'docs/research-solid-state-batteries/solid-state-batteries-report.tex',
    pdf: 'docs/research-solid-state-batteries/solid-state-batteries-report.pdf',
    markdown: 'docs/research-solid-state-batteries/solid-state-batteries-report.md',
    bibliography: 'docs/research-solid-state-batteries/sources.bib',
  });
  expect(ownedPathsOf('Bells')).toHaveLength(5);
});

it('differ for topics without Latin letters', () => {
  expect(topicSlug('鐘')).toMatch(/^topic-[0-9a-f]{8}$/);
  expect(topicSlug('鐘')).not.toBe(topicSlug('市場'));
});

describe('a topic', () => {
  it.each(['Bells', 'C++ compilers', '鐘', "Children's books (2024)"])('may be %j', (topic) => {
    expect(researchFields.topic.parse(topic)).toBe(topic);
  });

  it.each(['', '   ', '../secrets', 'a/b', 'a\\b', '.hidden', 'a..b', 'a\nb', 'x'.repeat(81)])(
    'is refused where it is %j',
    (topic) => {
      expect(researchFields.topic.safeParse(topic).error?.issues[0]?.message).toMatch(/A topic (is|has) a name/);
    },
  );
});
