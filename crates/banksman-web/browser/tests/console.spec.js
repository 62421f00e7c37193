// What is around the decision: the guide, the policy, the overview, settings, forms drawn from schemas, and races.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { test, expect, picture, accessible, PROGRAM } from "../server.js";

const run = promisify(execFile);

const SCHEMA = {
  type: "object", required: ["to", "subject"], additionalProperties: false, properties: {
    to: { type: "array", minItems: 1, items: { type: "object", required: ["name"], properties: { name: { type: "string", minLength: 2 } } } },
    subject: { type: "string", maxLength: 20 }, tone: { enum: ["formal", "plain"] }, copies: { type: "integer", minimum: 1 }, urgent: { type: "boolean" },
  },
};

test("a newcomer is led, decides a sample, and puts the guide away for good", async ({ browser, cookies, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${server.url}/guide`);
  await page.getByRole("button", { name: "Make a sample action" }).click();
  await expect(page.getByText("This is a sample")).toBeVisible();
  await picture(page, "flow-sample");
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await expect(page.getByText("Denied. It will not run.")).toBeVisible();
  await page.goto(`${server.url}/settings`);
  const away = page.getByRole("button", { name: "Do not show it in the inbox" });
  await away.click();
  await expect(page.getByText("The guide is put away.")).toBeVisible();
  await page.goto(`${server.url}/`);
  await expect(page.getByText("New here?")).toHaveCount(0);
  await context.close();
});

test("a command is copied", async ({ page, context, server, wrong }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${server.url}/guide`);
  await page.getByRole("button", { name: "Copy the command: Before a coding agent" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`BANKSMAN_URL=${server.url} `);
  expect(copied).toContain("\nbanksman setup claude-code");
});

test("the policy explains, and an action leads to its rule", async ({ page, server, wrong }) => {
  const action = await server.propose("process_refund", { order: "A-9", amount: 5 });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByRole("link", { name: "tools.process_refund" }).first().click();
  await expect(page.locator(":target")).toContainText("Compare the order with the amount.");
  await page.locator('[name="tool"]').fill("shell");
  await page.getByLabel("Kind").selectOption("shell");
  await page.getByLabel("Arguments, as JSON").fill('{"command": "git push -f origin main"}');
  await page.getByRole("button", { name: "Explain" }).click();
  await expect(page.getByLabel("What the policy says")).toContainText("tools.shell");
  await picture(page, "flow-explain");
  await accessible(page);
  await page.getByRole("link", { name: "git.push.force" }).click();
  await expect(page.locator(":target")).toContainText("git.push.force");
  await server.withdraw(action);
});

test("a form drawn from a schema: add, leave out, be told at the field, approve", async ({ browser, cookies, server }) => {
  const action = await server.propose("send_email", { to: [{ name: "Ann" }], subject: "Hi", tone: "formal", urgent: false }, { args_schema: SCHEMA });
  const context = await browser.newContext({ javaScriptEnabled: false });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${server.url}/actions/${action.id}/edit`);
  await page.getByRole("button", { name: "Add an item" }).click();
  await page.locator('[name="text:/to/1/name"]').fill("B");
  await page.getByLabel("subject", { exact: false }).first().fill("Hello");
  await page.locator('[name="json:/tone"]').selectOption('"plain"');
  await page.locator('[name="number:/copies"]').fill("0");
  await page.locator('[name="drop:/urgent"]').check();
  await page.getByRole("button", { name: "Show what changes" }).first().click();
  await expect(page.getByRole("alert")).toContainText("2 values do not fit.");
  await expect(page.locator('[name="number:/copies"]')).toHaveAttribute("aria-invalid", "true");
  await picture(page, "flow-misfit");
  await page.locator('[name="text:/to/1/name"]').fill("Bob");
  await page.locator('[name="number:/copies"]').fill("2");
  await page.getByRole("button", { name: "Show what changes" }).first().click();
  await picture(page, "flow-schema-change");
  await page.getByRole("button", { name: "Approve this instead" }).click();
  await expect(page.getByText("Approved: it may run once.")).toBeVisible();
  const shown = await server.call(server.agent, `/v1/actions/${action.id}`);
  expect(shown.args).toEqual({ to: [{ name: "Ann" }, { name: "Bob" }], subject: "Hello", tone: "plain", copies: 2 });
  await page.goto(`${server.url}/actions/${action.id}`);
  await expect(page.getByRole("heading", { name: "What was edited: version 1 to 2" })).toBeVisible();
  await context.close();
});

test("colours are as someone likes them, and stay so", async ({ browser, cookies, server }) => {
  const context = await browser.newContext({ colorScheme: "light" });
  await context.addCookies(cookies);
  const page = await context.newPage();
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto(`${server.url}/settings`);
  const light = await ground();
  await page.getByLabel("Dark").check();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved, for this browser.")).toBeVisible();
  expect(await ground()).not.toBe(light);
  await page.goto(`${server.url}/`);
  expect(await ground()).not.toBe(light);
  await accessible(page);
  await context.close();
});

test("notifications are asked for by a button, and say how many and nothing else", async ({ page, server, wrong }) => {
  await page.addInitScript(() => {
    window.asked = 0;
    window.told = [];
    window.Notification = class {
      static permission = localStorage.getItem("test-permission") ?? "default";
      static async requestPermission() { window.asked += 1; localStorage.setItem("test-permission", "granted"); this.permission = "granted"; return "granted"; }
      constructor(title, options) { window.told.push([title, options.body]); }
      close() {}
    };
    Object.defineProperty(document, "visibilityState", { get: () => localStorage.getItem("test-away") ? "hidden" : "visible" });
  });
  await page.goto(`${server.url}/`);
  expect(await page.evaluate(() => window.asked)).toBe(0);
  await page.goto(`${server.url}/settings`);
  await page.getByRole("button", { name: "Turn notifications on" }).click();
  await expect(page.getByText("They are on.")).toBeVisible();
  expect(await page.evaluate(() => window.asked)).toBe(1);
  await page.goto(`${server.url}/`);
  await page.evaluate(() => localStorage.setItem("test-away", "yes"));
  const action = await server.propose("<b>evil</b>", { to: "you" });
  await expect.poll(() => page.evaluate(() => window.told.length)).toBe(1);
  const [title, body] = (await page.evaluate(() => window.told))[0];
  expect(title).toBe("Banksman");
  expect(body).toMatch(/^(One action is|\d+ actions are) waiting$/);
  await server.withdraw(action);
});

test("the title counts, and goes on counting", async ({ page, server, wrong }) => {
  const first = await server.propose("send_email", { to: "title-1@example.com" });
  await page.goto(`${server.url}/audit`);
  const count = async () => Number((await page.title()).match(/^\((\d+)\)/)?.[1] ?? 0);
  const before = await count();
  expect(before).toBeGreaterThan(0);
  const second = await server.propose("send_email", { to: "title-2@example.com" });
  await expect.poll(count).toBe(before + 1);
  await server.withdraw(first);
  await server.withdraw(second);
  await expect.poll(count).toBe(before - 1);
});

test("web and command line at once: one wins, the other is told who", async ({ page, server, wrong }) => {
  test.setTimeout(120_000);
  const ann = server.token("reviewer", "ann");
  for (let round = 0; round < 4; round += 1) {
    const action = await server.propose("send_email", { to: `race-${round}@example.com` });
    await page.goto(`${server.url}/actions/${action.id}`);
    const env = { ...process.env, BANKSMAN_URL: server.url, BANKSMAN_TOKEN: ann };
    const terminal = run(PROGRAM, ["deny", action.id, "--reason", "by hand"], { env }).then(() => "denied", (error) => error.stderr + error.stdout);
    const button = page.getByRole("button", { name: "Approve" });
    const [said] = await Promise.all([terminal, button.click({ timeout: 5000 }).catch(() => "closed in time")]);
    await expect.poll(() => server.status(action)).not.toBe("pending");
    const status = await server.status(action);
    if (status === "denied") {
      expect(said).toBe("denied");
      // The page was refused, or its buttons were gone before the click.
      await expect(page.locator("[role=alert], [data-changed]").filter({ hasText: "ann" }).first()).toBeVisible();
    } else {
      expect(status).toBe("authorised");
      expect(said).toContain("ada");
      await expect(page.getByText("Approved: it may run once.")).toBeVisible();
    }
    const decided = await server.call(ann, `/v1/audit?action=${action.id}&type=decided`);
    expect((decided.events ?? decided.items).length).toBe(1);
  }
});

test("two windows of one person: the second is told", async ({ context, server }) => {
  const action = await server.propose("send_email", { to: "twice@example.com" });
  const windows = [await context.newPage(), await context.newPage()];
  for (const page of windows) await page.goto(`${server.url}/actions/${action.id}`);
  await Promise.all(windows.map((page) => page.getByRole("button", { name: "Approve" }).click({ timeout: 5000 }).catch(() => {})));
  await expect.poll(() => server.status(action)).toBe("authorised");
  const won = await Promise.all(windows.map((page) => page.getByText("Approved: it may run once.").isVisible()));
  expect(won.filter(Boolean).length).toBe(1);
});

test("a batch by keyboard only, at phone size", async ({ browser, cookies, server }) => {
  const batch = await server.call(server.agent, "/v1/batches", { items: ["k1", "k2"].map((to) => ({ tool: "send_email", args: { to } })) });
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${server.url}/batches/${batch.id}`);
  const wanted = page.locator(`[data-action="${batch.items[0].id}"]`).getByLabel("Approve");
  for (let press = 0; press < 80 && !(await wanted.evaluate((box) => box.closest("[data-action]").contains(document.activeElement) && document.activeElement.type === "radio")); press += 1) await page.keyboard.press("Tab");
  for (let press = 0; press < 4 && !(await wanted.isChecked()); press += 1) await page.keyboard.press("ArrowDown");
  expect(await wanted.isChecked()).toBe(true);
  const button = page.getByRole("button", { name: "Decide as chosen" });
  for (let press = 0; press < 80 && !(await button.evaluate((element) => element === document.activeElement)); press += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByText("Decided as chosen.")).toBeVisible();
  expect((await server.call(server.agent, `/v1/batches/${batch.id}`)).items.map((item) => item.status)).toEqual(["authorised", "pending"]);
  await context.close();
});

