/**
 * Looks for secrets in what is about to leave the machine: the rules of secretlint, and our own for what these do not know.
 * Runs in the worker of `foreign-text.ts`: files and names are whatever an agent wrote.
 */
import { createHash } from 'node:crypto';
import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { findSecrets, findSecretSpans, type SecretSpan } from './secrets.ts';

export interface ScannedText {
  /** Path of the file, or words for a text that is no file. */
  readonly name: string;
  readonly content: Uint8Array | string;
}

export interface SecretFinding {
  readonly name: string;
  /** From 1; 0 for the name itself. */
  readonly line: number;
  readonly rule: string;
  /** Digest of the line, by which the same finding is known again; of private keys with what follows. */
  readonly digest: string;
}

// It would keep what it measured of each rule and text for as long as the worker lives.
secretLintProfiler.setEnabled(false);

/** A comment in a file must not switch a rule off: the file is written by those who are looked at. */
const RULES = rules
  .filter(({ meta }) => meta.id !== '@secretlint/secretlint-rule-filter-comments')
  .map((rule) => ({
    id: rule.meta.id,
    rule,
    options: rule.meta.id === '@secretlint/secretlint-rule-aws' ? { enableIDScanRule: true } : {},
  }));

/** Longer lines are looked through in pieces that overlap by as much as a token is long. */
const MAX_LINE = 10_000;

/** All findings, in order of texts and lines; a line is named by one rule alone. */
export async function scanForSecrets(texts: readonly ScannedText[]): Promise<readonly SecretFinding[]> {
  const findings: SecretFinding[] = [];
  // Each look costs the more for being many: names are short, and looked at together.
  const names = texts.map(({ name }) => name.replaceAll('\n', ' ')).join('\n');
  const byName = await findingsIn(names, 'name.txt');
  for (const [index, { name, content }] of texts.entries()) {
    const ruleOfName = byName.get(index + 1);
    if (ruleOfName !== undefined) findings.push({ name, line: 0, rule: ruleOfName, digest: digestOf(name) });
    for (const text of textsOf(content)) {
      const lines = text.split('\n');
      for (const [line, rule] of await findingsIn(text, name)) {
        // The first line of one private key is that of every other.
        const known = lines.slice(line - 1, rule.includes('private') ? line + 2 : line).map((each) => each.trim());
        findings.push({ name, line, rule, digest: digestOf(known.join('\n')) });
      }
    }
  }
  return findings;
}

/** The rule that each line of a text has something for. */
async function findingsIn(text: string, name: string): Promise<ReadonlyMap<number, string>> {
  const byLine = new Map<number, string>();
  // The rule for keys of AWS here knows the examples of their documentation.
  const known = findSecrets(text).filter(({ rule }) => rule !== 'AWS access key');
  for (const { line, rule } of [...known, ...linesWith(text, name)]) if (!byLine.has(line)) byLine.set(line, rule);
  for (const { rule, line } of await linted(text)) if (!byLine.has(line)) byLine.set(line, rule);
  return new Map([...byLine].sort(([a], [b]) => a - b));
}

/**
 * Where a text holds what these rules find, in order of the spans' starts; spans may overlap. Assignments to names that say that
 * the value is secret count whatever the text is of: nobody knows which file a command has shown.
 */
export async function findSpans(text: string): Promise<readonly SecretSpan[]> {
  return [
    ...findSecretSpans(text).filter(({ rule }) => rule !== 'AWS access key'),
    ...tokenSpans(text),
    ...webTokenSpans(text),
    ...settingSpans(text),
    ...(await linted(text)),
  ].sort((a, b) => a.start - b.start);
}

/** What secretlint finds. */
async function linted(text: string): Promise<readonly (SecretSpan & { readonly line: number })[]> {
  const { messages } = await lintSource({
    source: { content: text, filePath: '/file.txt', contentType: 'text', ext: '.txt' },
    options: { config: { rules: RULES }, noPhysicFilePath: true },
  });
  return messages.map(({ ruleId, loc, range: [start, end] }) => ({
    rule: `${ruleId.replace('@secretlint/secretlint-rule-', '')} (secretlint)`,
    line: loc.start.line,
    start,
    end,
  }));
}

