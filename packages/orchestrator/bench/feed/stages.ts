/** Steps of the bench's workflow come round again after so many: far more than any screen is ever behind. */
export const STEPS = 32;

/** Of a stage's name or of its title on a screen: `step-7`, `Step 7`. @returns `null` for another stage */
export function stepOf(stage: string): number | null {
  const step = /^step[- ](\d+)$/i.exec(stage)?.[1];
  return step === undefined ? null : Number(step);
}