test("a batch by its keys", async ({ page, server, wrong }) => {
  const batch = await server.call(server.agent, "/v1/batches", { items: ["s1", "s2", "s3"].map((to) => ({ tool: "send_email", args: { to } })) });
  await page.goto(`${server.url}/batches/${batch.id}`);
  for (const key of ["j", "a", "j", "d", "s"]) await page.keyboard.press(key);
  const choice = (n) => page.locator(`[data-action="${batch.items[n].id}"] input:checked`);
  expect([await choice(0).inputValue(), await choice(1).inputValue(), await choice(2).inputValue()]).toEqual(["approve", "deny", ""]);
  const button = page.getByRole("button", { name: "Decide as chosen" });
  await expect(button).toBeFocused();
  expect((await server.call(server.agent, `/v1/batches/${batch.id}`)).items.map((item) => item.status)).toEqual(["pending", "pending", "pending"]);
  // Enter in a choice sends what was chosen, and not the button that denies all.
  await page.keyboard.press("k");
  await page.locator(`[data-action="${batch.items[2].id}"] [data-approve]`).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Decided as chosen.")).toBeVisible();
  expect((await server.call(server.agent, `/v1/batches/${batch.id}`)).items.map((item) => item.status)).toEqual(["authorised", "denied", "pending"]);
  await server.withdraw(batch.items[2]);
});

