// Opens FILE in speedscope's own page in headless Chromium, as a user does: through the file
// input.  Fails on an error of the page or its console, and unless all profiles and frames of the
// file are in what the page imported.  Also holds the file against the package's schema.
//
//     node open_page.js NODE_MODULES CHROMIUM FILE [SCREENSHOT.png]
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const IMPORT_MS = 30000;

function checkSchema(load, release, document) {
  const Ajv = load('ajv');
  const schema = JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json')));
  const ajv = new Ajv({ strict: false });
  const ok = ajv.validate(schema, document);
  return ok ? [] : [`schema: ${ajv.errorsText()}`];
}

function checkFrames(document) {
  const seen = new Set();
  const problems = [];
  for (const { name, file, line } of document.shared.frames) {
    const key = JSON.stringify([name, file, line]);
    if (seen.has(key)) problems.push(`frame twice: ${key}`);
    seen.add(key);
  }
  for (const profile of document.profiles) {
    const sum = profile.weights.reduce((a, b) => a + b, 0);
    if (sum !== profile.endValue) problems.push(`${profile.name}: weights ${sum} ≠ ${profile.endValue}`);
    if (profile.weights.some((w) => w <= 0)) problems.push(`${profile.name}: a weight ≤ 0`);
  }
  return problems;
}

// The sandwich view lists frames by self time and renders the first screen only.
function heaviestLeaf(document) {
  const { samples, weights } = document.profiles[document.activeProfileIndex];
  const self = new Map();
  samples.forEach((s, i) => {
    if (s.length) self.set(s[s.length - 1], (self.get(s[s.length - 1]) || 0) + weights[i]);
  });
  const heaviest = [...self].sort((a, b) => b[1] - a[1])[0];
  return heaviest && document.shared.frames[heaviest[0]].name;
}

// The page keeps no global to look at, so its text is looked at: the open profile's name with the
// number of profiles in the bar, and the frames by name in the sandwich view's table.
async function checkShown(page, document) {
  const problems = [];
  const active = document.profiles[document.activeProfileIndex].name;
  await page.waitForFunction((name) => document.body.innerText.includes(name),
    { timeout: IMPORT_MS }, active).catch(() => problems.push(`never showed ${active}`));
  const bar = await page.evaluate(() => document.body.innerText);
  const count = `/${document.profiles.length}`;
  if (document.profiles.length > 1 && !bar.replace(/\s/g, '').includes(count))
    problems.push(`the bar does not say ${count}: ${bar.slice(0, 200)}`);
  await page.keyboard.press('3');
  const name = heaviestLeaf(document);
  if (name)
    await page.waitForFunction((n) => document.body.innerText.includes(n), { timeout: 5000 }, name)
      .catch(() => problems.push(`no frame ${name} in the sandwich view`));
  await page.keyboard.press('1');
  return problems;
}

async function openInPage(load, release, chromium, file, document, screenshot) {
  const problems = [];
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'wallspy-chromium-'));
  const browser = await load('puppeteer-core').launch({
    executablePath: chromium,
    headless: true,
    userDataDir: home,
    args: ['--no-sandbox', '--allow-file-access-from-files', '--enable-unsafe-swiftshader'],
  });
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1400, height: 900 });
    page.on('pageerror', (e) => problems.push(`page error: ${e.message}`));
    page.on('dialog', (d) => { problems.push(`alert: ${d.message()}`); d.dismiss(); });
    page.on('console', (m) => { if (m.type() === 'error') problems.push(`console: ${m.text()}`); });
    await page.goto(pathToFileURL(path.join(release, 'index.html')).href);
    const input = await page.waitForSelector('input[type=file]');
    await input.uploadFile(file);
    problems.push(...await checkShown(page, document));
    if (screenshot) await page.screenshot({ path: screenshot });
  } finally {
    await browser.close();
    fs.rmSync(home, { recursive: true, force: true });
  }
  return problems;
}

async function main() {
  const [modules, chromium, file, screenshot] = process.argv.slice(2);
  const load = createRequire(path.join(path.resolve(modules), 'x.js'));
  const release = path.join(modules, 'speedscope/dist/release');
  const document = JSON.parse(fs.readFileSync(file));
  const problems = [
    ...checkSchema(load, release, document),
    ...checkFrames(document),
    ...await openInPage(load, release, chromium, file, document, screenshot),
  ];
  problems.forEach((p) => console.error(`${path.basename(file)}: ${p}`));
  return problems.length ? 1 : 0;
}

main().then((code) => process.exit(code), (e) => { console.error(e.stack); process.exit(1); });
