/**
 * The version of this package. It stands here, too, since a package for npm has no `deno.json`; a test holds it to
 * that.
 *
 * @module
 */

/** As in `deno.json`. */
export const VERSION = "0.1.0";
