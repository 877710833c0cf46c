// Opens the flame graph FILE in headless Chromium, clicks, searches and resets as a user does, and
// looks at what is shown.  Fails on an error of the page or its console, and on any request.
// FILE is what write_files.c made: a main thread and mge-worker.
//
//     node open_flamegraph.js NODE_MODULES CHROMIUM FILE [SCREENSHOT.png]
'use strict';
const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const WIDTH = 1300;
const MARGIN = 10;

// The frames that are shown, as {name, text, x, width, classes}.
function shownFrames(page) {
  return page.$$eval('#frames > g', (all) => all.filter((g) => g.style.display !== 'none').map((g) => ({
    text: g.querySelector('text').textContent,
    x: Number(g.querySelector('rect').getAttribute('x')),
    width: Number(g.querySelector('rect').getAttribute('width')),
    isHit: g.classList.contains('hit'),
    isAbove: g.classList.contains('above'),
  })));
}

const named = (frames, name) => frames.filter((f) => f.text.startsWith(name));
const only = (frames, name) => {
  const found = named(frames, name);
  assert.strictEqual(found.length, 1, `${found.length} frames ${name}`);
  return found[0];
};
const matchedText = (page) => page.$eval('#matched', (e) => e.textContent);
const searchText = (page) => page.$eval('#tools input', (e) => e.value);

async function click(page, name) {
  const [frame] = await page.$$(`xpath/.//*[@id="frames"]/*[starts-with(*[last()], "${name}")]/*[1]`);
  assert.ok(frame, `no frame ${name} to click`);
  await frame.click();
}

async function type(page, text) {
  await page.keyboard.down('Control');
  await page.keyboard.press('f');
  await page.keyboard.up('Control');
  await page.keyboard.type(text);
}

async function checkBeginning(page) {
  const frames = await shownFrames(page);
  const all = only(frames, 'all');
  assert.ok(Math.abs(all.width - (WIDTH - 2 * MARGIN)) < 2, `all is ${all.width} wide`);
  for (const f of frames)
    assert.ok(f.x >= MARGIN - 0.1 && f.x + f.width <= WIDTH - MARGIN + 0.1, `outside: ${f.text}`);
  assert.ok(frames.every((f) => !f.isHit && !f.isAbove));
  assert.strictEqual(await matchedText(page), '');
  assert.ok(await page.$eval('#reset', (b) => b.disabled));
  return frames;
}

async function checkZoom(page, before) {
  const worker = only(before, 'mge-worker');
  const inner = only(before, 'TopK::exec');
  await click(page, 'mge-worker');
  const zoomed = await shownFrames(page);
  assert.strictEqual(named(zoomed, 'main').length, 0);
  assert.ok(only(zoomed, 'all').isAbove);
  assert.ok(Math.abs(only(zoomed, 'mge-worker').width - (WIDTH - 2 * MARGIN)) < 2);
  const growth = only(zoomed, 'TopK::exec').width / inner.width;
  assert.ok(Math.abs(growth - (WIDTH - 20) / worker.width) < 0.02, `grew ${growth} times`);
  const axis = await page.$eval('#axis', (e) => e.textContent);
  assert.match(axis, /^0 s2\.00 s, \d+\.\d %/);
  await click(page, 'all');
  assert.deepStrictEqual(await shownFrames(page), before);
}

