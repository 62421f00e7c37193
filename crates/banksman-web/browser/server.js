// A real server with a policy of every kind, its credentials, and someone who is signed in.
import { test as base, expect } from "@playwright/test";
import AxeBuilder from "@axe-core/playwright";
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const PROGRAM = process.env.BANKSMAN_PROGRAM ?? "banksman";
const PICTURES = join(process.env.BANKSMAN_BROWSER_ARTEFACTS ?? "artefacts", "pictures");

const POLICY = `
version: 1
defaults: {timeout: 1h}
tools:
  send_email: {risk: high, tier: approve}
  add_label: {risk: low, tier: approve, allow_remember: {for: 24h, scopes: [exact, args, tool, all_sessions]}}
  process_refund: {risk: medium, tier: approve, message: "Compare the order with the amount."}
  close_account: {risk: critical, tier: escalate, require_reason: true}
  charge_card: {risk: high, tier: approve, redact: [card]}
  shell: {tier: approve}
  write_file: {risk: medium, tier: approve}
  launch: {risk: critical, tier: approve, require_passkey: true}
rules:
  - id: signed
    match: {tool: "signed *"}
    tier: approve
    require_passkey: true
`;

export class Server {
  static async start(listen = "127.0.0.1:0", ...more) {
    const data = mkdtempSync(join(tmpdir(), "banksman-browser-"));
    const policy = join(data, "policy.yaml");
    writeFileSync(policy, POLICY);
    const child = spawn(PROGRAM, ["serve", "--json", "--data", join(data, "data"), "--listen", listen, "--policy", policy, ...more], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, USER: "ada" },
    });
    let said = "";
    child.stderr.on("data", (chunk) => { said = (said + chunk).slice(-4000); });
    const welcome = await new Promise((resolve, reject) => {
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += chunk;
        try { resolve(JSON.parse(text)); } catch { /* not all of it yet */ }
      });
      child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
    // Where passkeys work: browsers give them to localhost, not to its number.
    const url = new URL(welcome.first.sign_in_link).origin;
    return Object.assign(new Server(), { data, child, url, agent: welcome.first.agent_token, link: welcome.first.sign_in_link });
  }

  stop() {
    this.child.kill("SIGKILL");
    rmSync(this.data, { recursive: true, force: true });
  }

  token(kind, name, ...roles) {
    const words = ["token", "new", "--kind", kind, "--name", name, "--data", join(this.data, "data"), "--json"];
    for (const role of roles) words.push("--role", role);
    return JSON.parse(execFileSync(PROGRAM, words)).token;
  }

  banksman(...words) {
    return execFileSync(PROGRAM, [...words, "--data", join(this.data, "data"), "--url", this.url]).toString();
  }

  // Someone new: the link of their invitation.
  invite(name, ...more) {
    return JSON.parse(this.banksman("user", "add", name, "--json", ...more)).link;
  }

  async call(token, path, body) {
    const answer = await fetch(this.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const json = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${JSON.stringify(json)}`);
    return json;
  }

  propose(tool, args, more = {}) {
    return this.call(this.agent, "/v1/actions", { tool, args, ...more });
  }

  async withdraw(action) {
    await this.call(this.agent, `/v1/actions/${action.id}/cancel`, {});
  }

  async status(action) {
    return (await this.call(this.agent, `/v1/actions/${action.id}`)).status;
  }
}

// What runs where it must not: a dialog, a request to elsewhere, a violation of the policy, an error of a script.
const watch = (page, server) => {
  const wrong = [];
  page.on("dialog", async (dialog) => { wrong.push(`dialog: ${dialog.message()}`); await dialog.dismiss(); });
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("console", (message) => { if (/Content Security Policy|Trusted/i.test(message.text())) wrong.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith(server.url)) wrong.push(`request: ${request.url()}`); });
  return wrong;
};

export const test = base.extend({
  server: [async ({}, use) => {
    const server = await Server.start();
    await use(server);
    server.stop();
  }, { scope: "worker" }],
  cookies: [async ({ server, browser }, use) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("waiting");
    await use(await context.cookies());
    await context.close();
  }, { scope: "worker" }],
  context: async ({ context, cookies }, use) => {
    await context.addCookies(cookies);
    await use(context);
  },
  wrong: async ({ page, server }, use) => {
    const wrong = watch(page, server);
    await use(wrong);
    expect(wrong).toEqual([]);
  },
});

export const picture = async (page, name) => {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
};

export const accessible = async (page) => {
  const result = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
  const found = result.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  expect(found).toEqual([]);
};

export { expect };
