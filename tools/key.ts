/**
 * Makes an API key. Standard output gets the key and the line for the environment, which holds only its hash: whoever
 * reads the environment of the server cannot use it.
 */
import { hashKey } from "../src/http/api_keys.ts";

const [name, ...rest] = Deno.args;
if (name === undefined || rest.length > 0 || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
  const found = name === undefined
    ? "nothing"
    : Deno.args.map((arg) => JSON.stringify(arg.slice(0, 80))).join(" ");
  console.error(
    `Cannot make a key: found ${found}, wanted the name of one tenant: 1 to 64 of A-Z a-z 0-9 . _ -, the first a ` +
      "letter or a digit, for example deno task key acme",
  );
  Deno.exit(2);
}
const bytes = crypto.getRandomValues(new Uint8Array(32));
const key = `slv_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
console.log(`${key}

The key of ${name}, shown this once. The server takes its hash; keys are joined by commas:
SELVAGE_API_KEYS=${name}=${await hashKey(key)}`);
