/**
 * A message for a notification, as words alone. The editor makes links of `[words](address)` in it, commands of the editor
 * among them, and a run's title or a model's error may hold such a thing.
 */
export function plainMessage(text: string): string {
  return text.replaceAll(/\]\s*\(/g, '] (');
}
