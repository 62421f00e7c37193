// Who comes in, and how: in a real browser, with an authenticator that Chromium plays.
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inbox, joinWithPasskey, newcomer } from "../newcomer.js";
import { test, expect, picture, accessible } from "../server.js";

const code = (secret, step = Math.floor(Date.now() / 30_000)) => {
  let bits = "";
  for (const c of secret) bits += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const tag = createHmac("sha1", key).update(counter).digest();
  const number = tag.readUInt32BE(tag[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
};

test("accept an invitation with a passkey, sign out, and come back with it", async ({ browser, server }) => {
  const { context, page, wrong } = await newcomer(browser);
  await page.goto(server.invite("pia", "--role", "finance"));
  await picture(page, "identity-join");
  await accessible(page);
  await joinWithPasskey(page, page.url());
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await picture(page, "identity-sign-in");
  await accessible(page);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await inbox(page);
  await page.getByRole("link", { name: "Account" }).click();
  await expect(page.getByText("blue key")).toBeVisible();
  await picture(page, "identity-account");
  await accessible(page);
  expect(wrong).toEqual([]);
  await context.close();
});

test("a passkey that did not recognise its owner signs nobody in", async ({ browser, server }) => {
  const { context, page, verified } = await newcomer(browser);
  await joinWithPasskey(page, server.invite("vera"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await verified(false);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("alert")).toContainText("Nothing was signed");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await context.close();
});

test("set a password and an app, and come back with both, without scripts", async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(server.invite("paul"));
  const secret = await page.locator('[name="totp_secret"]').inputValue();
  await expect(page.getByRole("img", { name: "QR code" })).toBeVisible();
  await page.getByLabel("Password, at least 12 characters").fill("the cranes stand still");
  const step = Math.floor(Date.now() / 30_000);
  await page.getByLabel("The code that the app shows now").fill(code(secret, step));
  await page.getByRole("button", { name: "Set the password" }).click();
  await expect(page.getByRole("heading", { name: "Your recovery codes" })).toBeVisible();
  const recovery = await page.locator(".codes code").allTextContents();
  expect(recovery.length).toBe(10);
  await picture(page, "identity-recovery-codes");
  await page.getByRole("link", { name: "I have written them down" }).click();
  await inbox(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  const signIn = async (proof) => {
    await page.getByLabel("Name").fill("paul");
    await page.getByLabel("Password", { exact: true }).fill("the cranes stand still");
    await page.getByLabel("Code of your authenticator app").fill(proof);
    await page.getByRole("button", { name: "Sign in with a password" }).click();
  };
  await signIn(code(secret, step));
  await expect(page.getByRole("alert")).toContainText("A code works once");
  await picture(page, "identity-refused");
  await signIn(code(secret, step + 1));
  await inbox(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await signIn(recovery[3]);
  await inbox(page);
  await context.close();
});

test("approve with a touch, and check the log without the server", async ({ browser, server }) => {
  const { context, page, wrong, verified } = await newcomer(browser);
  await joinWithPasskey(page, server.invite("tess"));
  const action = await server.propose("launch", { rocket: "A-1" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByLabel("Reason").fill("weather is fine");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("heading", { name: "Touch your passkey" })).toBeVisible();
  expect(await server.status(action)).toBe("pending");
  await picture(page, "identity-touch");
  await accessible(page);
  await verified(false);
  await page.getByRole("button", { name: "Sign with your passkey" }).click();
  await expect(page.getByRole("alert")).toContainText("Nothing was signed");
  expect(await server.status(action)).toBe("pending");
  await verified(true);
  await page.getByRole("button", { name: "Sign with your passkey" }).click();
  await expect(page.getByRole("status").first()).toContainText("Approved: it may run once.");
  expect(await server.status(action)).toBe("authorised");
  const exported = await (await page.request.get(`${server.url}/audit/export`)).text();
  const file = join(server.data, "audit.jsonl");
  writeFileSync(file, exported);
  expect(server.banksman("audit", "verify", file)).toContain("1 decisions proved by a passkey. Events are numbered without a gap");
  // One letter of who it was: it does not hold any more.
  const lines = exported.split("\n").map((line) => (line.includes('"type":"decided"') && line.includes(action.id) ? line.replaceAll('"tess"', '"bess"') : line));
  writeFileSync(file, lines.join("\n"));
  expect(() => server.banksman("audit", "verify", file)).toThrow();
  expect(wrong).toEqual([]);
  await context.close();
});

test("without scripts a touch cannot be given, and the page says so; denying works", async ({ browser, cookies, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  await context.addCookies(cookies);
  const page = await context.newPage();
  const action = await server.propose("launch", { rocket: "B-2" });
  await page.goto(`${server.url}/actions/${action.id}`);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.getByRole("alert")).toContainText("touch of a passkey");
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  expect(await server.status(action)).toBe("denied");
  await context.close();
});

test("an administrator invites, changes rights and locks out", async ({ page, server, wrong, browser }) => {
  await page.goto(`${server.url}/people`);
  await page.getByLabel("Name, for signing in").fill("nora");
  await page.getByLabel("Roles").last().fill("finance, lead");
  await page.getByRole("button", { name: "Add and invite" }).click();
  const link = await page.locator("[data-link]").textContent();
  await picture(page, "identity-people");
  await accessible(page);
  const nora = await newcomer(browser);
  await joinWithPasskey(nora.page, link);
  await page.goto(`${server.url}/people`);
  // What is not easily undone asks once more.
  const reset = page.getByRole("row", { name: /^nora/ }).locator("details.confirm").first();
  await expect(reset.getByRole("button", { name: "Reset nora" })).toBeHidden();
  await reset.locator("summary").click();
  await expect(reset.getByText("All of their ways to sign in are taken away")).toBeVisible();
  await expect(reset.getByRole("button", { name: "Reset nora" })).toBeVisible();
  await page.getByRole("button", { name: "Lock nora" }).click();
  await expect(page.getByRole("status").first()).toContainText("Changed, at once.");
  await nora.page.goto(`${server.url}/audit`);
  await expect(nora.page.getByText("This page is for people who have signed in.")).toBeVisible();
  await nora.page.getByRole("link", { name: "Sign in" }).click();
  await nora.page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(nora.page.getByRole("alert")).toContainText("may not sign in");
  await page.getByRole("button", { name: "Unlock nora" }).click();
  await nora.page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(nora.page).toHaveURL(`${server.url}/audit`);
  await nora.context.close();
});
