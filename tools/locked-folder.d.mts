/** As in `locked-folder.mjs`. */
export declare function installLocked(folder: string, inner?: readonly string[]): string;
