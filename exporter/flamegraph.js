// The script of a flame graph that wallspy wrote: zoom, search and details.  Without it the picture
// is complete as it stands.  Each frame is a <g data-t="start end"> in microseconds, which holds a
// <title> of lines (name, place, figures), a <rect> and a <text>.
(() => {
  'use strict';
  const svg = document.documentElement;
  const XHTML = 'http://www.w3.org/1999/xhtml';
  const { margin: MARGIN, row: ROW, top: TOP } = Object.fromEntries(
    Object.entries(svg.dataset).map(([key, value]) => [key, Number(value)]));
  const PAD = 4;
  const byId = (id) => document.getElementById(id);
  const make = (name, attributes, parent, namespace = svg.namespaceURI) => {
    const element = document.createElementNS(namespace, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return parent.appendChild(element);
  };

  const frames = [...byId('frames').children].map((g) => {
    const [start, end] = g.dataset.t.split(' ').map(Number);
    const [title, rect, text] = g.children;
    const lines = title.textContent.split('\n');
    title.remove(); // the page's own box shows it
    const f = { g, rect, text, start, end, lines, name: lines[0] };
    f.place = lines.length > 2 ? shortPlace(lines[1]) : '';
    f.isPython = rect.getAttribute('class').startsWith('py');
    f.depth = Math.round((Number(rect.getAttribute('y')) - TOP) / ROW);
    return f;
  });
  const all = frames[0];
  if (!all) return;
  let zoomed = all;
  let width = 0;

  // ---- words and figures ----

  function seconds(us) {
    const s = us / 1e6;
    if (s >= 100) return `${s.toFixed(0)} s`;
    if (s >= 1) return `${s.toFixed(s >= 10 ? 1 : 2)} s`;
    return `${(us / 1e3).toFixed(us >= 1e4 ? 0 : 2)} ms`;
  }

  // "[libc.so.6] /src/read.c:12" is read.c:12, "[libc.so.6]" itself.
  function shortPlace(place) {
    return place.replace(/^\[guessed\] ?/, '').replace(/^\[[^\]]*\] /, '').replace(/^.*\//, '');
  }

  const charWidth = (() => {
    const probe = make('text', { class: 'probe' }, svg);
    probe.textContent = 'm'.repeat(50);
    const measured = probe.getComputedTextLength() / 50;
    probe.remove();
    return measured || 7.3;
  })();
  // Characters of East Asian scripts and emoji take two columns.
  const columnsOf = (s) => [...s].reduce((n, c) => n + (c.codePointAt(0) < 0x1100 ? 1 : 2), 0);

  function cut(s, columns) {
    let out = '';
    let n = 1;
    for (const c of s) {
      n += columnsOf(c);
      if (n > columns) break;
      out += c;
    }
    return `${out}…`;
  }

  // F's name without what it can lose: arguments first, then outer namespaces or Python's classes.
  function shortenings(f) {
    const separator = f.isPython ? '.' : '::';
    const name = f.name;
    let bare = name;
    for (let before; before !== bare;) {
      before = bare;
      bare = bare.replace(/(\w)(\([^()<>]*\)|<[^()<>]*>)/g, '$1');
    }
    const list = [name, bare];
    for (let at; (at = bare.indexOf(separator)) > 0;)
      list.push(bare = bare.slice(at + separator.length));
    return list;
  }

  function writeText(f, room) {
    const columns = Math.floor((room - 2 * PAD) / charWidth);
    f.text.textContent = '';
    if (columns < 3) return;
    const whole = columnsOf(f.name);
    if (whole > columns) {
      const fitting = shortenings(f).find((s) => columnsOf(s) <= columns);
      f.text.textContent = fitting || cut(shortenings(f).pop(), columns);
      return;
    }
    f.text.textContent = f.name;
    if (f.place && whole + columnsOf(f.place) + 2 <= columns)
      make('tspan', { class: 'place' }, f.text).textContent = `  ${f.place}`;
  }

  // ---- zoom ----

  function place(f) {
    const scale = (width - 2 * MARGIN) / (zoomed.end - zoomed.start);
    const isAbove = f.depth < zoomed.depth && f.start <= zoomed.start && f.end >= zoomed.end;
    const isInside = f.depth >= zoomed.depth && f.start >= zoomed.start && f.end <= zoomed.end;
    f.g.style.display = isAbove || isInside ? '' : 'none';
    f.g.classList.toggle('above', isAbove);
    if (!isAbove && !isInside) return;
    const x = MARGIN + (isAbove ? 0 : (f.start - zoomed.start) * scale);
    const w = isAbove ? width - 2 * MARGIN : (f.end - f.start) * scale;
    f.rect.setAttribute('x', x);
    f.rect.setAttribute('width', w > 2.5 ? w - 1 : .6 * w);
    f.text.setAttribute('x', x + PAD);
    writeText(f, w);
  }

  function drawAxis() {
    const axis = byId('axis');
    const time = zoomed.end - zoomed.start;
    const room = width - 2 * MARGIN;
    const least = time / Math.max(1, Math.floor(room / 130));
    const unit = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= least);
    axis.textContent = '';
    for (let at = 0; at <= time; at += step) {
      const x = MARGIN + at / time * room;
      make('line', { x1: x, x2: x, y1: TOP - 18, y2: TOP }, axis);
      const percent = (100 * at / (all.end - all.start)).toFixed(zoomed === all ? 0 : 1);
      if (x + 100 > width) break;
      make('text', { x: x + PAD, y: TOP - 7 }, axis).textContent =
        at ? `${seconds(at)}, ${percent} %` : '0 s';
    }
  }

  function draw() {
    frames.forEach(place);
    drawAxis();
    reset.disabled = zoomed === all && !pattern;
  }

  function zoom(f) {
    zoomed = f;
    hideTip();
    draw();
    tellMatched();
  }

  // ---- search ----

  const tools = make('foreignObject', { y: 6, width: 620, height: 34 }, byId('head'));
  const bar = make('div', { id: 'tools' }, tools, XHTML);
  const matched = make('span', { id: 'matched' }, bar, XHTML);
  const input = make('input', { type: 'search', placeholder: 'Search (Ctrl-F)', spellcheck: false,
    'aria-label': 'Search' }, bar, XHTML);
  const isRegex = make('button', { id: 'regex', 'aria-pressed': true,
    title: 'Regular expression, or plain text' }, bar, XHTML);
  isRegex.textContent = '.*';
  const reset = make('button', { id: 'reset', title: 'No zoom, no search (Esc)' }, bar, XHTML);
  reset.textContent = 'Reset';
  let pattern = null;

  // Without a capital letter both cases match.  What is no regular expression is plain text.
  function patternOf(text) {
    const flags = text === text.toLowerCase() ? 'i' : '';
    const plain = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    if (!text) return null;
    try {
      return new RegExp(isRegex.getAttribute('aria-pressed') === 'true' ? text : plain, flags);
    } catch {
      return new RegExp(plain, flags);
    }
  }

  // A match inside of a match counts once.
  function tellMatched() {
    let us = 0;
    let done = zoomed.start;
    const hits = frames.filter((f) => f.hit && f.end > zoomed.start && f.start < zoomed.end);
    for (const f of hits.sort((a, b) => a.start - b.start || b.end - a.end)) {
      const start = Math.max(f.start, done);
      const end = Math.min(f.end, zoomed.end);
      if (end > start) us += end - start;
      done = Math.max(done, end);
    }
    const percent = (100 * us / (zoomed.end - zoomed.start)).toFixed(1);
    const what = zoomed === all ? 'of all' : 'of this';
    matched.textContent = pattern ? `matched: ${percent} % ${what}, ${seconds(us)}` : '';
  }

  function search() {
    pattern = patternOf(input.value);
    for (const f of frames) {
      f.hit = f !== all && Boolean(pattern && (pattern.test(f.name) || pattern.test(f.place)));
      f.g.classList.toggle('hit', f.hit);
    }
    byId('frames').classList.toggle('searching', Boolean(pattern));
    reset.disabled = zoomed === all && !pattern;
    tellMatched();
  }

  function resetAll() {
    input.value = '';
    search();
    zoom(all);
    input.blur();
  }

  // ---- details ----

  const tip = make('g', { id: 'tip', style: 'display: none; pointer-events: none' }, svg);

  // LINE in pieces of so many columns, at most five.
  function wrapped(line, columns) {
    const pieces = [];
    const letters = [...line];
    while (letters.length && pieces.length < 5) pieces.push(letters.splice(0, columns).join(''));
    return letters.length ? [...pieces.slice(0, 4), '…'] : pieces;
  }

  function showTip(f, event) {
    const columns = Math.max(30, Math.min(110, Math.floor(width / charWidth) - 8));
    const lines = f.lines.flatMap((line) => wrapped(line, columns));
    const w = Math.max(...lines.map(columnsOf)) * charWidth + 16;
    const h = lines.length * 16 + 12;
    const x = Math.max(2, Math.min(event.clientX + 12, width - w - 2));
    const below = event.clientY + 18;
    const y = below + h < window.innerHeight ? below : event.clientY - h - 8;
    tip.textContent = '';
    make('rect', { x, y: y + scrolled(), width: w, height: h, rx: 4 }, tip);
    lines.forEach((line, i) => {
      make('text', { x: x + 8, y: y + scrolled() + 18 + 16 * i }, tip).textContent = line;
    });
    tip.style.display = '';
  }

  function hideTip() {
    tip.style.display = 'none';
  }

  // ---- the page ----

  const scrolled = () => window.scrollY || 0;

  function layOut() {
    width = Math.max(400, svg.clientWidth || window.innerWidth);
    svg.setAttribute('width', '100%');
    for (const page of svg.querySelectorAll('.page')) page.setAttribute('width', width);
    tools.setAttribute('x', Math.max(0, width - MARGIN - 620));
    draw();
  }

  frames.forEach((f) => {
    f.g.addEventListener('click', () => zoom(f));
    f.g.addEventListener('mousemove', (event) => showTip(f, event));
    f.g.addEventListener('mouseleave', hideTip);
  });
  input.addEventListener('input', search);
  isRegex.addEventListener('click', () => {
    isRegex.setAttribute('aria-pressed', isRegex.getAttribute('aria-pressed') !== 'true');
    search();
  });
  reset.addEventListener('click', resetAll);
  window.addEventListener('keydown', (event) => {
    const wantsSearch = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f';
    if (event.key === 'Escape') resetAll();
    // A second Ctrl-F is the browser's own.
    if (!wantsSearch || document.activeElement === input) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  window.addEventListener('resize', layOut);
  window.addEventListener('scroll', () => {
    hideTip();
    byId('head').setAttribute('transform', `translate(0 ${scrolled()})`);
  });
  svg.removeAttribute('viewBox'); // it would stretch all letters
  layOut();
})();
