/**
 * Title and body of a run's pull request. What agents and people wrote mentions nobody and closes no issue there. Pure; texts
 * given here must be free of secrets already.
 */
import { moneyText, type RunView, totalSpending } from '@autonomous/shared';
import { outcomeText, testCountText } from '@autonomous/shared/presentation';
import { code, inline, table } from './quoted-markdown.ts';

export interface PullRequestText {
  readonly title: string;
  readonly body: string;
}

export interface PullRequestContent {
  readonly view: RunView;
  /** All runs below it, which did a part of the work. */
  readonly childRuns: readonly RunView[];
  readonly title: string;
  /** Markdown of the plan, without its front matter; `null` where the run has none. */
  readonly document: string | null;
  readonly commit: string;
  /** The repository's own template for pull requests; `null` where it has none. */
  readonly template: string | null;
}

/** Characters of a body that the forge takes, with room for what it counts otherwise. */
const MAX_BODY = 60_000;
const MAX_TITLE = 200;
const MAX_REQUEST = 5_000;
const MAX_PLAN = 30_000;
/** Characters of a list or table, so that each section has its place whatever stands in the others. */
const MAX_SECTION = 6_000;
const MAX_TEMPLATE = 8_000;
/** Characters of a body with what people wrote into it. */
const MAX_CHANGED_BODY = 65_000;
/** Stand around the part that the server writes. What people write before and after it stays. */
const OWN_BEGIN = '<!-- Written by the server, which replaces it after each push. Write above or below of it. -->';
const OWN_END = '<!-- End of what the server writes. -->';
/** Entries of a list. */
const MOST_LISTED = 30;

export function renderPullRequest(content: PullRequestContent): PullRequestText {
  const { view, document, template } = content;
  const below = template === null ? '' : `\n\n---\n\n${clipped(template.trim(), MAX_TEMPLATE)}`;
  const request = section('Request', fitting(view.originalRequest, MAX_REQUEST, quoted));
  const ownSections = [
    section('Checks', checks(view)),
    listSection('Changes that a person has seen', concerns(view)),
    listSection('Questions and answers', answers(view)),
    listSection('Decisions', decisions(view)),
    section('How to reproduce', reproduction(content)),
    section('Run', run(content)),
  ].filter((part) => part !== null);
  const room = MAX_BODY - [below, request, ...ownSections].join('\n\n').length;
  const plan = document === null ? [] : [section('Plan', fitting(document.trim(), Math.min(MAX_PLAN, room), harmless))];
  const own = withoutMarks([request, ...plan, ...ownSections].join('\n\n'));
  return { title: titleOf(content), body: `${OWN_BEGIN}\n\n${own}\n\n${OWN_END}${below}\n` };
}

/**
 * The body that an open pull request gets: the server's part is replaced, and all that people wrote around it stays. It is put
 * below of a body that does not have such a part.
 * @param there body as it is now
 * @param rendered body from `renderPullRequest`
 * @returns `null` where both together are longer than the forge takes
 */
export function withOwnPart(there: string, rendered: string): string | null {
  const own = partsOf(rendered)?.own ?? rendered;
  const found = partsOf(there);
  const above = there.trim() === '' ? '' : `${there.trimEnd()}\n\n---\n\n`;
  const body = found === null ? `${above}${rendered}` : `${found.above}${own}${found.below}`;
  return body.length > MAX_CHANGED_BODY ? null : body;
}

/** `null` for a body without the server's part. What people write may have its marks, and may lack one. */
function partsOf(body: string): { readonly above: string; readonly own: string; readonly below: string } | null {
  const first = body.indexOf(OWN_BEGIN);
  const end = first < 0 ? -1 : body.indexOf(OWN_END, first);
  if (end < 0) return null;
  const begin = body.lastIndexOf(OWN_BEGIN, end);
  const after = end + OWN_END.length;
  return { above: body.slice(0, begin), own: body.slice(begin, after), below: body.slice(after) };
}

/** Within the server's part nothing looks like its end. */
function withoutMarks(text: string): string {
  return [OWN_BEGIN, OWN_END].reduce((left, mark) => left.replaceAll(mark, mark.replace('<!--', '<! --')), text);
}

