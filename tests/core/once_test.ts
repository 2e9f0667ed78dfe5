import { deepEqual, equal, rejects } from "node:assert/strict";
import { once } from "../../src/core/once.ts";

Deno.test("once() makes something for all who ask at once or later, and not before", async () => {
  let made = 0;
  const get = once(() => Promise.resolve(++made));
  equal(made, 0);
  deepEqual(await Promise.all([get(), get()]), [1, 1]);
  equal(await get(), 1);
});

Deno.test("once() makes anew what failed, for whoever asks next", async () => {
  let made = 0;
  const get = once(() => ++made < 3 ? Promise.reject(new Error(`no ${made}`)) : Promise.resolve(made));
  await Promise.all([rejects(get(), /no 1/), rejects(get(), /no 1/)]);
  await rejects(get(), /no 2/);
  deepEqual([await get(), await get()], [3, 3]);
});
