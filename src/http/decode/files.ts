/**
 * What files may look like in requests, whichever protocol they come by.
 *
 * @module
 */
import * as z from "zod";

/** A media type. */
export const mediaType = z.string().max(200).regex(
  /^[\w.+-]+\/[\w.+-]+$/,
  "wanted a media type such as image/png",
);

/** A link, or the content as a data URL. */
export const fileLink = z.string().regex(
  /^(?:https?:\/\/\S+|data:[^\s,;]*(?:;[^\s,;]+)*;base64,[A-Za-z0-9+/_=-]*)$/,
  "wanted an http(s) URL or a data URL in base64",
);

/** The content, in base64 or as a data URL. */
export const FILE_CONTENT = /^(?:data:[^\s,]*;base64,)?[A-Za-z0-9+/_=-]+$/;
