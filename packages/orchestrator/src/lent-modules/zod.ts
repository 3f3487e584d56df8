/** Zod as the server uses it, for custom workflows that have none of their own. */
export * from 'zod';
// oxlint-disable-next-line import/no-default-export -- the library's own, which authors may import as well
export { default } from 'zod';
