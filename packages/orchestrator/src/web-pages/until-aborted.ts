/** Rejects with the reason of the signal as soon as it is aborted, also where the work itself cannot be interrupted. */
export async function untilAborted<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(), promise]);
  } catch (error) {
    // Work that is ended by the signal may fail in its own words.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
