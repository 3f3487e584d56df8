/** Gates that were decided on this page: nobody has to be told of them as of somebody else's doing. */
export const ownDecisions = new Set<string>();
