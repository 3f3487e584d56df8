/** A long research run for the bench: a web of one page for each agent and round, and a script in which every finding has its full size. */
import { type Answer, anArticle, respond } from '../../src/web-pages/local-web.fixture.ts';
import type { Script, ScriptCall } from '../../src/models/script.ts';
import { LONGEST_TEXTS, MOST_OPEN_QUESTIONS } from '../../src/workflows/research/report/report-texts.ts';

export interface LongResearch {
  readonly rounds: number;
  readonly researchers: number;
  /** Findings that each agent reports in each round, 1 to 6. */
  readonly findings: number;
}

/** Words of all that one agent reports in one round. The role takes 500. */
const REPORT_WORDS = 480;
const SUMMARY_WORDS = 90;
const QUESTION_WORDS = 12;
/** Words of a passage beside those of its claim. */
const PASSAGE_WORDS = 25;
const THEMES = 12;

interface Note {
  readonly claim: string;
  readonly quotes: readonly string[];
}

/** Pages by path. */
export function pagesOf(size: LongResearch): Record<string, Answer> {
  return Object.fromEntries(
    placesOf(size).map(({ path, notes }) => [
      path,
      respond(
        'text/html',
        anArticle(
          path,
          notes.flatMap(({ quotes }) => quotes),
        ),
      ),
    ]),
  );
}

/** @param origin of the web, without a slash at its end */
export function scriptOf(size: LongResearch, origin: string): Script {
  const places = placesOf(size);
  return {
    name: 'long-research',
    roles: {
      researcher: places.map((place) => researcherCall(place, origin)),
      synthesiser: Array.from({ length: size.rounds + 1 }, (_, round) => synthesiserCall(size, round)),
    },
  };
}

interface Place {
  readonly round: number;
  readonly agent: number;
  readonly path: string;
  readonly notes: readonly Note[];
}

/** One page for each agent and round, in the order in which the agents are called. */
function placesOf({ rounds, researchers, findings }: LongResearch): readonly Place[] {
  const claimWords = Math.min(75, Math.floor((REPORT_WORDS - SUMMARY_WORDS - 2 * (QUESTION_WORDS + 20)) / findings));
  return Array.from({ length: rounds * researchers }, (_, index) => {
    const [round, agent] = [1 + Math.floor(index / researchers), 1 + (index % researchers)];
    return {
      round,
      agent,
      path: `/round-${round}-agent-${agent}`,
      notes: Array.from({ length: findings }, (_, finding): Note => {
        const seed = `${round} ${agent} ${finding}`;
        const claim = sentence(seed, claimWords);
        return { claim, quotes: [claim, sentence(`${seed} more`, claimWords + PASSAGE_WORDS)] };
      }),
    };
  });
}

function researcherCall({ round, agent, path, notes }: Place, origin: string): ScriptCall {
  const address = `${origin}${path}`;
  const report = {
    summary: sentence(`summary ${round} ${agent}`, SUMMARY_WORDS),
    findings: notes.map(({ claim, quotes }) => ({
      claim,
      evidence: quotes.map((quote) => ({ quote, address })),
      confidence: 'medium',
    })),
    sources: [{ address, credibility: 'medium', why: sentence(`why ${round} ${agent}`, 20) }],
    contradictions: [sentence(`against ${round} ${agent}`, 20), sentence(`against too ${round} ${agent}`, 20)],
    followUps: [
      sentence(`left ${round} ${agent}`, QUESTION_WORDS),
      sentence(`left too ${round} ${agent}`, QUESTION_WORDS),
    ],
  };
  return {
    turns: [{ tools: [{ name: 'fetch', input: { address } }] }, { tools: [{ name: 'finish', input: report }] }],
  };
}

/** Says in each text what the rounds so far have found, the newest last, until the text has its full length. */
function synthesiserCall(size: LongResearch, round: number): ScriptCall {
  const { rounds, researchers } = size;
  const told = (label: string, most: number) =>
    lastOf(
      Array.from({ length: round }, (_, index) => roundText(size, index + 1, label)),
      most,
    );
  const theme = ((round - 1) % THEMES) + 1;
  const update = {
    ...(round === 0
      ? {}
      : {
          executiveSummary: told('summary', LONGEST_TEXTS.executiveSummary),
          background: told('background', LONGEST_TEXTS.background),
          analysis: told('analysis', LONGEST_TEXTS.analysis),
        }),
    themes:
      round === 0
        ? []
        : [
            {
              id: round <= THEMES ? null : `T${theme}`,
              title: sentence(`theme ${theme}`, 8).slice(0, 110),
              text: lastOf(
                Array.from({ length: Math.ceil(round / THEMES) }, (_, index) => index * THEMES + theme).flatMap(
                  (each) => [roundText(size, each, 'theme'), roundText(size, each, 'theme too')],
                ),
                LONGEST_TEXTS.theme,
              ),
              findings: idsOf(size, round),
            },
          ],
    conflicts: round === 0 ? [] : [conflictOf(size, round)],
    openQuestions: Array.from({ length: Math.min(MOST_OPEN_QUESTIONS, 4 + 2 * round) }, (_, index) =>
      sentence(`open ${round} ${index}`, 14),
    ),
    directions:
      round === rounds
        ? []
        : Array.from({ length: researchers }, (_, index) => ({
            kind: 'web',
            question: sentence(`ask ${round} ${index}`, 20),
          })),
  };
  return { turns: [{ tools: [{ name: 'finish', input: update }] }] };
}

function conflictOf(size: LongResearch, round: number) {
  const [one = 'F1', other = 'F1'] = [idsOf(size, round).at(0), idsOf(size, round).at(-1)];
  return {
    id: null,
    about: sentence(`conflict ${round}`, 10),
    positions: [
      { text: sentence(`one ${round}`, 25), findings: [one] },
      { text: sentence(`other ${round}`, 25), findings: [other] },
    ],
    resolution: null,
  };
}

/** Ids that the findings of a round get. */
function idsOf({ researchers, findings }: LongResearch, round: number): string[] {
  const before = (round - 1) * researchers * findings;
  return Array.from({ length: Math.min(40, researchers * findings) }, (_, index) => `F${before + index + 1}`);
}

/** A sentence for each agent of a round. */
function roundText(size: LongResearch, round: number, label: string): string {
  const ids = idsOf(size, round);
  return Array.from({ length: size.researchers }, (_, index) => {
    const id = ids[index * size.findings] ?? ids[0] ?? '';
    return `${sentence(`${label} ${round} ${index}`, 30).slice(0, -1)} [${id}].`;
  }).join(' ');
}

/** The last of the texts that have room together. */
function lastOf(texts: readonly string[], most: number): string {
  let room = most;
  const kept = texts.toReversed().filter((text) => (room -= text.length + 2) >= 0);
  return kept.toReversed().join('\n\n');
}

const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu'.split(' ');

/** Words of the subject, by which a theme is known to be touched by a claim. */
const SUBJECT = 'about storage in batteries';

/** Words that no other sentence has, so that each claim is a new one, after those of the subject. */
function sentence(seed: string, words: number): string {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 16_777_619) >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % SYLLABLES.length;
  };
  const text = Array.from(
    { length: Math.max(1, words - 5) },
    () => `${SYLLABLES[next()]}${SYLLABLES[next()]}${SYLLABLES[next()]}`,
  ).join(' ');
  return `The ${SUBJECT} ${text}.`;
}
