/** Types of imports that build.mjs turns into a program: the file with everything it imports, as one text. */
declare module '*?program' {
  const program: () => Promise<string>;
  export default program;
}
