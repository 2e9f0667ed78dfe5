import { deepEqual, equal } from "node:assert/strict";
import { fileOf, fileUrl } from "../../src/core/files.ts";

const LINK = "https://example.org/a,b.png";

Deno.test.each<[string, string, string, string]>([
  [LINK, "image/*", LINK, LINK],
  ["HTTPS://example.org/a.png", "image/*", "HTTPS://example.org/a.png", "HTTPS://example.org/a.png"],
  ["aGk=", "image/*", "aGk=", "data:image/*;base64,aGk="],
  ["data:image/png;base64,aGk=", "image/png", "aGk=", "data:image/png;base64,aGk="],
  ["data:;base64,aGk=", "image/*", "aGk=", "data:image/*;base64,aGk="],
])("fileOf() takes %s apart, and fileUrl() puts it together", (data, mediaType, content, url) => {
  const file = fileOf(data, "image/*");
  deepEqual(file, { type: "file", mediaType, data: content });
  equal(fileUrl(file), url);
  equal(fileUrl({ ...file, data }), data === "aGk=" ? url : data);
});
