/** Keeps the beginning and the end of a byte stream that may be endless, and decodes it as UTF-8. */

export class CappedOutput {
  readonly #maxBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  /** @param maxBytes kept in all; half of it from the beginning, half from the end */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Everything that was pushed, kept or not. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  push(chunk: Buffer): void {
    this.#totalBytes += chunk.length;
    const room = Math.max(0, this.#headLimit - this.#headBytes);
    if (room > 0) {
      const kept = chunk.subarray(0, room);
      this.#head.push(kept);
      this.#headBytes += kept.length;
    }
    if (chunk.length > room) {
      this.#tail.push(chunk.subarray(room));
      this.#tailBytes += chunk.length - room;
    }
    this.#forgetOldTail();
  }

  /** The text, with one line in place of what was dropped from its middle. Invalid bytes become U+FFFD. */
  text(): string {
    const tail = Buffer.concat(this.#tail);
    if (this.#totalBytes <= this.#maxBytes) return decode(Buffer.concat([...this.#head, tail]));
    const first = withoutCutCharacterAtEnd(Buffer.concat(this.#head));
    const last = withoutCutCharacterAtStart(tail.subarray(tail.length - (this.#maxBytes - this.#headLimit)));
    const dropped = this.#totalBytes - first.length - last.length;
    return `${decode(first)}\n[… ${dropped} bytes dropped …]\n${decode(last)}`;
  }

  get #headLimit(): number {
    return Math.ceil(this.#maxBytes / 2);
  }

  #forgetOldTail(): void {
    const wanted = this.#maxBytes - this.#headLimit;
    let oldest = this.#tail[0];
    while (oldest !== undefined && this.#tailBytes - oldest.length >= wanted) {
      this.#tail.shift();
      this.#tailBytes -= oldest.length;
      oldest = this.#tail[0];
    }
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function withoutCutCharacterAtEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    return characterLength(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function withoutCutCharacterAtStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && start < bytes.length && isContinuation(bytes[start] ?? 0)) start += 1;
  return bytes.subarray(start);
}

function isContinuation(byte: number): boolean {
  return (byte & 0b1100_0000) === 0b1000_0000;
}

function characterLength(firstByte: number): number {
  if (firstByte >= 0b1111_0000) return 4;
  if (firstByte >= 0b1110_0000) return 3;
  return firstByte >= 0b1100_0000 ? 2 : 1;
}