/** A file of bytes may hold text in any part of it; UTF-16 has a zero between its letters. */
function textsOf(content: Uint8Array | string): readonly string[] {
  if (typeof content === 'string') return [content];
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!bytes.includes(0)) return [bytes.toString('utf8')];
  const plain = bytes.toString('latin1');
  return [plain.replaceAll('\0', '\n'), plain.replaceAll('\0', '')];
}

interface LineRule {
  readonly rule: string;
  readonly pattern: RegExp;
  readonly isReal?: (value: string) => boolean;
}

const TOKENS: readonly LineRule[] = [
  { rule: 'private key', pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/ },
  { rule: 'Discord webhook', pattern: /discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{5,25}\/[\w-]{30,120}/i },
  { rule: 'Teams webhook', pattern: /webhook\.office\.com\/webhookb2\/[\w@/-]{40,300}/i },
  { rule: 'Google client secret', pattern: /\bGOCSPX-[\w-]{20,60}/ },
  { rule: 'AWS access key', pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/, isReal: (value) => !value.endsWith('EXAMPLE') },
  { rule: 'Hugging Face token', pattern: /\bhf_[A-Za-z]{30,60}\b/ },
  { rule: 'PyPI token', pattern: /\bpypi-[\w-]{50,300}/ },
  { rule: 'Azure storage key', pattern: /\bAccountKey=[A-Za-z0-9+/]{80,100}={0,2}/ },
  { rule: 'Twilio key', pattern: /\bSK[0-9a-f]{32}\b/ },
];

const SETTING = 'password or key in a setting';

/** Files of settings, in which a value needs no quotes. */
const SETTINGS = /(?:^|[/.])env(?:$|\.)|(?:^|\/)\.env[^/]{0,40}$|\.(?:env|properties|ini|cfg|conf|toml|ya?ml|tfvars)$/i;
const NAMES =
  /^(?:[\w.-]{0,60}[_.-])?(?:password|passwd|passphrase|pwd|pass|secret|token|credentials?|api[_.-]?key|access[_.-]?key|secret[_.-]?key|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key|session[_.-]?key|auth[_.-]?key)(?:[_.-][\w.-]{0,30})?$/i;
const PLACEHOLDERS = [
  'example',
  'placeholder',
  'changeme',
  'change-me',
  'change_me',
  'your',
  'dummy',
  'redacted',
  'xxxx',
  '...',
  '<',
  '${',
  '{{',
  '$(',
  'replace',
  'todo',
];

function linesWith(text: string, name: string): readonly { readonly line: number; readonly rule: string }[] {
  const isSettings = SETTINGS.test(name);
  return text.split('\n').flatMap((whole, index) => {
    const rule = partsOf(whole)
      .map((part) => ruleOf(part, isSettings))
      .find((each) => each !== null);
    return rule ? [{ line: index + 1, rule }] : [];
  });
}

function partsOf(line: string): readonly string[] {
  if (line.length <= MAX_LINE) return [line];
  const parts: string[] = [];
  for (let at = 0; at < line.length; at += MAX_LINE - 4_000) parts.push(line.slice(at, at + MAX_LINE));
  return parts;
}

function ruleOf(line: string, isSettings: boolean): string | null {
  const token = TOKENS.find(({ pattern, isReal }) => {
    const [value] = pattern.exec(line) ?? [];
    return value !== undefined && (isReal?.(value) ?? true);
  });
  if (token !== undefined) return token.rule;
  if (hasWebToken(line)) return 'JSON web token';
  return isSettings && settingOf(line) !== null ? SETTING : null;
}

function hasWebToken(line: string): boolean {
  return line.split(/[^\w.-]/).some(isWebToken);
}

