import { randomBytes } from 'node:crypto';

/** 256 bits that nobody can guess, fit for a header, a cookie and an address. */
export const newSecret = (): string => randomBytes(32).toString('base64url');
