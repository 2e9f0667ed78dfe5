/**
 * `deno doc --lint` over all entry points together, so that a type that one of them exports counts as public
 * for the others. One reference is allowed to a type of another package: `createApp()` gives a Hono app, and
 * only Hono's own class can be mounted in another Hono app.
 */
const config = JSON.parse(await Deno.readTextFile("deno.json"));
const { stderr, stdout, success } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...Object.values<string>(config.exports)],
  env: { NO_COLOR: "1" },
  stdout: "piped",
  stderr: "piped",
}).output();
const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
const errors = text.split(/^(?=error\[)/m).filter((part) => part.startsWith("error["));
const left = errors.filter((error) => !/public type 'App' references private type 'Hono'/.test(error));
// Without a single known error a failure means that the linter itself did not run.
if (left.length > 0 || (!success && errors.length === 0)) {
  console.error(left.length > 0 ? left.join("") : text);
  Deno.exit(1);
}
