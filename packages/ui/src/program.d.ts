/** What build.mjs makes of a file whose name is imported so: the program that it is, as one text. */
declare module '*?program' {
  const program: string;
  export default program;
}
