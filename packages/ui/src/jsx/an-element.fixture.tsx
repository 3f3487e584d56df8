/** Elements as screens write them. */
export function AnElement({ text }: { readonly text: string }) {
  return (
    <p title={text}>
      {text} and <code>{text}</code>
      <>
        {text}
        {[text]}
      </>
      <option value={text}>{text}</option>
      <textarea defaultValue={text} />
    </p>
  );
}
