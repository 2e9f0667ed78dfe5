/**
 * The files of the page, as they are sent. They are imported as text, so that they are there wherever the service is,
 * published or deployed, and reading them takes no permission. What is in `dist/` is made of the modules beside it by
 * `deno task page:build`.
 *
 * @module
 */
import chatPage from "./chat.html" with { type: "text" };
import chatStyle from "./chat.css" with { type: "text" };
import doctorPage from "./doctor.html" with { type: "text" };
import pageStyle from "./page.css" with { type: "text" };
import chatScript from "./dist/chat.js" with { type: "text" };
import doctorScript from "./dist/doctor.js" with { type: "text" };
import doctorWorker from "./dist/doctor_worker.js" with { type: "text" };

/** One file. */
export interface Asset {
  /** Content type. */
  readonly type: string;
  /** Its text. */
  readonly text: string;
}

const PAGE = "text/html; charset=utf-8";
const STYLE = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** The page that talks to the service. */
export const CHAT_PAGE: Asset = { type: PAGE, text: chatPage };

/** The page of the transcript doctor. Its links are relative: the service may be mounted anywhere. */
export const DOCTOR_PAGE: Asset = { type: PAGE, text: doctorPage };

/** What pages are made of, by name: `/assets/` and the name is where they look for it. */
export const ASSETS: Readonly<Record<string, Asset>> = {
  "page.css": { type: STYLE, text: pageStyle },
  "chat.css": { type: STYLE, text: chatStyle },
  "chat.js": { type: SCRIPT, text: chatScript },
  "doctor.js": { type: SCRIPT, text: doctorScript },
  "doctor_worker.js": { type: SCRIPT, text: doctorWorker },
};
