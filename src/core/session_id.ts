/**
 * What a session may be called: the same for the service, and for a page that names one in its address.
 *
 * @module
 */

/** A session id that is safe in keys and URLs. */
export const SESSION_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;
