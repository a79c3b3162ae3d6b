// SPDX-License-Identifier: Apache-2.0
// Events over time, in lanes for threads and devices. An event inside another one is drawn below it.
// A lane of memory has levels instead: bytes from a time on.
// Section: {lanes: [{name, events: [[name, begin_us, duration_us, place, detail, plugin]], levels: [[us, bytes, bytes taken, place]]}]}
'use strict';
const kRow = 21, kLaneHead = 20, kAxis = 24, kLevelRows = 3;

// Returns the ticks of an axis and their step.
function ticksOf(from, to, count) {
  const span = Math.max(to - from, 1e-9), raw = span / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(candidate => candidate >= raw);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

class Timeline {
  constructor(section) {
    this.lanes = section.lanes.map(lane => this.packed(lane));
    this.end = Math.max(1e-3, ...this.lanes.map(lane => lane.end));
    this.events = this.lanes.flatMap(lane => lane.events).sort((a, b) => a.begin - b.begin || a.row - b.row);
    this.height = kAxis + this.lanes.reduce((sum, lane) => sum + kLaneHead + lane.rows * kRow + 8, 0);
    this.canvas = h('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'timeline',
      'aria-label': section.title + '. Left and right choose an event, plus and minus zoom, A and D move, 0 shows all, Escape leaves.', onkeydown: e => this.key(e)});
    this.canvas.style.height = this.height + 'px';
    this.picked = h('p', {class: 'picked', role: 'status'}, 'Choose an event to see its times.');
    const button = (text, label, action) => h('button', {type: 'button', 'aria-label': label, onclick: action}, text);
    this.element = h('div', {}, h('div', {class: 'tools'}, button('+', 'Zoom in', () => this.scaleBy(1.6)), button('−', 'Zoom out', () => this.scaleBy(1 / 1.6)),
      button('All', 'Show all', () => this.set(0, this.end))), h('div', {class: 'strip'}, this.canvas), this.picked);
    this.from = 0;
    this.to = this.end;
    this.chosen = null;
    this.request = scheduled(() => this.draw(), this.canvas);
    this.listen();
  }
  // Rows by nesting: an event goes below those that are not over when it begins.
  packed(lane) {
    if (lane.levels) return this.packedLevels(lane);
    const events = lane.events.map(([name, begin, duration, place, detail, plugin]) => ({name, begin, duration, place, detail, plugin, end: begin + duration, lane: lane.name}))
      .sort((a, b) => a.begin - b.begin || b.duration - a.duration);
    const stack = [];
    let rows = 0, end = 0;
    for (const event of events) {
      while (stack.length && stack[stack.length - 1].end <= event.begin + 1e-9) stack.pop();
      event.row = stack.length;
      rows = Math.max(rows, event.row + 1);
      end = Math.max(end, event.end);
      stack.push(event);
    }
    return {name: lane.name, events, rows: Math.max(1, rows), end};
  }
  // A level lasts until the next one; the last one ends a run.
  packedLevels(lane) {
    const most = lane.levels.reduce((most, level) => Math.max(most, level[1]), 1);
    const events = lane.levels.slice(0, -1).map(([begin, bytes, taken, place], i) => ({name: formatBytes(bytes) + ' taken', begin, end: lane.levels[i + 1][0],
      duration: lane.levels[i + 1][0] - begin, place, detail: taken ? formatBytes(taken) + ' more' : '', row: 0, level: bytes / most, lane: lane.name}));
    return {name: lane.name + ', at most ' + formatBytes(most), events, rows: kLevelRows, end: Math.max(0, ...lane.levels.slice(-1).map(level => level[0])), isMemory: true};
  }
  listen() {
    const {canvas} = this;
    this.zoom = typeof d3 !== 'undefined' && d3.zoom ? d3.zoom().scaleExtent([1, 1e6]).filter(() => !d3.event.ctrlKey && (d3.event.type !== 'wheel' || d3.event.altKey || this.focused())) : null;
    if (this.zoom) {
      this.zoom.on('zoom', () => {
        const {k, x} = d3.event.transform, width = canvas.clientWidth || 1;
        this.from = -x / k / width * this.end;
        this.to = this.from + this.end / k;
        this.request();
      });
      d3.select(canvas).call(this.zoom).on('dblclick.zoom', null);
      const size = () => this.zoom.extent([[0, 0], [canvas.clientWidth, this.height]]).translateExtent([[0, -Infinity], [canvas.clientWidth, Infinity]]);
      new ResizeObserver(size).observe(canvas);
    }
    canvas.addEventListener('click', e => this.choose(this.at(e.offsetX, e.offsetY)));
    canvas.addEventListener('mousemove', e => { const event = this.at(e.offsetX, e.offsetY); canvas.title = event ? event.name + ' ' + formatUs(event.duration) : ''; });
  }
  focused() { return document.activeElement === this.canvas; }
  set(from, to) {
    if (this.zoom) {
      const k = this.end / Math.max(1e-9, to - from), width = this.canvas.clientWidth;
      d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity.translate(-from / this.end * width * k, 0).scale(k));
    } else { this.from = Math.max(0, from); this.to = Math.min(this.end, to); this.request(); }
  }
  scaleBy(factor) {
    const middle = this.chosen ? this.chosen.begin + this.chosen.duration / 2 : (this.from + this.to) / 2, half = (this.to - this.from) / 2 / factor;
    const from = Math.max(0, middle - half);
    this.set(from, Math.min(this.end, from + 2 * half));
  }
  move(part) {
    const span = this.to - this.from, from = Math.min(Math.max(0, this.from + span * part), this.end - span);
    this.set(from, from + span);
  }
  x(time) { return (time - this.from) / (this.to - this.from) * this.canvas.clientWidth; }
  top(lane) {
    let y = kAxis;
    for (const other of this.lanes) {
      if (other === lane) return y + kLaneHead;
      y += kLaneHead + other.rows * kRow + 8;
    }
    return y;
  }
  at(px, py) {
    for (const lane of this.lanes) {
      const row = Math.floor((py - this.top(lane)) / kRow);
      if (row < 0 || row >= lane.rows) continue;
      const time = this.from + px / this.canvas.clientWidth * (this.to - this.from), slack = 2 / this.canvas.clientWidth * (this.to - this.from);
      return lane.events.find(event => (lane.isMemory || event.row === row) && event.begin - slack <= time && event.end + slack >= time) || null;
    }
    return null;
  }
  choose(event) {
    this.chosen = event;
    this.request();
    if (event) this.picked.replaceChildren(h('b', {}, event.name), ' ' + formatUs(event.duration) + ', from ' + formatUs(event.begin) + ' to ' + formatUs(event.end),
      h('span', {class: 'muted'}, ' ' + [event.lane, event.place, event.detail].filter(Boolean).join(', ')));
  }
  key(e) {
    const at = this.events.indexOf(this.chosen);
    const step = to => {
      this.choose(this.events[Math.max(0, Math.min(this.events.length - 1, to))]);
      const {begin, end} = this.chosen, span = this.to - this.from;
      if (end < this.from || begin > this.to) { const from = Math.max(0, (begin + end) / 2 - span / 2); this.set(from, Math.min(this.end, from + span)); }
    };
    const action = {ArrowRight: () => step(at + 1), ArrowLeft: () => step(at - 1), '+': () => this.scaleBy(1.5), '=': () => this.scaleBy(1.5), w: () => this.scaleBy(1.5),
      '-': () => this.scaleBy(1 / 1.5), s: () => this.scaleBy(1 / 1.5), a: () => this.move(-0.2), d: () => this.move(0.2), 0: () => this.set(0, this.end), Home: () => step(0),
      End: () => step(this.events.length - 1), Escape: () => { this.choose(null); this.canvas.blur(); }}[e.key];
    if (!action || !this.events.length || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action();
  }
  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const g = fitCanvas(this.canvas, width, this.height);
    g.fillStyle = colour('bg');
    g.fillRect(0, 0, width, this.height);
    g.font = kFont;
    for (const tick of ticksOf(this.from, this.to, Math.max(2, width / 110))) {
      const x = this.x(tick);
      g.fillStyle = colour('line');
      g.fillRect(x, kAxis - 6, 1, this.height);
      g.fillStyle = colour('muted');
      g.fillText(formatUs(+tick.toPrecision(12)), x + 3, 14);
    }
    for (const lane of this.lanes) {
      const top = this.top(lane);
      g.fillStyle = colour('text');
      g.font = kBold;
      g.fillText(lane.name, 6, top - 6);
      g.font = kFont;
      this.drawLane(g, lane, top, width);
    }
  }
  drawLevels(g, lane, top) {
    const height = lane.rows * kRow - 2, base = top + height;
    g.fillStyle = colour('line');
    g.fillRect(0, base, this.canvas.clientWidth, 1);
    for (const event of lane.events) {
      if (event.end < this.from || event.begin > this.to || !event.level && event !== this.chosen) continue;
      const x = this.x(event.begin), w = Math.max(1, this.x(event.end) - x), high = Math.max(1, height * event.level);
      g.fillStyle = colour('accent');
      g.globalAlpha = 0.35;
      g.fillRect(x, base - high, w, high);
      g.globalAlpha = 1;
      g.fillRect(x, base - high, w, 1.5);
      if (event === this.chosen) { g.strokeStyle = colour('text'); g.lineWidth = 2; g.strokeRect(x, base - high, w, high); }
    }
  }
  drawLane(g, lane, top, width) {
    if (lane.isMemory) return this.drawLevels(g, lane, top);
    const reached = new Array(lane.rows).fill(-1);
    for (const event of lane.events) {
      if (event.end < this.from || event.begin > this.to) continue;
      const x = this.x(event.begin), right = this.x(event.end), y = top + event.row * kRow;
      // Draws one of the events on one pixel.
      if (right < reached[event.row] + 0.5 && event !== this.chosen) continue;
      reached[event.row] = Math.max(right, x + 1);
      const w = Math.max(1, right - x - 0.5), left = Math.max(0, x);
      g.fillStyle = colour(event.plugin ? pluginColour(event.plugin) : event.place ? nameColour(event.name) : 'none');
      g.fillRect(x, y, w, kRow - 2);
      if (event === this.chosen) { g.strokeStyle = colour('text'); g.lineWidth = 2; g.strokeRect(x, y + 1, w, kRow - 4); }
      const room = Math.min(width, right) - left - 8;
      if (room < 24) continue;
      g.fillStyle = colour('on');
      g.save();
      g.beginPath();
      g.rect(left, y, room + 4, kRow);
      g.clip();
      g.fillText(event.name, left + 4, y + 14);
      g.restore();
    }
  }
}
Page.kinds.timeline = section => section.lanes.some(lane => lane.events.length) ? new Timeline(section).element : h('p', {class: 'muted'}, section.empty || 'none');
