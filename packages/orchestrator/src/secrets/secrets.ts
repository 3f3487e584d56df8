/** Finds and removes secrets: those this server knows by their value, and whatever looks like a token. Pure. */
import type { JsonValue } from '@autonomous/shared';
import { createKnownValueSearch } from './known-values.ts';

export interface Scrubber {
  /** The text with every secret replaced by `[secret]`. Scrubbing twice changes nothing more. */
  readonly scrub: (text: string) => string;
  /** The same for every string and key inside a JSON value. */
  readonly scrubJson: (value: JsonValue) => JsonValue;
}

export interface FoundSecret {
  readonly rule: string;
  /** From 1. */
  readonly line: number;
}

const MARK = '[secret]';
/** Shorter values are too likely to be part of ordinary words. */
const MIN_KNOWN_LENGTH = 8;

interface TokenRule {
  readonly rule: string;
  readonly pattern: RegExp;
}

/**
 * Tokens that are recognised by their form alone. Every repetition is bounded or cannot overlap what precedes it, so that hostile
 * text costs linear time.
 */
const TOKEN_RULES: readonly TokenRule[] = [
  { rule: 'GitHub token', pattern: /\bgh[pousr]_[A-Za-z0-9]{20,255}/ },
  { rule: 'GitHub fine-grained token', pattern: /\bgithub_pat_[A-Za-z0-9_]{20,255}/ },
  { rule: 'GitLab token', pattern: /\bglpat-[A-Za-z0-9_-]{20,255}/ },
  { rule: 'Anthropic key', pattern: /\bsk-ant-[A-Za-z0-9_-]{16,255}/ },
  { rule: 'model provider key', pattern: /\bsk-(?=[a-z_-]{0,100}[A-Z0-9])[A-Za-z0-9_-]{20,255}/ },
  { rule: 'AWS access key', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/ },
  {
    rule: 'AWS secret key',
    pattern: /(?<=aws_?secret_?(?:access_?)?key["']?\s{0,4}[:=]\s{0,4}["']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/,
  },
  { rule: 'Slack token', pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,255}/ },
  { rule: 'Slack app token', pattern: /\bxapp-[A-Za-z0-9-]{10,255}/ },
  { rule: 'Google API key', pattern: /\bAIza[A-Za-z0-9_-]{35}/ },
  { rule: 'Stripe key', pattern: /\b[rs]k_live_[A-Za-z0-9]{16,255}/ },
  { rule: 'npm token', pattern: /\bnpm_[A-Za-z0-9]{36}/ },
  { rule: 'E2B key', pattern: /\be2b_[a-z0-9]{30,80}/ },
  { rule: 'Telegram bot token', pattern: /\b\d{8,10}:AA[A-Za-z0-9_-]{33}/ },
  {
    rule: 'private key',
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}|\\[nr]|[A-Za-z0-9+/=\s]){0,20000}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/,
  },
];

/** Removed from texts, but no reason to stop a commit: example code is full of them. */
const TEXT_RULES: readonly TokenRule[] = [
  {
    rule: 'URL credentials',
    // oxlint-disable-next-line autonomous/linear-expressions -- it begins behind :// alone, and its parts hold no /
    pattern: /(?<=\w:\/\/)[^\s/:@"'`<>{}$[\]]{0,200}:[^\s/@"'`<>{}$[\]]{1,500}(?=@)/,
  },
  { rule: 'token in a URL', pattern: /(?<=https?:\/\/)[A-Za-z0-9_-]{20,255}(?=@)/ },
  { rule: 'bearer token', pattern: /(?<=\b[Bb]earer\s{1,4})[A-Za-z0-9._~+/-]{16,4096}={0,2}/ },
  {
    rule: 'authorization header',
    pattern:
      /(?<=\b[Aa]uthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[Bb]asic|[Tt]oken)\s{1,4})[A-Za-z0-9._~+/-]{8,4096}={0,2}/,
  },
  {
    rule: 'JSON web token',
    // oxlint-disable-next-line autonomous/linear-expressions -- a match begins after a character outside its class, so each part is read at most three times
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}/,
  },
];

/** An expression for a text in upper and lower case. Node 22 has no `(?i:…)`. */
function inAnyCase(text: string): string {
  const inBothCases = (character: string): string => {
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    const hasCases = lower !== upper && lower.length === 1 && upper.length === 1;
    return hasCases ? `[${lower}${upper}]` : character.replace(/[.*+?^${}()|[\]\\]/, '\\$&');
  };
  // By code unit, as the expression reads it.
  return text.split('').map(inBothCases).join('');
}

/**
 * Compiles a scrubber once for many texts.
 * @param knownSecrets values that must never appear, in any usual encoding; values shorter than 8 characters are ignored
 */
export function createScrubber(knownSecrets: readonly string[]): Scrubber {
  const values = knownSecrets.map((secret) => secret.trim()).filter((secret) => secret.length >= MIN_KNOWN_LENGTH);
  // The longest first: one form may be part of another.
  const literals = [...new Set(values.flatMap(encodingsOf))].sort((a, b) => b.length - a.length).map(inAnyCase);
  // oxlint-disable-next-line autonomous/linear-expressions -- words and expressions that are judged where they are written
  const pattern = new RegExp(
    [...literals, ...[...TOKEN_RULES, ...TEXT_RULES].map((rule) => rule.pattern.source)].join('|'),
    'g',
  );
  const dressedValues = createKnownValueSearch(values);
  const scrub = (text: string): string => {
    let rest = '';
    let at = 0;
    for (const { start, end } of dressedValues(text)) {
      rest += text.slice(at, start) + MARK;
      at = end;
    }
    return (at === 0 ? text : rest + text.slice(at)).replace(pattern, MARK);
  };
  return { scrub, scrubJson: (value) => scrubValue(value, scrub) };
}

