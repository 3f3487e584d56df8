/** Titles of phases that are added to a plan once its own are merged. */
export const FOR_REVIEWERS = 'Changes for reviewers';
export const TO_THE_RESULT = 'Changes to the result';
