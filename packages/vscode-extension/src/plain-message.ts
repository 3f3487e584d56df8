import { sanitizeText } from '@autonomous/shared/presentation';

/**
 * A message, a prompt or a choice of the editor, as words alone. In messages and prompts the editor makes links of
 * `[words](address)`, commands of the editor among them, and in prompts and choices pictures of `$(name)`; a run's title, a
 * model's error or a person's name may hold such a thing.
 */
export function plainMessage(text: string): string {
  return sanitizeText(text)
    .replaceAll(/\]\s*\(/g, '] (')
    .replaceAll('$(', '$ (');
}