/**
 * Foreign Markdown in which the forge sees no mention, no issue and no closing word: an empty comment stands after each sign
 * that would begin one. It defines no link or footnote, and its headings are two levels down. Code is left as it is, since
 * nothing in it acts.
 */
export function harmless(markdown: string): string {
  const shown: string[] = [];
  let paragraph: string[] = [];
  let fence: Fence | null = null;
  const end = (): void => {
    shown.push(...harmlessParagraph(paragraph).map(lowered));
    paragraph = [];
  };
  for (const line of markdown.split(/\r\n|[\n\r]/)) {
    if (fence !== null) {
      const spaces = /^ {0,3}/.exec(line)?.[0].length ?? 0;
      const inside = line.slice(Math.min(spaces, fence.indent));
      const marker = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(inside)?.[1];
      const isEnd = marker?.startsWith(fence.marker) === true;
      shown.push(isEnd ? (marker ?? '') : inside);
      if (isEnd) fence = null;
      continue;
    }
    // With a backtick behind it, it is code within the line.
    const [opening = '', indent = '', marker = ''] = /^( {0,3})(`{3,}|~{3,})/.exec(line) ?? [];
    if (opening === '' || (marker.startsWith('`') && line.includes('`', opening.length))) {
      paragraph.push(line);
      if (/^[ \t]*$/.test(line)) end();
      continue;
    }
    end();
    // Without its indent it stands in no list, whose end would be its own.
    shown.push(line.slice(indent.length));
    fence = { marker, indent: indent.length };
  }
  end();
  if (fence !== null) shown.push(fence.marker);
  return shown.join('\n');
}

interface Fence {
  readonly marker: string;
  /** Most blanks that are taken from the beginning of each line. */
  readonly indent: number;
}

const BREAK = '<!-- -->';
/** For a title, which has no comments. */
const ZERO_WIDTH = '\u200B';

/** Begin lists and quotes. */
const CONTAINERS = /^(?:[ \t>]|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))*/;
/** Makes a heading of the line above. */
const UNDERLINE = /^([ \t>]*)(?==+[ \t]*$|-+[ \t]*$)/;

function harmlessParagraph(lines: readonly string[]): readonly string[] {
  // A definition may have its colon in a later line, and it takes backticks.
  const mayDefine = lines.some((line) => line.replace(CONTAINERS, '').startsWith('['));
  if (mayDefine && lines.some((line) => line.includes(']:')))
    return lines.map((line) => defused(line).replaceAll(']:', ']\\:'));
  const inParts = lines.map(partsOfLine);
  const isSure = inParts.every((parts) => parts !== null);
  return isSure ? inParts.map((parts) => parts.map(shownPart).join('')) : lines.map(defused);
}

/** Below a section of the body nothing looks like another one. */
function lowered(line: string, index: number): string {
  if (index > 0 && UNDERLINE.test(line)) return line.replace(UNDERLINE, '$1\\');
  const [before = ''] = CONTAINERS.exec(line) ?? [];
  return (
    before +
    line.slice(before.length).replace(/^#{1,6}(?=[ \t]|$)/, (signs) => '#'.repeat(Math.min(6, signs.length + 2)))
  );
}

interface LinePart {
  readonly text: string;
  readonly isCode: boolean;
}

const PLAIN_LINK = /\]\([\w./:#?=&%~+-]*\)/g;

/** Begin an address, which takes all that follows it without a space, also a backtick. */
const ADDRESS = /:\/\/|www\.|mailto:|xmpp:/i;

/**
 * Code within a line begins with a run of backticks and ends with the next run of the same length.
 * @returns `null` where it depends on what stands around: by an escape, an open end, a border of a table, or an address
 */
function partsOfLine(line: string): readonly LinePart[] | null {
  if (line.includes('\\`') || /\][([]/.test(line.replaceAll(PLAIN_LINK, ']'))) return null;
  const runs = [...line.matchAll(/`+/g)];
  const nextSame: (number | undefined)[] = [];
  const seen = new Map<number, number>();
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const length = runs[index]?.[0].length ?? 0;
    nextSame[index] = seen.get(length);
    seen.set(length, index);
  }
  const parts: LinePart[] = [];
  let at = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const close = nextSame[index];
    const [open, end] = [runs[index], close === undefined ? undefined : runs[close]];
    if (close === undefined || open === undefined || end === undefined) return null;
    const endsAt = end.index + end[0].length;
    const text = line.slice(open.index, endsAt);
    const before = line.slice(at, open.index);
    if (text.includes('|') || ADDRESS.test(before.split(/[ \t\v\f]/).at(-1) ?? '')) return null;
    parts.push({ text: before, isCode: false }, { text, isCode: true });
    at = endsAt;
    index = close;
  }
  return [...parts, { text: line.slice(at), isCode: false }];
}

function shownPart({ text, isCode }: LinePart): string {
  return isCode ? text : defused(text);
}

function defused(text: string): string {
  const plain = text.replace(/&(?=#|(?:commat|num|sol);)/gi, '&amp;').replace(/<(?=[a-z/!?])/gi, '&lt;');
  return interrupted(plain, BREAK).replace(/!\[/g, '!\\[');
}

/**
 * Breaks up names of people and issues, and words that switch off checks, with something between the sign and the rest. A sign may
 * have a backslash before it, which is not rendered; letters and digits cannot.
 */
function interrupted(text: string, by: string): string {
  return text
    .replace(/@(?=[\w&])|#(?=\d)|(?<![a-z\d])GH\\?-(?=\d)|\/(?:issues|pull|discussions)\\?\/(?=[\d%])/gi, `$&${by}`)
    .replace(/\[(?=(?:skip|no)[ -]\w|\w+[ -]skip\])|\bskip-checks(?=\s*:)|\*{3}(?=NO_CI)/gi, `$&${by}`);
}

function titleOf({ title, view }: PullRequestContent): string {
  const line = (title === '' ? view.originalRequest : title).replace(/\s+/g, ' ').trim();
  const plain = interrupted(line, ZERO_WIDTH);
  return plain.length > MAX_TITLE ? `${plain.slice(0, MAX_TITLE - 1)}…` : plain;
}

function section(title: string, text: string): string {
  return `## ${title}\n\n${text}`;
}

function listSection(title: string, items: readonly string[]): string | null {
  if (items.length === 0) return null;
  const shown = firstFitting(items.slice(0, MOST_LISTED).map((item) => `- ${item}`));
  const rest = items.length - shown.length;
  return section(title, [...shown, ...(rest > 0 ? [`- and ${rest} more, in the record of the run`] : [])].join('\n'));
}

/** Without Markdown of its own: in what shows a request, nothing may be live that its author made look like code. */
function quoted(text: string): string {
  return text
    .split(/\r\n|[\n\r]/)
    .map((line) => `> ${harmlessLine(line).replace(UNDERLINE, '\\')}`.trimEnd())
    .join('\n');
}

function words(text: string): string {
  return fitting(text, 500, harmlessLine);
}

/**
 * Foreign text for a commit, in which the forge sees no mention, no issue and no closing word: a character without width stands
 * after each sign that would begin one.
 */
export function harmlessMessage(text: string): string {
  return interrupted(text, ZERO_WIDTH);
}

/** Foreign text on one line, without Markdown, in which the forge sees no mention, no issue and no closing word. */
export function harmlessLine(text: string): string {
  return defused(inline(text));
}

function checks({ evidence }: RunView): string {
  if (evidence.length === 0) return 'No command was run: there is no evidence for this result.';
  const latest = evidence.at(-1)?.codeTree;
  const all = evidence.flatMap((each) =>
    each.commands.map(({ command, exitCode }) => [
      `${each.codeTree === latest ? 'the result' : 'an earlier result'}${each.mode === 'as_is' ? '' : " with the base's tests"}`,
      code(clipped(command, 200)),
      outcomeText(each, exitCode === null ? 'none, it was killed' : String(exitCode)),
      testCountText(each) ?? 'not counted',
      code(each.codeTree.slice(0, 12)),
    ]),
  );
  const rows = firstFitting(all.toReversed()).toReversed();
  const rest = all.length - rows.length;
  const shown = table(['Checked', 'Command', 'Exit code', 'Tests', 'Code tree'], rows);
  return rest > 0 ? `${shown}\n\nThe record of the run has ${rest} earlier ones.` : shown;
}

function concerns({ acceptedConcerns = [], gates }: RunView): readonly string[] {
  const accepted = acceptedConcerns.map(
    ({ kind, by, at, reason }) =>
      `${kind.replaceAll('_', ' ')}: accepted by ${code(by)} on ${at.slice(0, 10)}${reason === undefined ? '' : ` (${words(reason)})`}`,
  );
  const failures = gates.flatMap(({ accepted: items = [], by, rebuiltAt }) =>
    rebuiltAt === undefined ? items.map((item) => `failure accepted by ${code(by)}: ${words(item)}`) : [],
  );
  return [...accepted, ...failures];
}

function answers({ clarifications }: RunView): readonly string[] {
  return clarifications.map(({ question, status, response, answeredBy }) => {
    const answer = status === 'answered' ? `${words(response ?? '')} (${code(answeredBy ?? 'a person')})` : status;
    return `${words(question)} → ${answer}`;
  });
}

function decisions(view: RunView): readonly string[] {
  return view.decisions.map(
    ({ topic, choice, rationale }) =>
      `${words(topic)}: ${words(choice)}${rationale === '' ? '' : ` (${words(rationale)})`}`,
  );
}

function reproduction({ view, commit }: PullRequestContent): string {
  const branch = view.published?.branch ?? view.branch;
  const setup = view.baseline?.command.command;
  // A record of others may have any command.
  const run = view.evidence.filter(({ rebuiltAt }) => rebuiltAt === undefined);
  const commands = new Set(run.flatMap((each) => each.commands.map(({ command }) => command)));
  if (setup !== undefined) commands.add(setup);
  const lines = [`git fetch origin ${branch}`, `git checkout ${commit}`, ...commands].map((line) =>
    line.replace(/\s+/g, ' '),
  );
  const text = lines.join('\n').replaceAll('````', '');
  return `\`\`\`\`sh\n${clipped(text, MAX_SECTION)}\n\`\`\`\``;
}

function run({ view: { id, ...view }, childRuns }: PullRequestContent): string {
  const all = [view, ...childRuns];
  const models = [...new Set(all.flatMap(({ config }) => Object.values(config.modelRouting)))].map(code).join(', ');
  const spent = totalSpending(all.map(({ cost }) => cost));
  const below = childRuns.length === 0 ? '' : ` and ${childRuns.length} child run${childRuns.length === 1 ? '' : 's'}`;
  const tokens = `${spent.inputTokens} tokens in, ${spent.outputTokens} out`;
  const money = moneyText(spent);
  const scripted = all.some(({ scriptedModels }) => scriptedModels.length > 0)
    ? ' **Scripted models took part: they play a script and judge nothing.**'
    : '';
  const forked =
    view.forkedFrom === undefined || view.cost.calls > 0
      ? ''
      : ` It was forked from run ${code(view.forkedFrom.runId)}, whose child runs are not counted here.`;
  return `Run ${code(id)}${below} with ${models}: ${tokens} in ${spent.calls} calls${money === '$0.00' ? '' : `, ${money}`}. Its record is on the branch \`autonomous/record\`, below \`.autonomous/runs/${id}/\`.${forked}${scripted}`;
}

/** The longest beginning of a text, as it is shown, that takes about `most` characters. */
function fitting(text: string, most: number, show: (text: string) => string): string {
  let kept = most;
  for (;;) {
    const shown = show(clipped(text, kept));
    if (shown.length <= most || kept <= 0) return shown;
    kept = Math.floor((kept * most) / shown.length);
  }
}

/** The first ones that together fit into a section. */
function firstFitting<T extends string | readonly string[]>(items: readonly T[]): readonly T[] {
  let length = 0;
  return items.filter((item) => (length += String(item).length) <= MAX_SECTION);
}

function clipped(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most)}\n\n[… ${text.length - most} characters more: see the record of the run]`;
}
