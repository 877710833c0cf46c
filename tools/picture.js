// Takes the pictures of tools/picture: of WORK/demo.json in speedscope's page, half a second in the
// middle of the main thread's time, and of WORK/demo.svg.
//
//     node picture.js WORK CHROMIUM FOLDER
'use strict';
const path = require('path');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const WIDTH = 1280;
const MOST_BYTES = 150000; // a README is read on slow lines, too

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function open(browser, file, height) {
  const page = await browser.newPage();
  await page.setViewport({ width: WIDTH, height });
  await page.goto(pathToFileURL(file).href);
  return page;
}

async function take(page, file) {
  const { length } = await page.screenshot({ path: file });
  if (length > MOST_BYTES) throw new Error(`${file}: ${length} bytes, at most ${MOST_BYTES}`);
}

// The page zooms to a quarter and then to a fifth of that, around the mouse.
async function speedscope(browser, work, folder) {
  const release = path.join(work, 'node_modules/speedscope/dist/release');
  const page = await open(browser, path.join(release, 'index.html'), 480);
  const input = await page.waitForSelector('input[type=file]');
  await input.uploadFile(path.join(work, 'demo.json'));
  await page.waitForFunction(() => document.body.innerText.includes('| wall'));
  await pause(2000);
  await page.mouse.move(WIDTH / 2, 300);
  await page.keyboard.down('Control');
  for (const deltaY of [-30, -32]) {
    await page.mouse.wheel({ deltaY });
    await pause(1000);
  }
  await page.keyboard.up('Control');
  await page.mouse.move(WIDTH - 2, 478); // no frame is pointed at
  await pause(1000);
  await take(page, path.join(folder, 'speedscope.png'));
}

async function flamegraph(browser, work, folder) {
  const page = await open(browser, path.join(work, 'demo.svg'), 800);
  const height = await page.evaluate(() => {
    const line = document.querySelector('#head .quiet'); // without this machine and this day
    line.textContent = line.textContent.replace(/; [^;]*$/, '');
    return Number(document.documentElement.getAttribute('height'));
  });
  await page.setViewport({ width: WIDTH, height });
  await pause(500);
  await take(page, path.join(folder, 'flamegraph.png'));
}

async function main() {
  const [work, chromium, folder] = process.argv.slice(2);
  const load = createRequire(path.join(path.resolve(work), 'x.js'));
  const browser = await load('puppeteer-core').launch({
    executablePath: chromium,
    headless: true,
    userDataDir: path.join(work, 'chromium'),
    args: ['--no-sandbox', '--allow-file-access-from-files', '--enable-unsafe-swiftshader'],
  });
  try {
    await speedscope(browser, work, folder);
    await flamegraph(browser, work, folder);
  } finally {
    await browser.close();
  }
}

main().then(() => process.exit(0), (e) => { console.error(e.stack); process.exit(1); });
