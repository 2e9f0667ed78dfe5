/** JSON of any shape, for tests that look at it field by field: what they assert says what it is. */
// deno-lint-ignore no-explicit-any -- a type of its own for each answer would say everything twice
export type AnyJson = any;
