/** The configuration of a run whose result is documents, from the options of its command. */
import type { RunConfigRequest } from '@autonomous/shared';
import { readConfigFile } from './input-files.ts';
import type { CliIo } from '../io.ts';
import { endOf, type EndOptions } from './run-end.ts';

export interface DocumentOptions extends EndOptions {
  /** A person is asked before the documents are published. */
  readonly review?: boolean;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  /** Path of a file with a run configuration. */
  readonly config?: string;
}

/** The file's configuration under what the options say. */
export async function documentConfigOf(io: CliIo, options: DocumentOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const { base, model, review } = options;
  const git = { ...file.git, ...endOf(options), ...(base === undefined ? {} : { baseBranch: base }) };
  return {
    ...file,
    ...(Object.keys(git).length === 0 ? {} : { git }),
    ...(review === true ? { trustMode: { ...file.trustMode, implementation: 'manual' } } : {}),
    ...(model === undefined ? {} : { modelRouting: { ...file.modelRouting, ...model } }),
  };
}
