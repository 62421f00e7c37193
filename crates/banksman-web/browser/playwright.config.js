import { defineConfig } from "@playwright/test";

// One server for each file of tests, one after the other: they share a machine with the build.
export default defineConfig({
  testDir: "tests",
  outputDir: process.env.BANKSMAN_BROWSER_ARTEFACTS ?? "artefacts",
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      executablePath: process.env.BANKSMAN_CHROMIUM ?? "/usr/bin/chromium",
      // Tests run as root in containers, where Chromium's own sandbox cannot.
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    },
  },
});