test("ten tabs share one line, and go on when the one that holds it closes", async ({ context, server }) => {
  const tabs = [];
  for (let n = 0; n < 10; n += 1) {
    const tab = await context.newPage();
    await tab.goto(`${server.url}/`, { timeout: 10_000 });
    tabs.push(tab);
  }
  const first = await server.propose("send_email", { to: "tabs-1@example.com" });
  for (const tab of tabs) await expect(tab.locator("#live")).toContainText("One new action");
  await tabs.shift().close();
  const second = await server.propose("send_email", { to: "tabs-2@example.com" });
  for (const tab of tabs) await expect(tab.locator("#live")).toContainText("2 new actions");
  for (const tab of tabs) await expect(tab.locator("#line")).toBeHidden();
  await server.withdraw(first);
  await server.withdraw(second);
});

test("a page that hears of nothing says so", async ({ page, server }) => {
  await page.route("**/live?*", (route) => route.fulfill({ status: 401, body: "" }));
  await page.goto(`${server.url}/`);
  await expect(page.locator("#line")).toContainText("Not live");
  await accessible(page);
  await page.unroute("**/live?*");
  await page.locator("#line").getByRole("button", { name: "Reload" }).click();
  await expect(page.locator("#line")).toBeHidden();
});

test("a form of another session changes nothing", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "csrf@example.com" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.evaluate(() => document.querySelectorAll('[name="csrf"]').forEach((field) => { field.value = "0".repeat(64); }));
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("not from this session")).toBeVisible();
  expect(await server.status(action)).toBe("pending");
  await server.withdraw(action);
});
