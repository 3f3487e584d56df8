/** Estimates how many tokens a text has for a model, without its tokenizer. Pure. */

/** Code and English prose have three to four and a half of them; fewer are assumed, so that budgets hold. */
const ASCII_CHARACTERS_PER_TOKEN = 3.5;

/**
 * Tokens of a text by a rule that holds for every model: 3.5 ASCII characters are one token, and so is every other UTF-16
 * unit. Tokenizers count less for nearly all texts: what is within a budget by this rule is within it for the model.
 */
export function estimateTokens(text: string): number {
  let ascii = 0;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) < 128) ascii++;
  return Math.ceil(ascii / ASCII_CHARACTERS_PER_TOKEN) + (text.length - ascii);
}
