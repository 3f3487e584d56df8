/** Puts a prompt together from its parts within a number of tokens, and says what found no room. Pure. */
import { estimateTokens } from './tokens.ts';

export interface PromptPart {
  /** Names it in the transcript and where it was left out, such as `memory`. */
  readonly name: string;
  /** 0: always there, and whole. Of the others those with higher numbers give way first. */
  readonly priority: number;
  /** The part in at most so many characters; `null` when it would say nothing in so few. */
  readonly render: (characters: number) => RenderedPart | null;
}

export interface RenderedPart {
  readonly text: string;
  /** Something of it is missing. */
  readonly cut: boolean;
}

export interface PromptReport {
  /** Estimated, as all figures here. */
  readonly tokens: number;
  readonly budgetTokens: number;
  /** In the order of the prompt. `cut`: something of it is missing. */
  readonly parts: readonly { readonly name: string; readonly tokens: number; readonly cut: boolean }[];
  readonly leftOut: readonly { readonly name: string; readonly tokens: number }[];
}

/** Tokens reserved for the line that names the missing parts. */
const RESERVED_TOKENS = 250;
/** Names in that line. */
const NAMED = 12;

/**
 * The prompt, its parts in the order in which they are given. Room is given by priority, parts of the same priority in their order.
 * Parts that are cut or left out are named in the prompt, before its last part.
 * @param usedTokens of the budget that go elsewhere, such as to the instructions
 */
export function assemblePrompt(
  parts: readonly (PromptPart | null)[],
  budgetTokens: number,
  usedTokens = 0,
): { readonly prompt: string; readonly report: PromptReport } {
  const present = parts.filter((part) => part !== null);
  let room = budgetTokens - usedTokens - RESERVED_TOKENS;
  const rendered = new Map<PromptPart, RenderedPart>();
  for (const part of present.toSorted((a, b) => a.priority - b.priority)) {
    const shown = part.priority === 0 ? part.render(Number.POSITIVE_INFINITY) : within(part, room);
    if (shown === null) continue;
    rendered.set(part, shown);
    room -= estimateTokens(shown.text);
  }
  const leftOut = present.filter((part) => !rendered.has(part));
  const missing = missingLine(
    leftOut.map(({ name }) => name),
    present.filter((part) => rendered.get(part)?.cut === true).map(({ name }) => name),
  );
  const texts = present.flatMap((part) => rendered.get(part)?.text ?? []);
  const prompt = (missing === null ? texts : texts.toSpliced(-1, 0, missing)).join('\n\n');
  return {
    prompt,
    report: {
      tokens: usedTokens + estimateTokens(prompt),
      budgetTokens,
      parts: present.flatMap((part) => {
        const shown = rendered.get(part);
        return shown === undefined ? [] : [{ name: part.name, tokens: estimateTokens(shown.text), cut: shown.cut }];
      }),
      leftOut: leftOut.map((part) => ({
        name: part.name,
        tokens: estimateTokens(part.render(Number.POSITIVE_INFINITY)?.text ?? ''),
      })),
    },
  };
}

/** The part in at most so many tokens. */
function within(part: PromptPart, tokens: number): RenderedPart | null {
  const whole = part.render(Number.POSITIVE_INFINITY);
  if (whole === null) return null;
  const wholeTokens = estimateTokens(whole.text);
  if (wholeTokens <= tokens) return whole;
  // The kept part may have more tokens per character than the whole: then less is kept.
  for (let characters = (whole.text.length * tokens) / wholeTokens; characters > 100; characters *= 0.8) {
    const shown = part.render(Math.floor(characters));
    if (shown === null || estimateTokens(shown.text) <= tokens) return shown;
  }
  return null;
}

function missingLine(leftOut: readonly string[], cut: readonly string[]): string | null {
  const named = (names: readonly string[]) =>
    names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '');
  const claims = [
    ...(leftOut.length === 0 ? [] : [`left out: ${named(leftOut)}`]),
    ...(cut.length === 0 ? [] : [`shortened: ${named(cut)}`]),
  ];
  if (claims.length === 0) return null;
  return `There was no room for everything in this prompt; ${claims.join('; ')}. Use your tools to look up what you need of it.`;
}
