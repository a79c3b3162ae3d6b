// SPDX-License-Identifier: Apache-2.0
// Elements, numbers and colours. Text from files becomes text nodes only, never markup.
'use strict';
const Page = {kinds: {}, redraws: []};

// h('div', {class: 'x', onclick: f}, 'text', child, [children])
function h(tag, attributes, ...children) {
  const svg = ['svg', 'g', 'rect', 'path', 'text', 'line', 'title'].includes(tag) && Page.inSvg;
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false)
      e.append(child instanceof Node ? child : String(child));
  return e;
}
// The same for SVG.
function s(tag, attributes, ...children) {
  Page.inSvg = true;
  const e = h(tag, attributes);
  Page.inSvg = false;
  for (const child of children.flat(Infinity)) if (child) e.append(child instanceof Node ? child : String(child));
  return e;
}

function formatBytes(n) {
  if (n < 1024) return n + ' B';
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let u = -1;
  do { n /= 1024; ++u; } while (n >= 1024 && u < 3);
  return (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)) + ' ' + units[u];
}
function formatUs(us) {
  const a = Math.abs(us);
  if (a === 0) return '0 µs';
  if (a < 1) return (us * 1000).toFixed(0) + ' ns';
  if (a < 1e3) return us.toPrecision(3) + ' µs';
  if (a < 1e6) return (us / 1e3).toPrecision(3) + ' ms';
  return (us / 1e6).toPrecision(3) + ' s';
}
function formatCount(n) { return Number.isInteger(n) ? n.toLocaleString('en-US') : String(+n.toPrecision(4)); }
function formatValue(type, value) {
  if (value === null || value === undefined || value === '') return '';
  if (typeof value !== 'number') return String(value);
  if (type === 'bytes') return formatBytes(value);
  if (type === 'us') return formatUs(value);
  if (type === 'percent') return (value * 100).toFixed(1) + ' %';
  return formatCount(value);
}
const isNumber = type => ['number', 'bytes', 'us', 'percent'].includes(type);

// Colours of the style sheet, for canvases. Read again when the theme changes.
function colour(name) {
  if (!Page.colours) Page.colours = {};
  if (!(name in Page.colours))
    Page.colours[name] = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  return Page.colours[name];
}
const palette = index => index === null || index === undefined || index < 0 ? 'none' : 'c' + index % 8;
// A stable colour of the palette for a name.
function nameColour(name) {
  let sum = 0;
  for (let i = 0; i < name.length; ++i) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return 'c' + sum % 8;
}
function dot(name) {
  const e = h('span', {class: 'dot', 'aria-hidden': 'true'});
  e.style.background = 'var(--' + name + ')';
  return e;
}

// Sizes a canvas to its element and the screen's pixels. Returns the context, in CSS pixels.
function fitCanvas(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// Calls draw once per frame however often it is requested, and when theme or width change.
function scheduled(draw, element) {
  let waiting = false;
  const request = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  Page.redraws.push(draw);
  if (element) new ResizeObserver(request).observe(element);
  return request;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  Page.colours = null;
  for (const redraw of Page.redraws) redraw();
}
function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}
