// Signing in by the word of an identity provider that we did not write.
import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, expect, picture, Server } from "../server.js";
import { freePort, startProvider } from "../oidc.js";

const signInThere = async (page, name) => {
  await page.locator('[name="login"]').fill(name);
  await page.locator('[name="password"]').fill("anything");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
};

test("the provider vouches, and the table says what that is worth", async ({ browser }) => {
  const port = await freePort();
  const provider = await startProvider(`http://localhost:${port}/sign-in/provider/callback`);
  const folder = mkdtempSync(join(tmpdir(), "banksman-identity-"));
  const secret = join(folder, "secret");
  const identity = join(folder, "identity.yaml");
  writeFileSync(secret, "a secret of the tests\n");
  writeFileSync(identity, `
version: 1
provider:
  label: Local
  issuer: ${provider.issuer}
  client_id: banksman
  client_secret: {file: ${secret}}
  scopes: [profile]
  roles_claim: groups
  admit:
    - {value: finance-team, roles: [finance]}
`);
  const server = await Server.start(`127.0.0.1:${port}`, "--identity", identity);
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.url}/sign-in?next=/audit`);
    await picture(page, "identity-provider");
    await page.getByRole("link", { name: "Sign in with Local" }).click();
    await signInThere(page, "olga");
    await expect(page).toHaveURL(`${server.url}/audit`);
    await expect(page.getByText("olga added as reviewer, finance")).toBeVisible();
    // The same address again, as someone who saw it would send it: nobody is let in.
    const stranger = await browser.newContext();
    const answer = await stranger.request.get(`${server.url}/sign-in/provider/callback?code=x&state=y`);
    expect(answer.status()).toBe(403);
    await stranger.close();
    await context.close();

    const other = await browser.newContext();
    const theirs = await other.newPage();
    await theirs.goto(`${server.url}/sign-in/provider`);
    await signInThere(theirs, "sven");
    await expect(theirs.getByRole("alert")).toContainText("you have not been let in here");
    expect((await other.cookies()).filter((cookie) => cookie.name === "banksman_session")).toEqual([]);
    await other.close();
  } finally {
    server.stop();
    provider.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
