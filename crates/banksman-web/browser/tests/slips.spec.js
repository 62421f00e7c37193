// What a slip of the hand must not do, and what the eye must not miss.
import { test, expect, picture, accessible } from "../server.js";

const freezeTool = async (context, server, tool) => {
  const page = await context.newPage();
  await page.goto(`${server.url}/freezes?tool=${tool}`);
  await page.getByRole("button", { name: "Freeze", exact: true }).click();
  await expect(page.getByText("Frozen, at once.")).toBeVisible();
  return async () => {
    await page.locator("ul.freezes li", { hasText: tool }).getByRole("button", { name: "Lift" }).click();
    await expect(page.getByText("The freeze is lifted.")).toBeVisible();
    await page.close();
  };
};

test("Reload on a refused page sends nothing again", async ({ page, context, server, wrong }) => {
  const action = await server.propose("write_file", { path: "/etc/motd", content: "hello" });
  const lift = await freezeTool(context, server, "write_file");
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByLabel("Reason").fill("Seen and fine.");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("alert")).toContainText("Not done: frozen");
  await expect(page.getByLabel("Reason")).toHaveValue("Seen and fine.");
  await picture(page, "flow-refused");
  await lift();
  const posts = [];
  page.on("request", (request) => { if (request.method() === "POST") posts.push(request.url()); });
  await page.locator("#line [data-reload]").evaluate((button) => button.click());
  await expect(page.getByRole("alert")).toHaveCount(0);
  // Nor does the browser's own button.
  await page.reload();
  await expect(page.getByRole("button", { name: "Approve" })).toBeVisible();
  expect(posts).toEqual([]);
  expect(await server.status(action)).toBe("pending");
  await server.withdraw(action);
});

test("the browser's own reload of a refused page sends nothing again", async ({ page, context, server, wrong }) => {
  const action = await server.propose("write_file", { path: "/etc/issue", content: "hello" });
  const lift = await freezeTool(context, server, "write_file");
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("alert")).toContainText("Not done: frozen");
  await lift();
  await page.reload();
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(await server.status(action)).toBe("pending");
  await server.withdraw(action);
});

test("Enter in a field decides nothing", async ({ page, server, wrong }) => {
  const action = await server.propose("add_label", { label: "urgent" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByText("Remember an approval").click();
  await page.locator('[name="like:label"]').fill("u*");
  await page.keyboard.press("Enter");
  await page.locator('[name="remember"][value="exact"]').focus();
  await page.keyboard.press("Enter");
  await page.waitForTimeout(500);
  expect(await server.status(action)).toBe("pending");
  expect(page.url()).toContain(action.id);
  await accessible(page);
  await server.withdraw(action);
});

test("Enter in a field of an edit shows the change", async ({ page, server, wrong }) => {
  const action = await server.propose("add_label", { list: ["a"], amount: 5 });
  await page.goto(`${server.url}/actions/${action.id}/edit`);
  await page.locator('[name="number:/amount"]').fill("6");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "What you change" })).toBeVisible();
  await accessible(page);
  await server.withdraw(action);
});

test("a slip in the JSON is said at its place and takes nothing away", async ({ page, server, wrong }) => {
  const action = await server.propose("add_label", { label: "urgent", amount: 5 });
  await page.goto(`${server.url}/actions/${action.id}/edit`);
  await page.getByLabel("All arguments").fill('{\n  "label": "urgent",,\n}');
  await page.getByRole("button", { name: "Show what changes" }).last().click();
  await expect(page.getByRole("alert")).toContainText("in line 2 at column 21");
  await expect(page.getByLabel("All arguments")).toHaveValue('{\n  "label": "urgent",,\n}');
  await expect(page.locator('[name="text:/label"]')).toHaveValue("urgent");
  await expect(page.getByRole("button", { name: "Approve this instead" })).toHaveCount(0);
  await picture(page, "flow-json-slip");
  await accessible(page);
  await server.withdraw(action);
});