/** Three parts with dots between them, of which two are JSON in base64. */
function isWebToken(word: string): boolean {
  const [head = '', body = '', signature = ''] = word.split('.', 3);
  return head.startsWith('eyJ') && body.startsWith('eyJ') && head.length > 12 && signature.length >= 20;
}

/** The longest private key whose end is looked for. */
const MAX_PRIVATE_KEY = 20_000;

function tokenSpans(text: string): readonly SecretSpan[] {
  const ends = [...text.matchAll(/-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g)];
  let nextEnd = 0;
  return TOKENS.flatMap(({ rule, pattern, isReal }) =>
    // oxlint-disable-next-line autonomous/linear-expressions -- judged where it is written
    [...text.matchAll(new RegExp(pattern, `g${pattern.flags}`))].flatMap((match) => {
      const [value] = match;
      const start = match.index;
      if (isReal?.(value) === false) return [];
      if (rule !== 'private key') return { rule, start, end: start + value.length };
      // The first rule is that of private keys, and headers come in order.
      while ((ends[nextEnd]?.index ?? Infinity) < start) nextEnd += 1;
      const last = ends[nextEnd];
      const isWhole = last !== undefined && last.index - start <= MAX_PRIVATE_KEY;
      return { rule, start, end: isWhole ? last.index + last[0].length : start + value.length };
    }),
  );
}

function webTokenSpans(text: string): readonly SecretSpan[] {
  return [...text.matchAll(/[\w.-]+/g)]
    .filter(([word]) => isWebToken(word))
    .map(({ 0: word, index }) => ({ rule: 'JSON web token', start: index, end: index + word.length }));
}

/** An assignment inside a line, such as in a command or an address; `settingOf` knows those that are a line of their own. */
const ASSIGNMENT = /(?<![\w.-])-{0,2}([A-Za-z_][\w.-]{1,80})=["']?([^\s"'`;|&<>(){}\\,]{8,200})/dg;

function settingSpans(text: string): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const value = settingOf(line);
    const at = value === null ? -1 : line.lastIndexOf(value);
    if (value !== null) spans.push({ rule: SETTING, start: start + at, end: start + at + value.length });
    start += line.length + 1;
  }
  for (const { 1: name = '', 2: value = '', indices } of text.matchAll(ASSIGNMENT)) {
    const [from, to] = indices?.[2] ?? [0, 0];
    const isMixed = /\d/.test(value) && /[A-Za-z]/.test(value);
    if (isMixed && isSecretSetting(name, value)) spans.push({ rule: SETTING, start: from, end: to });
  }
  return spans;
}

/** Value of `NAME=value` or `name: value`, with `export` or without, whose name says that it is secret; otherwise `null`. */
function settingOf(line: string): string | null {
  if (line.length > 2_000) return null;
  const trimmed = line.trim().replace(/^(?:export|set)\s{1,4}/, '');
  const at = trimmed.search(/[=:]/);
  if (at <= 0 || trimmed.startsWith('#') || trimmed.startsWith(';') || trimmed.startsWith('//')) return null;
  const name = trimmed.slice(0, at).trim().replaceAll(/["']/g, '');
  const value = withoutComment(trimmed.slice(at + 1).trim());
  return isSecretSetting(name, value) ? value : null;
}

function isSecretSetting(name: string, value: string): boolean {
  if (!NAMES.test(name) || value.length < 8 || /\s/.test(value)) return false;
  const small = value.toLowerCase();
  if (PLACEHOLDERS.some((each) => small.includes(each)) || value.startsWith('$') || value.startsWith('!')) return false;
  // `true`, a path, a name of another setting, and the like are no secrets; those mix letters with others.
  return !/^(?:[a-z]+|[A-Z_]+|\d+|[.~]?\/.*|(?:true|false|null|none))$/.test(value);
}

function withoutComment(value: string): string {
  const quote = value[0];
  if (quote === '"' || quote === "'") {
    const end = value.indexOf(quote, 1);
    return end === -1 ? value.slice(1) : value.slice(1, end);
  }
  const comment = value.search(/\s[#;]/);
  return comment === -1 ? value : value.slice(0, comment).trim();
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
