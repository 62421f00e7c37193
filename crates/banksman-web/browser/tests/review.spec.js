// Reviewing, as a person does it.
import { test, expect, picture, accessible } from "../server.js";

const open = async (page, server, action) => page.goto(`${server.url}/actions/${action.id}`);

test("approve from the page that shows all of it", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "bob@example.com", subject: "approve me" });
  await open(page, server, action);
  await page.getByLabel("Reason").fill("Seen and fine.");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status").first()).toContainText("Approved: it may run once.");
  expect(await server.status(action)).toBe("authorised");
  await page.getByRole("link", { name: "See the action" }).click();
  await expect(page.getByText("Seen and fine.").first()).toBeVisible();
  await picture(page, "flow-authorised");
  await accessible(page);
});

test("deny from a card", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "eve@example.com", subject: "deny me" });
  await page.goto(`${server.url}/?q=deny+me`);
  await page.locator(`[data-action="${action.id}"]`).getByRole("button", { name: "Deny" }).click();
  await expect(page.getByRole("status").first()).toContainText("Denied");
  expect(await server.status(action)).toBe("denied");
});

test("answer the agent", async ({ page, server, wrong }) => {
  const action = await server.propose("close_account", { customer: "C-9" });
  await open(page, server, action);
  await page.getByText("Deny, and tell the agent").click();
  await page.getByLabel("Words for the agent").fill("Ask the customer first.");
  await page.getByRole("button", { name: "Deny with these words" }).click();
  await expect(page.getByRole("status").first()).toContainText("the agent gets your words");
  const shown = await server.call(server.agent, `/v1/actions/${action.id}`);
  expect(shown.resolution.message).toBe("Ask the customer first.");
});

test("edit, look at the change, approve it", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "bob@example.com", text: "One\nTwo\n", n: 2 });
  await open(page, server, action);
  await page.getByRole("link", { name: "Edit the arguments" }).click();
  await page.locator('[name="text:/to"]').fill("ann@example.com");
  await page.getByRole("button", { name: "Show what changes" }).first().click();
  await expect(page.locator(".diff .new")).toContainText("ann@example.com");
  await expect(page.locator(".diff .gone")).toContainText("bob@example.com");
  await picture(page, "flow-edit");
  await accessible(page);
  await page.getByRole("button", { name: "Approve this instead" }).click();
  await expect(page.getByRole("status").first()).toContainText("Approved");
  const shown = await server.call(server.agent, `/v1/actions/${action.id}`);
  // The line breaks came through a text area, and are what they were.
  expect(shown.args).toEqual({ to: "ann@example.com", text: "One\nTwo\n", n: 2 });
});

test("decide part of a batch", async ({ page, server, wrong }) => {
  const batch = await server.call(server.agent, "/v1/batches", { items: ["a", "b", "c"].map((to) => ({ tool: "send_email", args: { to, batch: 1 } })) });
  await page.goto(`${server.url}/batches/${batch.id}`);
  const [first, second] = batch.items;
  await page.locator(`[data-action="${first.id}"]`).getByLabel("Approve").check();
  await page.locator(`[data-action="${second.id}"]`).getByLabel("Deny").check();
  await page.getByRole("button", { name: "Decide as chosen" }).click();
  await expect(page.getByText("Decided as chosen.")).toBeVisible();
  const now = await server.call(server.agent, `/v1/batches/${batch.id}`);
  expect(now.items.map((item) => item.status)).toEqual(["authorised", "denied", "pending"]);
  await picture(page, "flow-batch");
});

test("what a page leaves out is seen before it is approved", async ({ page, server, wrong }) => {
  const wide = Object.fromEntries([...Array(1200).keys()].map((n) => [`a${String(n).padStart(4, "0")}`, n]));
  const action = await server.propose("send_email", { ...wide, zz_to: "attacker@example.com" });
  await open(page, server, action);
  await expect(page.locator(".args").getByText("attacker@example.com")).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve" })).toHaveCount(0);
  await page.getByRole("link", { name: "See every value" }).click();
  await expect(page.locator(".args").getByText("a1100")).toBeVisible();
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status").first()).toContainText("Approved");
});

test("remember an approval", async ({ page, server, wrong }) => {
  const action = await server.propose("add_label", { issue: 5, label: "bug" }, { session: "s-1" });
  await open(page, server, action);
  await page.getByText("Remember an approval").click();
  await page.getByLabel("Exactly this call").check();
  await picture(page, "flow-remember");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("status").first()).toContainText("Approved");
  const again = await server.propose("add_label", { issue: 5, label: "bug" }, { session: "s-1" });
  expect(again.status).toBe("authorised");
  await page.goto(`${server.url}/grants`);
  await picture(page, "flow-grants");
  await page.getByRole("button", { name: "Revoke" }).first().click();
  await expect(page.getByText("The grant is revoked")).toBeVisible();
});

test("lose a race: the buttons go, and the page says who was first, without moving", async ({ page, server, wrong }) => {
  const ann = server.token("reviewer", "ann");
  const action = await server.propose("send_email", { to: "race@example.com" });
  await open(page, server, action);
  const button = page.getByRole("button", { name: "Approve" });
  const before = await button.boundingBox();
  await server.call(ann, `/v1/actions/${action.id}/decision`, { decision: "deny", version: 1, digest: action.digest, reason: "not today" });
  await expect(page.locator("[data-changed]").first()).toContainText("Denied by ann");
  await expect(button).toBeDisabled();
  expect(await button.boundingBox()).toEqual(before);
  await picture(page, "flow-race-live");
});