// write_files.c: 50 times 30 ms of Conv and 170 ms of TopK in 10.2 s of the worker, and 10.5 s of
// main.
async function checkSearch(page, before) {
  await type(page, 'topk|cudaget');
  const hits = (await shownFrames(page)).filter((f) => f.isHit).map((f) => f.text);
  assert.strictEqual(hits.length, 2);
  assert.strictEqual(await matchedText(page), 'matched: 41.1 % of all, 8.50 s');
  await click(page, 'mge-worker');
  assert.strictEqual(await matchedText(page), 'matched: 83.3 % of this, 8.50 s');
  await page.keyboard.press('Escape');
  assert.strictEqual(await searchText(page), '');
  assert.deepStrictEqual(await checkBeginning(page), before);

  await type(page, 'Conv<float, 3>('); // no regular expression
  assert.strictEqual(await matchedText(page), 'matched: 0.0 % of all, 0.00 ms');
  await page.click('#reset');
  await type(page, 'f.*t');
  assert.notStrictEqual(await matchedText(page), 'matched: 0.0 % of all, 0.00 ms');
  await page.click('#regex');
  assert.strictEqual(await matchedText(page), 'matched: 0.0 % of all, 0.00 ms');
  await page.click('#regex');
  await page.click('#reset');
  assert.deepStrictEqual(await checkBeginning(page), before);
}

async function checkDetails(page) {
  const [rect] = await page.$$('xpath/.//*[@id="frames"]/*[starts-with(*[last()], "TopK")]/*[1]');
  await rect.hover();
  const lines = await page.$$eval('#tip text', (all) => all.map((t) => t.textContent));
  assert.deepStrictEqual(lines, ['TopK::exec', '[mge.so]',
    '8.50 s, 41.1 % of all, 85.0 % of its caller']);
}

async function checkResize(page) {
  await page.setViewport({ width: 700, height: 500 });
  await page.waitForFunction(() => Number(document.querySelector('#frames rect')
    .getAttribute('width')) < 700, { timeout: 5000 });
  const frames = await shownFrames(page);
  assert.ok(Math.abs(only(frames, 'all').width - 680) < 20);
}

// Whatever they are called, frames are text.
async function checkHostile(page) {
  assert.strictEqual((await page.$$('script')).length, 1);
  assert.strictEqual(await page.evaluate(() => window.wasRun), undefined);
  await type(page, '<script>window.wasRun');
  assert.strictEqual(await matchedText(page), 'matched: 0.5 % of all, 100 ms');
  await page.click('#reset');
}

async function openPicture(browser, file, shot) {
  const page = await browser.newPage();
  await page.setViewport({ width: 800, height: 500 });
  const html = path.join(path.dirname(file), 'picture.html');
  fs.writeFileSync(html, `<img src="${path.basename(file)}" width="780">`);
  await page.goto(pathToFileURL(html).href);
  const size = await page.$eval('img', (img) => [img.complete, img.naturalWidth]);
  assert.deepStrictEqual(size, [true, 1200]);
  if (shot) await page.screenshot({ path: shot.replace(/\.png$/, '.img.png') });
  await page.close();
}

async function openPage(browser, file, shot) {
  const problems = [];
  const page = await browser.newPage();
  await page.setViewport({ width: WIDTH, height: 800 });
  page.on('pageerror', (e) => problems.push(`page error: ${e.message}`));
  page.on('dialog', (d) => { problems.push(`alert: ${d.message()}`); d.dismiss(); });
  page.on('console', (m) => problems.push(`console: ${m.text()}`));
  page.on('request', (r) => { if (r.url() !== pathToFileURL(file).href) problems.push(r.url()); });
  await page.goto(pathToFileURL(file).href);
  const before = await checkBeginning(page);
  await checkHostile(page);
  await checkZoom(page, before);
  await checkSearch(page, before);
  await checkDetails(page);
  if (shot) await page.screenshot({ path: shot });
  await checkResize(page);
  assert.deepStrictEqual(problems, []);
}

async function main() {
  const [modules, chromium, file, shot] = process.argv.slice(2);
  const load = createRequire(path.join(path.resolve(modules), 'x.js'));
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'wallspy-chromium-'));
  const browser = await load('puppeteer-core').launch({
    executablePath: chromium, headless: true, userDataDir: home, args: ['--no-sandbox'],
  });
  try {
    await openPage(browser, file, shot);
    await openPicture(browser, file, shot);
  } finally {
    await browser.close();
    fs.rmSync(home, { recursive: true, force: true });
  }
}

main().then(() => process.exit(0), (e) => { console.error(e.stack); process.exit(1); });
