// How the pages look, in light and dark, on a desk and on a phone, and whether everyone can use them.
import { test, expect, picture, accessible } from "../server.js";

const SCREENS = [
  { name: "desk-light", viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  { name: "desk-dark", viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  { name: "phone-light", viewport: { width: 390, height: 844 }, colorScheme: "light" },
  { name: "phone-dark", viewport: { width: 320, height: 640 }, colorScheme: "dark" },
];

let pages;

test.beforeAll(async ({ server }) => {
  const shell = await server.propose("shell", { command: "cd /srv/app && git pull && sudo rm -rf ./releases/old && git push -f origin main" }, {
    kind: "shell", description: "Deploy the fix", rationale: "The customer waits; the old releases are not needed any more.",
    evidence: { ticket: "SUP-1204", said: "Please do it today. <b>Approved by ops</b>" }, session: "s-81", rollback_plan: "git reflog",
  });
  await server.propose("send_email", { to: "ceo@gооgle.com", subject: "Invoice \u202efdp.exe", body: "Hello,\nplease find the invoice attached.\n\nAda" }, { description: "Send the invoice" });
  const file = await server.propose("write_file", { path: "config/limits.yaml", content: "max: 100\nwindow: 1h\nretry: true\n" }, {
    kind: "file", state_before: "max: 50\nwindow: 1h\n", description: "Raise the limit",
  });
  await server.propose("add_label", { issue: 812, label: "needs-reply" }, { session: "s-81" });
  await server.propose("process_refund", { order: "A-77120", amount: 48.5, currency: "EUR", to: { iban: "DE02120300000000202051", name: "Grace Hopper" } });
  const close = await server.propose("close_account", { customer: "C-1", erase: true, note: "x".repeat(5000) + " and wire the rest to XY" });
  const batch = await server.call(server.agent, "/v1/batches", { items: [
    { tool: "add_label", args: { issue: 1, label: "bug" } }, { tool: "send_email", args: { to: "bob@example.com", subject: "Hi" } }, { tool: "process_refund", args: { order: "A-2", amount: 12 } },
  ] });
  const edited = await server.propose("close_account", { customer: "C-7", note: "They asked by mail.", erase: true });
  await server.call(server.token("reviewer", "grace"), `/v1/actions/${edited.id}/decision`, { decision: "modify", version: 1, digest: edited.digest, args: { customer: "C-7", note: "They asked by mail.", erase: false }, reason: "Keep the invoices." });
  const meeting = await server.propose("send_email", {
    to: [{ name: "Ann", address: "ann@example.com" }], subject: "Minutes", when: { date: "2026-11-20", hour: 9 }, tone: "plain",
  }, { args_schema: {
    type: "object", required: ["to", "subject", "when"], properties: {
      to: { type: "array", minItems: 1, items: { type: "object", required: ["name", "address"], properties: { name: { type: "string" }, address: { type: "string", format: "email" } } } },
      subject: { type: "string", maxLength: 80, description: "what it is about" }, tone: { enum: ["formal", "plain"] }, copy: { type: "boolean" },
      when: { type: "object", required: ["date"], properties: { date: { type: "string", format: "date" }, hour: { type: "integer", minimum: 0, maximum: 23 } } },
      files: { type: "array", items: { type: "string" } },
    } } });
  for (const [n, decision] of ["approve", "approve", "approve", "deny"].entries()) {
    const done = await server.propose("send_email", { to: "team@example.com", n });
    await server.call(server.token("reviewer", "grace"), `/v1/actions/${done.id}/decision`, { decision, version: 1, digest: done.digest });
  }
  pages = { inbox: "/", edited: `/actions/${edited.id}`, schema: `/actions/${meeting.id}/edit`, overview: "/overview", month: "/overview?window=month", "built-in": "/policy/built-in", settings: "/settings", guide: "/guide", action: `/actions/${shell.id}`, diff: `/actions/${file.id}`, long: `/actions/${close.id}`, edit: `/actions/${file.id}/edit`, batch: `/batches/${batch.id}`,
    grants: "/grants", delegations: "/delegations", freezes: "/freezes", mode: "/mode", people: "/people", account: "/account", audit: "/audit", policy: "/policy", empty: "/?q=nothing-is-called-so", missing: "/actions/act_01J9ZKQ7V8Y3F5T2M6N4P0R1SB" };
});

for (const screen of SCREENS) {
  test(`every page, ${screen.name}`, async ({ browser, cookies, server }) => {
    test.setTimeout(600_000);
    const context = await browser.newContext({ viewport: screen.viewport, colorScheme: screen.colorScheme });
    await context.addCookies(cookies);
    const page = await context.newPage();
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(server.url + path);
      await picture(page, `${name}-${screen.name}`);
      await accessible(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow, `${name} scrolls sideways`).toBeLessThanOrEqual(0);
    }
    await context.close();
  });
}

test("the first load is small", async ({ page, server }) => {
  let bytes = 0;
  page.on("response", async (answer) => { if (!answer.url().includes("/live")) bytes += (await answer.body().catch(() => Buffer.alloc(0))).length; });
  await page.goto(server.url + "/");
  await page.waitForTimeout(500);
  expect(bytes).toBeLessThan(150_000);
});
