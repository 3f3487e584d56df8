/**
 * Lint rule: no regular expression takes more than time in proportion to its text. Much of what this code reads was written
 * by a stranger, and an expression that tries a text again and again holds up everything else. Two forms are found: parts
 * that can share the same characters (`\s*.*\s*$`), and an expression that begins anew at each character of what it has just
 * read in vain (`\s+$`, `[^\0]+\0`).
 */
import { RegExpParser } from '@eslint-community/regexpp';
import { analyse } from 'scslre';

/** A repetition with a higher bound costs as much as one without. */
const LONGEST_REPETITION = 256;

/**
 * Why an expression is slow, as the rest of a sentence whose subject is the expression; `null` when it is not.
 * @param {string} pattern
 * @param {string} flags
 * @returns {string | null}
 */
export function whySlow(pattern, flags) {
  const unbounded = withoutHighBounds(pattern, flags);
  const fault = faultOf(unbounded, flags, { Move: !flags.includes('y'), Self: true, Trade: true });
  if (fault !== null || flags.includes('y')) return fault;
  for (const [prefix, stuttering] of sharedPrefixes(unbounded, flags))
    if (faultOf(stuttering, flags, { Move: false, Self: false, Trade: true }) !== null)
      return `begins anew at each "${prefix}" that it has read on from in vain`;
  return null;
}

function faultOf(pattern, flags, reportTypes) {
  const literal = new RegExpParser().parseLiteral(`/${pattern}/${flags}`);
  const [report] = analyse(literal, { reportTypes, maxReports: 1 }).reports;
  if (report === undefined) return null;
  if (report.type === 'Move') return `begins anew at each character that "${report.quant.raw}" has read in vain`;
  const parts = report.type === 'Self' ? [report.quant, report.parentQuant] : [report.startQuant, report.endQuant];
  return `shares the same characters out between "${parts.map(({ raw }) => raw).join('" and "')}"`;
}

/**
 * `key: .*;` begins at each `key: ` of its text, and reads on from there to the end. Such a beginning is one whose every
 * character may also stand where the repetition behind it reads; the cost shows as that of `^k+.*;`, which can be analysed.
 */
function sharedPrefixes(pattern, flags) {
  return parse(pattern, flags)
    .alternatives.flatMap(withoutGroups)
    .flatMap((elements) => {
      const at = elements.findIndex(({ type, max }) => type === 'Quantifier' && max === Number.POSITIVE_INFINITY);
      const before = elements.slice(0, Math.max(at, 0)).filter(({ type }) => type !== 'Assertion');
      if (before.length === 0 || elements[0].kind === 'start') return [];
      const within = new RegExp(`^(?:${elements[at].element.raw})$`, flags.replace('g', ''));
      const characters = before.map((element) => sharedCharacter(element, within, flags));
      if (characters.includes(null)) return [];
      const first = characters.find((character) => character !== '') ?? '';
      if (first === '' || elements.some(({ type }) => type === 'Backreference')) return [];
      const escaped = first.replace(/[.*+?^${}()|[\]\\/]/, '\\$&');
      return [[rawOf(before), `^${escaped}+${rawOf(elements.slice(at))}`]];
    });
}

/** The ways through an alternative, those through its groups among them. */
function withoutGroups({ elements }) {
  return elements.reduce(
    (ways, element) => {
      if (element.type !== 'Group' && element.type !== 'CapturingGroup') return ways.map((way) => [...way, element]);
      return element.alternatives
        .flatMap(withoutGroups)
        .flatMap((inner) => ways.map((way) => [...way, ...inner]))
        .slice(0, MOST_WAYS);
    },
    [[]],
  );
}

const MOST_WAYS = 200;

function rawOf(elements) {
  return elements.map(({ raw }) => raw).join('');
}

/** A character that the element begins with and that `within` reads as well, as all others of the element; `null` without one. */
function sharedCharacter(element, within, flags) {
  switch (element.type) {
    case 'Character':
      return within.test(String.fromCodePoint(element.value)) ? String.fromCodePoint(element.value) : null;
    case 'CharacterClass':
    case 'CharacterSet': {
      const own = new RegExp(`^${element.raw}$`, flags.replace('g', ''));
      return PROBES.find((character) => own.test(character) && within.test(character)) ?? null;
    }
    case 'Quantifier':
      return element.min === 0 ? '' : sharedCharacter(element.element, within, flags);
    default:
      return '';
  }
}

const PROBES = Array.from({ length: 0x180 }, (_, code) => String.fromCodePoint(code));

/** The expression with `{20,4096}` as `{20,}`, so that it is judged by what it costs. */
function withoutHighBounds(pattern, flags) {
  const edits = [];
  visit(parse(pattern, flags), (node) => {
    if (node.type !== 'Quantifier' || node.max === Number.POSITIVE_INFINITY || node.max <= LONGEST_REPETITION) return;
    const least = Math.min(node.min, LONGEST_REPETITION);
    edits.push([node.element.end, node.end, `{${least},}${node.greedy ? '' : '?'}`]);
  });
  return edits
    .sort((a, b) => b[0] - a[0])
    .reduce((text, [start, end, by]) => text.slice(0, start) + by + text.slice(end), pattern);
}

function parse(pattern, flags) {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
  return new RegExpParser().parsePattern(pattern, 0, pattern.length, unicode);
}

function visit(node, enter) {
  enter(node);
  const children = [...(node.alternatives ?? []), ...(node.elements ?? []), ...(node.element ? [node.element] : [])];
  for (const child of children) visit(child, enter);
}

/** Expressions as they are written, and those built at run time, which have to say by a comment why they are not slow. */
export const linearExpressions = {
  create(context) {
    const judge = (node, pattern, flags) => {
      let why;
      try {
        why = whySlow(pattern, flags);
      } catch (error) {
        why = `cannot be read (${error instanceof Error ? error.message : String(error)})`;
      }
      if (why === null) return;
      const message = `This expression ${why}, so a stranger's text can make it take the square of its length. Read line by line, anchor it, or let its parts exclude each other's characters.`;
      context.report({ node, message });
    };
    const built = (node) => {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return;
      const [pattern, flags] = node.arguments;
      const text = textOf(pattern);
      if (text !== null) judge(node, text, textOf(flags) ?? '');
      else
        context.report({
          node,
          message:
            'This expression is built at run time, where nothing judges what it costs. Say by a comment why it takes linear time.',
        });
    };
    return {
      Literal(node) {
        if (node.regex) judge(node, node.regex.pattern, node.regex.flags);
      },
      NewExpression: built,
      CallExpression: built,
    };
  },
};

function textOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return null;
}
