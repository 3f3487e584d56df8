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
  /** Digests of what was found in the line, each once: the same wherever it stands. */
  readonly values: readonly string[];
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
    const ofName = byName.get(index + 1);
    if (ofName !== undefined) {
      const digest = digestOf(name);
      findings.push({
        name,
        line: 0,
        rule: ofName.rule,
        digest,
        values: digestsOf(valuesIn(name, ofName.spans), digest),
      });
    }
    for (const text of textsOf(content)) {
      const lines = text.split('\n');
      for (const [line, { rule, spans }] of await findingsIn(text, name)) {
        // The first line of one private key is that of every other.
        const isKey = rule.includes('private');
        const known = lines.slice(line - 1, isKey ? line + 2 : line).map((each) => each.trim());
        const digest = digestOf(known.join('\n'));
        const values = isKey ? [] : valuesIn(lines[line - 1] ?? '', spans);
        findings.push({ name, line, rule, digest, values: digestsOf(values, digest) });
      }
    }
  }
  return findings;
}

function digestsOf(values: readonly string[], otherwise: string): readonly string[] {
  return values.length === 0 ? [otherwise] : values.map(digestOf);
}

interface Finding {
  readonly rule: string;
  /** Texts that secretlint found, exactly as in the line. */
  readonly spans: string[];
}

/** Findings by line number, each with one rule. */
async function findingsIn(text: string, name: string): Promise<ReadonlyMap<number, Finding>> {
  const byLine = new Map<number, Finding>();
  // The rule for keys of AWS here knows the examples of their documentation.
  const known = findSecrets(text).filter(({ rule }) => rule !== 'AWS access key');
  for (const { line, rule } of [...known, ...linesWith(text, name)])
    if (!byLine.has(line)) byLine.set(line, { rule, spans: [] });
  for (const { rule, line, start, end } of await linted(text, name)) {
    const finding = byLine.get(line) ?? { rule, spans: [] };
    finding.spans.push(text.slice(start, end));
    byLine.set(line, finding);
  }
  return new Map([...byLine].sort(([a], [b]) => a - b));
}

/** Secrets in a line, sorted, without those inside another; empty where only the line as a whole is a secret. */
function valuesIn(line: string, linted: readonly string[]): readonly string[] {
  const found = [...findSecretSpans(line), ...tokenSpans(line), ...webTokenSpans(line), ...settingSpans(line)].map(
    ({ start, end }) => line.slice(start, end),
  );
  const values = [...new Set([...found, ...linted])].filter((value) => value !== '');
  return values.filter((value) => !values.some((other) => other !== value && other.includes(value))).sort();
}

/**
 * Spans of secrets in a text, in order of their starts; spans may overlap. Assignments to names that mark the value as
 * secret count in every text, because the file that a command has shown is not known.
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

/**
 * Findings of secretlint. Some of its rules depend on the name of the file. The rule for `.p12` would read such a file
 * from the disk of this machine.
 */
