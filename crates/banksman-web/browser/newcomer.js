// Someone new, with a passkey that Chromium plays.
import { expect } from "@playwright/test";

// A browser of one's own, with a key that is always touched by the right person.
export const newcomer = async (browser) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("console", (message) => { if (/Content Security Policy|Trusted/i.test(message.text())) wrong.push(message.text()); });
  const cdp = await context.newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const verified = (is) => cdp.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: is });
  return { context, page, wrong, verified };
};

export const inbox = (page) => expect(page.getByRole("heading", { level: 1 })).toContainText("waiting");

export const joinWithPasskey = async (page, link) => {
  await page.goto(link);
  await page.getByLabel("What you call it").fill("blue key");
  await page.getByRole("button", { name: "Set up a passkey" }).click();
  await inbox(page);
};
