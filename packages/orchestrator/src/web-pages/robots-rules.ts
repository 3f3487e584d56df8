/** The decision of a robots.txt about an address (RFC 9309). Runs in the worker of `page-reader.ts`: patterns may be long. */
import robotsModule from 'robots-parser';

/** Its types say `exports.default`, and it is a CommonJS module that is the function itself. */
const robotsParser = robotsModule as unknown as typeof robotsModule.default;

/**
 * @param file address of the robots.txt
 * @param address on the same host and port
 */
export function robotsAllow(file: string, text: string, address: string, userAgent: string): boolean {
  // An address of another origin would be `undefined`, and is not asked for.
  return (
    robotsParser(file, withoutNeedlessEscapes(text)).isAllowed(withoutNeedlessEscapes(address), userAgent) !== false
  );
}

/** `%70rivate` is `private` in rules and addresses alike (RFC 9309, 2.2.2). */
function withoutNeedlessEscapes(text: string): string {
  return text.replace(/%[\da-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  });
}
