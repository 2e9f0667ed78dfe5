/**
 * What is made when it is asked for first: a module, keys, a list.
 *
 * @module
 */

/**
 * Makes something once, for all who ask. What failed is not kept: the next who asks has it made anew.
 *
 * @param make Makes it.
 * @returns Gives it, or what is being made.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    if (made !== null) return made;
    const making = make();
    made = making;
    // The error itself is theirs who have asked.
    making.catch(() => made = null);
    return making;
  };
}
