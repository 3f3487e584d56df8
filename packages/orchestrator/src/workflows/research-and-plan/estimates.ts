/** Finds estimates of effort in time, which a plan does not have. Pure, in linear time. */

/** An amount of time: `3 weeks`, `two-day`, `1–2 days`. */
const DURATION =
  /\b(?:\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a|an|half|several|few|couple)(?: ?(?:-|–|to|or|of|a) ?\d{0,4})? ?-?(?:hours?|days?|weeks?|months?|quarters?|years?|hrs?|sprints?)\b/i;
/** A place on a calendar of work: `Week 1`, `Sprint 3`, `Day 2–4`. */
const CALENDAR = /\b(?:day|week|month|sprint|quarter) ?#?\d{1,3}\b/i;
/** Units that measure nothing but effort. */
const EFFORT_UNIT =
  /\b(?:person|man|developer|dev|engineer|staff)[- ]?(?:hour|day|week|month|year)s?\b|\bstory points?\b|\bsprints?\b/i;
/** Words that make an amount of time an estimate of work. */
const EFFORT =
  /\bestimat|\beffort\b|\btimeline|\bmilestone|\bdeadline|\bdeliver|\bdevelopment\b|\bimplement|\bto (?:build|develop|complete|finish|ship|code|write|do)\b|\b(?:work|task|step|phase|project|component) (?:will )?(?:takes?|lasts?|needs?|requires?)\b/i;
/** An amount of time in brackets, as behind a title. */
const IN_BRACKETS =
  /[([]\s?(?:~|ca\.? ?|about )?\d{1,4}(?: ?(?:-|–|to) ?\d{1,4})? ?(?:hours?|days?|weeks?|months?|h|d|w)\s?[)\]]/i;

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Sentences that estimate effort in hours, days, weeks, months or sprints. A time of the product, such as how long a session lasts, is no
 * estimate: it stands beside no word of work.
 * @param isTitle an amount of time in a title is an estimate in any case
 */
export function estimatesIn(text: string, isTitle = false): readonly string[] {
  return [...SEGMENTER.segment(text)]
    .map(({ segment }) => segment.trim())
    .filter((sentence) => {
      if (EFFORT_UNIT.test(sentence) || IN_BRACKETS.test(sentence) || CALENDAR.test(sentence)) return true;
      return DURATION.test(sentence) && (isTitle || EFFORT.test(sentence));
    });
}
