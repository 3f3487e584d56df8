/**
 * Hashes of what a step changed in the context. They are stored with the step, so that a replay notices an `assign` that
 * depends on chance, on the clock or on anything else that is no part of context and event.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { sharedStart } from './plain-json.ts';
import type { RunState } from './run-state.ts';

/**
 * Changes of the fields of the context that differ after a step, by name of the field: a hash, or `OUTPUT` where
 * the field took over the text that the step's input has as its `output`.
 */
export type ContextHashes = Readonly<Record<string, string>>;

/** Characters of a hash: enough to notice a difference. */
const HASH_CHARACTERS = 16;
/** Stands for a hash of a text that is stored already, as the output of an activity. */
const OUTPUT = 'output';
/** Characters from which on a comparison costs less than a hash. */
const LONG_TEXT = 64;

/**
 * Hashes what differs between the contexts of two states of a run. Parts that are the very same objects are not looked at.
 * @param given payload of the input that led from one to the other
 * @returns an entry a field that differs; empty when none does
 */
export function contextChanges(before: RunState, after: RunState, given: JsonObject): ContextHashes {
  const known = contextOf(before);
  const context = contextOf(after);
  if (context === known) return {};
  const output = given['output'];
  const text = typeof output === 'string' && output.length >= LONG_TEXT ? output : null;
  const hashes: [name: string, digest: string][] = [];
  for (const name of Object.keys(context)) {
    const value = context[name];
    if (value === undefined) continue;
    const old = Object.hasOwn(known, name) ? known[name] : undefined;
    if (old === value) continue;
    if (text !== null && value === text) hashes.push([name, OUTPUT]);
    else {
      const change = changeOf(old, value);
      if (change !== '') hashes.push([name, hashOf(change)]);
    }
  }
  for (const name of removedFrom(known, context)) hashes.push([name, hashOf('-')]);
  return Object.fromEntries(hashes);
}

/**
 * Finds a field of the context that changed in another way than it did.
 * @param given payload of the input that led from one state to the other
 * @returns its name; `null` when there is none
 */
export function findOtherChange(
  before: RunState,
  after: RunState,
  given: JsonObject,
  stored: ContextHashes,
): string | null {
  const changes = contextChanges(before, after, given);
  const changed = Object.keys(changes);
  // So it is with almost every step of a long history.
  if (changed.length === Object.keys(stored).length && changed.every((name) => isSame(name, stored, changes)))
    return null;
  const names = [...new Set([...Object.keys(stored), ...changed])];
  return names.find((name) => !isSame(name, stored, changes)) ?? null;
}

function isSame(name: string, stored: ContextHashes, changes: ContextHashes): boolean {
  return Object.hasOwn(stored, name) && Object.hasOwn(changes, name) && stored[name] === changes[name];
}

type Fields = Readonly<Record<string, JsonValue | undefined>>;

const NO_CONTEXT: Fields = {};

function contextOf({ snapshot }: RunState): Fields {
  // Plain JSON, as each step was found to be.
  return (snapshot?.context ?? NO_CONTEXT) as Fields;
}

/** Characters up to which a text such as `=""`, what a field begins with, comes again with other runs. */
const SHORT_TEXT = 24;
const MOST_KNOWN = 1_000;
const knownHashes = new Map<string, string>();

function hashOf(text: string): string {
  return text.length > SHORT_TEXT ? digestOf(text) : (knownHashes.get(text) ?? keptDigestOf(text));
}

function keptDigestOf(text: string): string {
  const digest = digestOf(text);
  if (knownHashes.size < MOST_KNOWN) knownHashes.set(text, digest);
  return digest;
}

function digestOf(text: string): string {
  return hash('sha256', text).slice(0, HASH_CHARACTERS);
}

/** How a value became another, as a text that does not depend on the order of keys; empty when both are the same JSON. */
function changeOf(before: JsonValue | undefined, after: JsonValue | undefined): string {
  if (before === after) return '';
  if (after === undefined) return '-';
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null)
    return `=${textOf(after)}`;
  if (Array.isArray(before) !== Array.isArray(after)) return `=${textOf(after)}`;
  if (Array.isArray(before) && Array.isArray(after)) return changeOfList(before, after);
  return joined(changesWithin(before as Fields, after as Fields));
}

function changeOfList(before: readonly JsonValue[], after: readonly JsonValue[]): string {
  let text = before.length === after.length ? '' : `[${after.length}]`;
  for (let index = sharedStart(before, after); index < after.length; index += 1) {
    if (before[index] === after[index]) continue;
    const change = changeOf(before[index], after[index]);
    if (change !== '') text += `${index}${change},`;
  }
  return text;
}

function changesWithin(before: Fields, after: Fields): readonly (readonly [name: string, change: string])[] {
  const changes: [name: string, change: string][] = [];
  for (const name of Object.keys(after)) {
    if (after[name] === undefined) continue;
    const known = Object.hasOwn(before, name) ? before[name] : undefined;
    const change = known === after[name] ? '' : changeOf(known, after[name]);
    if (change !== '') changes.push([name, change]);
  }
  for (const name of removedFrom(before, after)) changes.push([name, '-']);
  return changes.length < 2 ? changes : changes.sort(([a], [b]) => (a < b ? -1 : 1));
}

function removedFrom(before: Fields, after: Fields): readonly string[] {
  return Object.keys(before).filter(
    (name) => before[name] !== undefined && (!Object.hasOwn(after, name) || after[name] === undefined),
  );
}

function joined(changes: readonly (readonly [name: string, change: string])[]): string {
  return changes.length === 0 ? '' : `{${changes.map(([name, change]) => JSON.stringify(name) + change).join(',')}}`;
}

/** JSON with sorted keys. */
function textOf(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  return joined(changesWithin(NO_CONTEXT, value as Fields));
}