async function linted(text: string, name = 'file.txt'): Promise<readonly (SecretSpan & { readonly line: number })[]> {
  const base = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const { messages } = await lintSource({
    source: {
      content: text,
      filePath: `/${base}`,
      contentType: 'text',
      ext: base.endsWith('.json') ? '.json' : '.txt',
    },
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
  /** A text without it is not looked through further. */
  readonly mark?: string;
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
  { rule: 'PuTTY private key', pattern: /^PuTTY-User-Key-File-[123]:/m },
  { rule: 'age key', pattern: /\bAGE-SECRET-KEY-(?:1|PQ-1)[0-9A-Z]{50,200}/i },
  { rule: 'DigitalOcean token', pattern: /\bdo[opr]_v1_[0-9a-f]{64}/ },
  { rule: 'Doppler token', pattern: /\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,80}/ },
  { rule: 'Notion token', pattern: /\bntn_[A-Za-z0-9]{40,60}/ },
  { rule: 'Supabase token', pattern: /\bsbp_[0-9a-f]{40}/ },
  { rule: 'webhook secret', pattern: /\bwhsec_[A-Za-z0-9+/]{24,80}/ },
  { rule: 'Mailgun key', mark: 'key-', pattern: /(?<=[=:]\s{0,4}["']?|["'])key-[0-9a-f]{32}\b/ },
  { rule: 'Azure client secret', mark: 'Q~', pattern: /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/ },
  {
    rule: 'Heroku key',
    mark: 'HEROKU_API_KEY',
    pattern: /(?<=HEROKU_API_KEY["']?\s{0,4}[=:]\s{0,4}["']?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
  },
  {
    rule: 'npm registry token',
    mark: ':_',
    pattern: /(?<=:_(?:authToken|auth|password)\s{0,4}=\s{0,4}["']?)[^\s"'${}<>]{8,500}/,
    isReal: (value) => !isPlaceholder(value),
  },
  {
    rule: 'client key of a cluster',
    mark: 'client-key-data',
    pattern: /(?<=client-key-data["']?:\s{0,4}["']?)[A-Za-z0-9+/]{40,10000}={0,2}/,
  },
  {
    rule: 'login of a container registry',
    mark: '"auth"',
    pattern: /(?<="auth"\s{0,4}:\s{0,4}")[A-Za-z0-9+/]{8,4000}={0,2}(?=")/,
    isReal: (value) => /^[\x21-\x7e]{1,200}:[\x20-\x7e]{4,3000}$/.test(Buffer.from(value, 'base64').toString('latin1')),
  },
];

const SETTING = 'password or key in a setting';

/** Files of settings, in which a value needs no quotes. */
const SETTINGS =
  /(?:^|[/.])env(?:$|\.)|(?:^|\/)\.env[^/]{0,40}$|\.(?:env|properties|ini|cfg|conf|cnf|toml|ya?ml|tfvars|tfstate|tfstate\.backup|kubeconfig|auto\.tfvars\.json)$|(?:^|\/)(?:kubeconfig|credentials|\.(?:npmrc|yarnrc|pypirc|s3cfg|boto|my\.cnf|dockercfg|dockerconfigjson))$|(?:^|\/)\.(?:kube|docker)\/config(?:\.json)?$/i;
/** Files that hold logins in a form of their own. */
const LOGINS: readonly {
  readonly name: RegExp;
  readonly rule: string;
  readonly passwordOf: (line: string) => string | undefined;
}[] = [
  {
    name: /(?:^|\/)[._]netrc$/i,
    rule: 'login in a .netrc',
    passwordOf: (line) => /\bpassword\s{1,9}(\S{4,500})/.exec(line)?.[1],
  },
  {
    name: /(?:^|\/)(?:\.pgpass|pgpass\.conf)$/i,
    rule: 'login in a .pgpass',
    passwordOf: (line) => (line.startsWith('#') ? undefined : line.split(':').slice(4).join(':').trim()),
  },
  {
    name: /(?:^|\/)\.git-credentials$/i,
    rule: 'login in a .git-credentials',
    passwordOf: (line) => /:\/\/[^/@:\s]{1,255}:([^/@\s]{4,500})@/.exec(line)?.[1],
  },
];
/** Made for tests and examples, in which passwords are made up. */
const MADE_UP =
  /(?:^|[/._-])(?:tests?|specs?|fixtures?|mocks?|examples?|samples?|docs?)(?:[/._-]|$)|\.(?:md|mdx|rst|txt)$/i;
const NAMES =
  /^(?:[\w.-]{0,60}[_.-])?(?:password|passwd|passphrase|pwd|pass|secret|token|credentials?|api[_.-]?key|access[_.-]?key|secret[_.-]?key|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key|session[_.-]?key|auth[_.-]?key)(?:[_.-][\w.-]{0,30})?$/i;
/** Words for a value that somebody else has to put in. */
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
  'replace',
  'todo',
];
/** Marks of a value that a program fills in. */
const REFERENCES = ['...', '<', '${', '{{', '$('];

/** Facts about a file that follow from its name. */
interface Kind {
  readonly isSettings: boolean;
  readonly isMadeUp: boolean;
  readonly logins: typeof LOGINS;
}

function linesWith(text: string, name: string): readonly { readonly line: number; readonly rule: string }[] {
  const kind: Kind = {
    isSettings: SETTINGS.test(name),
    isMadeUp: MADE_UP.test(name),
    logins: LOGINS.filter((each) => each.name.test(name)),
  };
  return text.split('\n').flatMap((whole, index) => {
    const rule = partsOf(whole)
      .map((part) => ruleOf(part, kind))
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

function ruleOf(line: string, { isSettings, isMadeUp, logins }: Kind): string | null {
  const token = TOKENS.find(({ pattern, mark, isReal }) => {
    if (mark !== undefined && !line.includes(mark)) return false;
    const [value] = pattern.exec(line) ?? [];
    return value !== undefined && (isReal?.(value) ?? true);
  });
  if (token !== undefined) return token.rule;
  if (hasWebToken(line)) return 'JSON web token';
  for (const { rule, passwordOf } of logins) {
    const password = passwordOf(line) ?? '';
    if (password.length >= 4 && !isPlaceholder(password)) return rule;
  }
  if (isSettings && settingOf(line) !== null) return SETTING;
  return !isMadeUp && hasPassword(line) ? 'password in code' : null;
}

/** A literal that mixes letters of both cases, figures and signs, given to a name that says that it is secret. */
const LITERAL = /(?<![\w.-])([A-Za-z_][\w.-]{2,80})["']?\s{0,4}(?:=|:|=>)\s{0,4}["']([^\s"'`]{12,200})["']/g;

/** One of them is in each of the names. */
const SECRET_WORD = /pass|pwd|secret|token|credential|key/i;

function hasPassword(line: string): boolean {
  if (!SECRET_WORD.test(line) || !isMixed(line)) return false;
  return [...line.matchAll(LITERAL)].some(
    ([, name = '', value = '']) => isMixed(value) && /[!@#$%^&*+=?~|]/.test(value) && isSecretSetting(name, value),
  );
}

function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

/** Such as `changeme`; what is left without these words would be no password. */
function isPlaceholder(value: string): boolean {
  if (REFERENCES.some((each) => value.includes(each))) return true;
  const small = value.toLowerCase();
  const found = PLACEHOLDERS.filter((each) => small.includes(each));
  if (found.length === 0) return false;
  let rest = value;
  for (const each of found) {
    const at = rest.toLowerCase().indexOf(each);
    if (at !== -1) rest = rest.slice(0, at) + rest.slice(at + each.length);
  }
  return rest.length < 8 || !isMixed(rest);
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
  return TOKENS.filter(({ mark }) => mark === undefined || text.includes(mark)).flatMap(({ rule, pattern, isReal }) =>
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
  if (isPlaceholder(value) || value.startsWith('$') || value.startsWith('!')) return false;
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
