/** Runs a program to its end; gives what it printed, or throws with what it complained of. */
export async function run(
  program: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd"> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1" },
    ...options,
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot run ${program} ${args[0]}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** Runs a command of Deno. */
export async function runDeno(
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd"> = {},
): Promise<string> {
  return await run(Deno.execPath(), args, options);
}