export interface LearningScrubber extends Scrubber {
  /** From now on these values are removed as well. */
  learn(values: readonly string[]): void;
}

/** A scrubber whose functions know, wherever they were passed on to, also what it learns later. */
export function createLearningScrubber(knownSecrets: readonly string[]): LearningScrubber {
  const known = new Set(knownSecrets);
  let current = createScrubber(knownSecrets);
  return {
    scrub: (text) => current.scrub(text),
    scrubJson: (value) => current.scrubJson(value),
    learn(values) {
      if (values.every((value) => known.has(value))) return;
      for (const value of values) known.add(value);
      current = createScrubber([...known]);
    },
  };
}

/** Characters before a cut that are scrubbed with what is kept: a secret on the cut is no longer than that. */
const OVERLAP = 24_000;

/**
 * The scrubbed end of a text, of at most `kept` characters. Cutting comes first, so that the cost is that of what is kept;
 * a secret that lies on the cut is removed all the same.
 */
export function scrubbedEnd(text: string, kept: number, scrub: (text: string) => string): string {
  return scrub(text.slice(-(kept + OVERLAP))).slice(-kept);
}

function scrubValue(value: JsonValue, scrub: (text: string) => string): JsonValue {
  if (typeof value === 'string') return scrub(value);
  if (typeof value !== 'object' || value === null) return value;
  if (isList(value)) return value.map((item) => scrubValue(item, scrub));
  const entries = Object.entries(value).map(
    ([key, item]) => [scrub(key), item === undefined ? undefined : scrubValue(item, scrub)] as const,
  );
  return Object.fromEntries(entries);
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The ways in which a value shows up in headers, URLs and logs; other dress is looked for by `known-values.ts`. */
function encodingsOf(secret: string): readonly string[] {
  const url = encodeURIComponent(secret.toWellFormed());
  const bytes = Buffer.from(secret, 'utf8');
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replaceAll('%20', '+'),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ];
}

/** Base64 of the value inside a longer text that has `offset` bytes (modulo 3) before it, without the digits that its neighbours share. */
function base64At(bytes: Buffer, offset: number): readonly string[] {
  const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor((shifted.length * 8) / 6);
  return (['base64', 'base64url'] as const).map((encoding) => shifted.toString(encoding).slice(first, last));
}

const PLACEHOLDER =
  /example|placeholder|changeme|change[_-]me|your[_-]|dummy|redacted|xxxx|\.\.\.|1234567|abcdef|secret|password|test|^(.)\1*$/i;
const FILE_RULES: readonly {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly isReal: (match: RegExpExecArray) => boolean;
}[] = [
  ...TOKEN_RULES.map(({ rule, pattern }) => ({
    rule,
    // oxlint-disable-next-line autonomous/linear-expressions -- judged where it is written
    pattern: new RegExp(pattern, 'g'),
    isReal: () => true,
  })),
  {
    rule: 'URL credentials',
    pattern: /\w:\/\/[^\s/:@"'`<>{}$[\]]{1,200}:([^\s/@"'`<>{}$[\]]{1,500})@([A-Za-z0-9.-]{1,255})/dg,
    // Local and single-word hosts are the composed services of a development set-up.
    isReal: ([, password = '', host = '']) =>
      host.includes('.') &&
      !/^127\.|\.(?:local|localhost|test|example|internal)$|(?:^|\.)example\.(?:com|org|net)$/.test(host) &&
      password.length >= 6 &&
      !PLACEHOLDER.test(password),
  },
  {
    rule: 'high-entropy string',
    pattern:
      /(?:secret|token|passw(?:or)?d|api_?key|private_?key|credential)[a-z_]{0,20}["']?\s{0,4}(?:[:=]|=>)\s{0,4}["']([A-Za-z0-9+/=_.~!@#$%^&*-]{20,200})["']/dgi,
    isReal: ([, value = '']) =>
      !PLACEHOLDER.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value) && entropyPerCharacter(value) >= 3.7,
  },
];

export interface SecretSpan {
  readonly rule: string;
  /** Index of the first character of the secret itself. */
  readonly start: number;
  /** Index behind the last. */
  readonly end: number;
}

/** Where the secrets of a text stand: the same ones that `findSecrets` names by line. In no order. */
export function findSecretSpans(text: string): readonly SecretSpan[] {
  return FILE_RULES.flatMap(({ rule, pattern, isReal }) =>
    [...text.matchAll(pattern)].filter(isReal).map((match) => {
      const [start, end] = match.indices?.[1] ?? [match.index, match.index + match[0].length];
      return { rule, start, end };
    }),
  );
}

/**
 * Secrets in a file that is about to be committed, in the order of their lines; the values themselves are not given.
 * Known values are found by comparing the text with its scrubbed form.
 */
export function findSecrets(text: string): readonly FoundSecret[] {
  const found = FILE_RULES.flatMap(({ rule, pattern, isReal }, order) =>
    [...text.matchAll(pattern)].filter(isReal).map((match) => ({ rule, order, index: match.index })),
  ).sort((a, b) => a.index - b.index);
  // A line that several rules fit is named by the first of them, the most specific.
  const byLine = new Map<number, { readonly rule: string; readonly order: number }>();
  let line = 1;
  let newline = text.indexOf('\n');
  for (const { rule, order, index } of found) {
    for (; newline !== -1 && newline < index; newline = text.indexOf('\n', newline + 1)) line++;
    const other = byLine.get(line);
    if (other === undefined || order < other.order) byLine.set(line, { rule, order });
  }
  return [...byLine].map(([number, { rule }]) => ({ rule, line: number }));
}

/** Shannon entropy in bits: about 2.5 in words, 4 and more in random letters and digits. */
function entropyPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0);
}
