// Chromium, driven by playwright-core, as a program that answers lines of JSON. Arguments: the folder with node_modules.
// A line has pages, which are opened side by side: [{"url", "width", "scheme", "script", "patience", "steps": [[name, argument, …], …]},
// …] → [{"errors": […], "answers": […]}, …]
import { createRequire } from "node:module";
import readline from "node:readline";
import fs from "node:fs";

const require = createRequire(`${process.argv[2]}/package.json`);
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: process.argv[3], args: ["--no-sandbox"] });

const steps = {
  click: (page, selector) => page.click(selector),
  follow: async (page, selector) => { await Promise.all([page.waitForNavigation(), page.click(selector)]); },
  fill: (page, selector, text) => page.fill(selector, text),
  select: (page, selector, value) => page.selectOption(selector, value),
  press: async (page, selector, ...keys) => { for (const key of keys) await page.press(selector, key); },
  hover: (page, selector) => page.hover(selector),
  wait: (page, selector) => page.waitForSelector(selector),
  gone: (page, selector) => page.waitForSelector(selector, { state: "detached" }),
  text: (page, selector) => page.textContent(selector),
  selected: page => page.evaluate(() => getSelection().toString()),
  attribute: (page, selector, name) => page.getAttribute(selector, name),
  style: (page, selector, name) => page.$eval(selector, (element, name) => getComputedStyle(element)[name], name),
  count: (page, selector) => page.locator(selector).count(),
  title: page => page.title(),
  address: page => page.url(),
  overflow: page => page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
  picture: (page, selector) => page.evaluate(async selector => {
    const image = new Image();
    image.src = document.querySelector(selector).getAttribute("href");
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  }, selector),
  shot: (page, path) => page.screenshot({ path, fullPage: true }).then(() => path),
  download: async (page, selector, path) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
    await file.saveAs(path);
    return file.suggestedFilename();
  },
  faults: async page => {
    const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
    return found.violations.filter(each => ["serious", "critical"].includes(each.impact))
      .map(each => `${each.id}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" | ")}`);
  },
};

async function visit(asked) {
  const context = await browser.newContext({
    viewport: { width: asked.width, height: 900 }, colorScheme: asked.scheme, javaScriptEnabled: asked.script,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(asked.patience);
  const errors = [], answers = [];
  page.on("console", each => errors.push(`console: ${each.text()}`));
  page.on("pageerror", each => errors.push(`error: ${each}`));
  page.on("requestfailed", each => {  // a download is no page: its navigation ends
    const isDownload = each.isNavigationRequest() && each.failure()?.errorText === "net::ERR_ABORTED";
    if (!isDownload) errors.push(`failed: ${each.url()}`);
  });
  page.on("request", each => { if (!/^data:/.test(each.url()) && new URL(each.url()).host !== new URL(asked.url).host) errors.push(`elsewhere: ${each.url()}`); });
  await page.addInitScript("addEventListener('securitypolicyviolation', e => console.log('CSP', e.violatedDirective))");
  try {
    await page.goto(asked.url, { waitUntil: "networkidle" });
    for (const [name, ...given] of asked.steps) answers.push((await steps[name](page, ...given)) ?? null);
  } catch (error) {
    errors.push(String(error));
  }
  await context.close();
  return { errors, answers };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await Promise.all(JSON.parse(line).map(visit))) + "\n");
}
await browser.close();
