/** Reads a packaged extension: a zip. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';

/** @returns each file by its path in the package */
export async function unpack(packed: Buffer): Promise<Map<string, Buffer>> {
  const zip = await new Promise<ZipFile>((resolve, reject) => {
    fromBuffer(packed, { lazyEntries: true }, (error, opened) => (error ? reject(error) : resolve(opened)));
  });
  const contents = new Map<string, Buffer>();
  await new Promise<void>((resolve, reject) => {
    zip.on('error', reject).on('end', resolve);
    zip.on('entry', (entry: Entry) => {
      zip.openReadStream(entry, (error, stream) => {
        if (error) return reject(error);
        const chunks: Buffer[] = [];
        stream.on('error', reject).on('data', (chunk: Buffer) => void chunks.push(chunk));
        stream.on('end', () => {
          if (!entry.fileName.endsWith('/')) contents.set(entry.fileName, Buffer.concat(chunks));
          zip.readEntry();
        });
      });
    });
    zip.readEntry();
  });
  return contents;
}

/** Writes all of its files below a folder. */
export async function unpackInto(vsix: string, folder: string): Promise<void> {
  for (const [name, content] of await unpack(await readFile(vsix))) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}
