/** What a browser sees that is not signed in. */
export function SignIn() {
  return (
    <section className="sign-in">
      <h1>Not signed in</h1>
      <p>
        Open the link that the server printed when it started: it signs this browser in, once, within ten minutes. A
        server that runs already prints another one:
      </p>
      <pre>npm run autonomous -- sign-in</pre>
    </section>
  );
}