test("values that differ look different", async ({ page, server, wrong }) => {
  const spaced = "# ticket" + " ".repeat(300) + "PasswordAuthentication no";
  const pairs = [
    [{ text: spaced }, { text: spaced.replace(/ {300}/, "\n") }, { text: spaced.replace(/ {300}/, " ".repeat(299)) }],
    [{ text: "a\tb" }, { text: "a    b" }, { text: "a   b" }],
    [{ "dry run": true }, { "dry  run": true }],
    [{ text: "a\nb" }, { text: "a↵\nb" }],
    [{ text: "a" + "\n".repeat(9) + "b" }, { text: "a\n⋯ 8 empty lines\nb" }],
  ];
  for (const [at, alike] of pairs.entries()) {
    const seen = new Set();
    for (const [which, args] of alike.entries()) {
      const action = await server.propose("write_file", args);
      await page.goto(`${server.url}/actions/${action.id}`);
      seen.add((await page.locator(".args").screenshot()).toString("base64"));
      await picture(page, `alike-${at}-${which}`);
      await server.withdraw(action);
    }
    expect(seen.size, JSON.stringify(alike)).toBe(alike.length);
  }
});

test("what policy keeps back is not what an agent calls redacted", async ({ page, server, wrong }) => {
  const action = await server.propose("charge_card", { card: "4111", note: "[redacted]" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await expect(page.locator(".args .kept-back")).toHaveText("Kept from you by policy");
  await expect(page.locator(".args .value")).toHaveText('"[redacted]"');
  await picture(page, "flow-kept-back");
  await accessible(page);
  await page.goto(`${server.url}/?q=charge_card`);
  await expect(page.locator(`[data-action="${action.id}"]`).getByRole("button", { name: "Approve" })).toHaveCount(0);
  await server.withdraw(action);
});

test("no number of line breaks hides the end", async ({ page, server, wrong }) => {
  const action = await server.propose("write_file", { path: "a", text: "harmless" + "\n".repeat(2300) + "rm -rf /" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await expect(page.locator(".args").getByText("rm -rf /")).toBeInViewport();
  await expect(page.locator(".args")).toContainText("empty lines");
  await picture(page, "flow-line-breaks");
  await accessible(page);
  await server.withdraw(action);
});

test("a change of a hundred thousand lines opens", async ({ page, server, wrong }) => {
  const content = (mark) => [...Array(60_000).keys()].map((n) => `${mark}\n`).join("");
  const action = await server.propose("write_file", { path: "a", old_string: content("a"), new_string: content("b") });
  await page.goto(`${server.url}/actions/${action.id}`);
  await expect(page.locator(".diff").first()).toContainText("more lines of the change are left out here");
  expect(await page.locator(".diff").first().locator(".line").count()).toBe(1000);
  await server.withdraw(action);
});

test("a lookalike is spelled where it is named", async ({ page, server, wrong }) => {
  const action = await server.propose("write_file", { url: "https://g\u043e\u043egle.com/" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await expect(page.locator("ul.caution .unseen").first()).toHaveText("U+043E");
  await expect(page.locator("ul.caution")).toContainText("Look closely at url:");
  await picture(page, "flow-lookalike");
  await server.withdraw(action);
});

test("a line that falls silent is noticed and dialled anew", async ({ page, server, wrong }) => {
  await page.clock.install();
  let dialled = 0;
  await page.route("**/live?*", () => { dialled += 1; });
  await page.goto(`${server.url}/`);
  await expect.poll(() => dialled).toBe(1);
  await page.clock.fastForward(36_000);
  await expect(page.locator("#line")).toContainText("Not live");
  await expect.poll(() => dialled).toBe(2);
  await page.unroute("**/live?*");
  await page.clock.fastForward(36_000);
  await expect(page.locator("#line")).toBeHidden();
});

test("the switch is in sight on a phone", async ({ browser, cookies, server }) => {
  const context = await browser.newContext({ viewport: { width: 320, height: 640 } });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${server.url}/`);
  await expect(page.getByRole("link", { name: "Freeze", exact: false }).first()).toBeInViewport({ ratio: 1 });
  await context.close();
});

test("a printed page has all of it", async ({ page, server, wrong }) => {
  const lines = [...Array(80).keys()].map((n) => `line ${n}`).join("\n");
  const action = await server.propose("write_file", { path: "a", old_string: "x", new_string: lines });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".args").getByText("line 50")).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve" })).toBeHidden();
  expect(await page.locator(".diff").first().evaluate((diff) => diff.scrollHeight - diff.clientHeight)).toBeLessThan(4);
  await picture(page, "flow-printed");
  await server.withdraw(action);
});
