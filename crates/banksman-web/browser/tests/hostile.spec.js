// The hostile gallery in a real browser: no script runs, no request leaves, the trusted controls stay where they were.
import { readFileSync } from "node:fs";
import { test, expect, picture } from "../server.js";

const payloads = JSON.parse(readFileSync(new URL("../payloads.json", import.meta.url), "utf8"));

// Names hold no control characters; everything else does.
const nameable = (text) => [...text.replace(/\p{Cc}/gu, "")].slice(0, 100).join("") || "x";

const body = (text) => ({
  tool: nameable(text), args: { [text]: text, content: text, list: [text, { deep: text }] }, description: text, rationale: text,
  evidence: { said: text }, session: nameable(text), rollback_plan: text, affected_systems: [nameable(text)], state_before: text,
});

const controls = (page) => page.evaluate(() => [...document.querySelectorAll("button, form, a, input[type=hidden]")]
  .filter((element) => element.closest(".bar, .decide"))
  .map((element) => `${element.tagName} ${element.getAttribute("name")} ${element.textContent.trim()} ${element.getAttribute("action") ?? ""}`));

const foreign = (page) => page.evaluate(() => ({
  elements: document.querySelectorAll("iframe, object, embed, img, svg:not(.drawing svg, .bar-of), base, style, math, video, audio").length,
  handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some((attribute) => /^on|^style$/.test(attribute.name))).length,
  inside: document.querySelectorAll(".untrusted button, .untrusted a, .untrusted form, .untrusted input, .value button, .value a").length,
  escaped: [...document.querySelectorAll(".untrusted *")].filter((element) => {
    const panel = element.closest(".untrusted").getBoundingClientRect(), box = element.getBoundingClientRect();
    return box.width > 0 && !element.classList.contains("away") && (box.left < panel.left - 1 || box.right > panel.right + 1);
  }).length,
  sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}));

test("every text in every field", async ({ page, server, wrong }) => {
  test.setTimeout(600_000);
  const { tool: plain, args: harmlessArgs, ...rest } = body("words");
  const harmless = await server.propose(plain, harmlessArgs, rest);
  await page.goto(`${server.url}/actions/${harmless.id}`);
  const expected = await controls(page);
  await server.withdraw(harmless);
  for (const { name, text } of payloads) {
    const { tool, args, ...more } = body(text);
    const action = await server.propose(tool, args, more);
    for (const path of [`/actions/${action.id}`, `/actions/${action.id}/edit`, "/", "/audit", "/overview"]) {
      await page.goto(server.url + path);
      expect(await foreign(page), `${name} on ${path}`).toEqual({ elements: 0, handlers: 0, inside: 0, escaped: 0, sideways: 0 });
    }
    await page.goto(`${server.url}/actions/${action.id}`);
    expect(await controls(page), name).toEqual(expected);
    if (["overlong word", "fake end of panel", "bidi override", "style attribute", "lookalike host"].includes(name)) {
      await picture(page, `hostile-${name.replaceAll(" ", "-")}`);
    }
    await server.withdraw(action);
    expect(wrong, name).toEqual([]);
  }
});

test("a page of another origin cannot frame or drive the console", async ({ page, server, context }) => {
  const answer = await page.goto(`${server.url}/`);
  const headers = answer.headers();
  expect(headers["x-frame-options"]).toBe("DENY");
  expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  const [cookie] = await context.cookies(server.url);
  expect([cookie.httpOnly, cookie.sameSite]).toEqual([true, "Lax"]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
});
