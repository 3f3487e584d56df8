/** What build.mjs makes of a file whose name is imported so: gives the program that it is, as one text. */
declare module '*?program' {
  const program: () => Promise<string>;
  export default program;
}