test("lose a race without scripts: the answer says who was first", async ({ browser, cookies, server }) => {
  const ann = server.token("reviewer", "ann");
  const action = await server.propose("send_email", { to: "race2@example.com" });
  const context = await browser.newContext({ javaScriptEnabled: false });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await open(page, server, action);
  await server.call(ann, `/v1/actions/${action.id}/decision`, { decision: "deny", version: 1, digest: action.digest });
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("alert")).toContainText("ann");
  await expect(page.getByRole("button", { name: "Approve" })).toHaveCount(0);
  await picture(page, "flow-race-lost");
  await context.close();
});

test("an edited version closes the card that showed the old one", async ({ page, server, wrong }) => {
  const ann = server.token("reviewer", "ann");
  const action = await server.propose("close_account", { customer: "C-2" });
  await open(page, server, action);
  await server.call(ann, `/v1/actions/${action.id}/decision`, { decision: "modify", version: 1, digest: action.digest, args: { customer: "C-3" }, reason: "the other one" });
  await expect(page.locator("[data-changed]").first()).toContainText("Edited by ann: it is now version 2");
  await expect(page.getByRole("button", { name: "Approve" })).toBeDisabled();
  expect(await server.status(action)).toBe("pending");
  await server.withdraw(action);
});

test("meet an expired hold", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "late@example.com" }, { timeout_seconds: 3 });
  await open(page, server, action);
  await expect(page.locator("[data-changed]").first()).toContainText("Expired", { timeout: 15_000 });
  await expect(page.getByRole("button", { name: "Approve" })).toBeDisabled();
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("heading", { name: "It is expired" })).toBeVisible({ timeout: 500 });
  }).toPass();
  await picture(page, "flow-expired");
});

test("new actions are announced and nothing moves", async ({ page, server, wrong }) => {
  const first = await server.propose("send_email", { to: "first@example.com" });
  await page.goto(`${server.url}/`);
  const card = page.locator(`[data-action="${first.id}"]`);
  const before = await card.boundingBox();
  const second = await server.propose("send_email", { to: "second@example.com" });
  await expect(page.locator("#live")).toContainText("One new action");
  expect(await card.boundingBox()).toEqual(before);
  await picture(page, "flow-live");
  await page.getByRole("button", { name: "Show" }).click();
  await expect(page.locator(`[data-action="${second.id}"]`)).toBeVisible();
  await server.withdraw(first);
  await server.withdraw(second);
});

test("by keyboard only", async ({ page, server, wrong }) => {
  const one = await server.propose("send_email", { to: "keys-1@example.com" });
  const two = await server.propose("send_email", { to: "keys-2@example.com" });
  await page.goto(`${server.url}/?q=keys-`);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await picture(page, "flow-help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("d");
  // A key only goes to the button: nothing is decided by a slip.
  expect(await server.status(two)).toBe("pending");
  await expect(page.locator(`[data-action="${two.id}"] [data-deny]`)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Denied. It will not run.")).toBeVisible();
  expect(await server.status(two)).toBe("denied");
  await page.goto(`${server.url}/?q=keys-`);
  await page.keyboard.press("j");
  await page.keyboard.press("o");
  await expect(page.getByRole("heading", { name: "What will run" })).toBeVisible();
  await page.keyboard.press("a");
  await expect(page.getByRole("button", { name: "Approve" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Approved: it may run once.")).toBeVisible();
  expect(await server.status(one)).toBe("authorised");
});

test("keys can be turned off, and are off while someone types", async ({ page, server, wrong }) => {
  const action = await server.propose("send_email", { to: "typed@example.com" });
  await open(page, server, action);
  await page.getByLabel("Reason").fill("");
  await page.getByLabel("Reason").pressSequentially("a dad");
  await expect(page.getByLabel("Reason")).toHaveValue("a dad");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByLabel("Turn single keys off").check();
  await page.getByRole("button", { name: "Close" }).click();
  await page.keyboard.press("i");
  await expect(page).toHaveURL(new RegExp(action.id));
  await server.withdraw(action);
});

test("with scripts off every decision works", async ({ browser, cookies, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  await context.addCookies(cookies);
  const page = await context.newPage();
  const one = await server.propose("close_account", { customer: "C-4" });
  await page.goto(`${server.url}/`);
  await page.locator(`[data-action="${one.id}"]`).getByRole("link", { name: "Review" }).click();
  await page.getByLabel("Reason").fill("gone by their own wish");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByText("Recorded. It stays held")).toBeVisible();
  expect(await server.status(one)).toBe("pending");
  await page.goto(`${server.url}/actions/${one.id}`);
  await expect(page.getByText("1 of 2 approvals").first()).toBeVisible();
  await picture(page, "flow-no-scripts-phone");
  await context.close();
  await server.withdraw(one);
});

test("the big red switch", async ({ page, server, wrong }) => {
  await page.goto(`${server.url}/freezes`);
  await page.getByLabel("Why").first().fill("smoke");
  await page.getByRole("button", { name: "Freeze everything" }).click();
  await expect(page.getByText("Everything is frozen.")).toBeVisible();
  await picture(page, "flow-frozen");
  await accessible(page);
  // Other tests leave freezes of single agents behind.
  const everything = page.locator("form[action$='/lift']").locator("xpath=..").filter({ hasText: "Everything" }).filter({ hasText: "smoke" });
  await everything.getByRole("button", { name: "Lift" }).click();
  await expect(page.getByText("The freeze is lifted.")).toBeVisible();
  await expect(page.getByText("Everything is frozen.")).toBeHidden();
});
