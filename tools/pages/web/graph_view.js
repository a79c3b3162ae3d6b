// SPDX-License-Identifier: Apache-2.0
// Draws a placed graph on a canvas: only what is visible, and less detail the further away. d3-zoom moves and scales.
'use strict';
const kFont = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif', kBold = '600 ' + kFont;
const kLine = 16, kTitle = 24, kMaxBox = 340;

class GraphView {
  constructor(stage, canvas, map, onPick) {
    Object.assign(this, {stage, canvas, map, onPick, scene: null, picked: null, hits: new Set(), only: null, k: 1, tx: 0, ty: 0});
    this.measure = document.createElement('canvas').getContext('2d');
    this.widths = new Map();
    this.request = scheduled(() => this.draw(), stage);
    this.zoom = d3.zoom().scaleExtent([0.01, 4]).on('zoom', () => {
      ({k: this.k, x: this.tx, y: this.ty} = d3.event.transform);
      this.request();
    });
    d3.select(canvas).call(this.zoom).on('dblclick.zoom', null);
    canvas.addEventListener('click', e => this.onPick(this.at(e.offsetX, e.offsetY), false));
    canvas.addEventListener('dblclick', e => this.onPick(this.at(e.offsetX, e.offsetY), true));
    map.addEventListener('click', e => {
      const scale = this.mapScale();
      this.moveTo((e.offsetX - scale.x) / scale.k, (e.offsetY - scale.y) / scale.k);
    });
  }
  text(text, font) {
    const key = font + text;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.measure.font = font;
      this.widths.set(key, width = this.measure.measureText(text).width);
    }
    return width;
  }
  // Lines below a node's title.
  linesOf(item) {
    const node = item.node, lines = [];
    if (nodeMarks.has(node)) lines.push([markText(node), 'warn']);
    if (node.spec) lines.push([node.spec, 'muted']);
    for (const constant of (node.constants || []).slice(0, 3)) lines.push([constant, 'text']);
    if ((node.constants || []).length > 3) lines.push(['and ' + (node.constants.length - 3) + ' more constants', 'muted']);
    for (const reason of (node.reasons || []).slice(0, 2)) lines.push(['✗ ' + reason.filter(Boolean).join(': '), 'bad']);
    return lines;
  }
  sizes() {
    const sizeOf = item => {
      if (item.group) return [Math.min(kMaxBox, Math.max(130, this.text(item.name, kBold) + 50, this.text(this.subtitle(item), kFont) + 24)), 56];
      const lines = item.lines || (item.lines = this.linesOf(item));
      const width = Math.max(90, this.text(titleOf(item), kBold) + 24, ...lines.map(line => this.text(line[0], kFont) + 20));
      return [Math.min(kMaxBox, width), kTitle + (lines.length ? lines.length * kLine + 8 : 0)];
    };
    sizeOf.headWidth = group => group.parent ? Math.min(kMaxBox, this.text(this.headline(group), kBold) + 40) : 0;
    return sizeOf;
  }
  subtitle(group) {
    return (group.type ? group.type.split('.').pop() + ' · ' : '') + formatCount(group.count) + (group.count === 1 ? ' node' : ' nodes') + (group.differing ? ', ' + formatCount(group.differing) + (group.differing === 1 ? ' differs' : ' differ') : '');
  }
  headline(group) { return '▾ ' + group.name + (group.type ? '  ' + group.type.split('.').pop() : ''); }

  show(scene) {
    this.scene = scene;
    this.mapImage = null;
    const {clientWidth: w, clientHeight: h} = this.canvas;
    this.zoom.scaleExtent([Math.min(0.5, 0.8 * Math.min(w / scene.width, h / scene.height)), 4]);
    this.request();
  }
  transformTo(k, x, y) { d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity.translate(x, y).scale(k)); }
  // Fits the whole graph, or its width and first nodes where that stays readable.
  fit(whole) {
    const {clientWidth: w, clientHeight: h} = this.canvas, {width, height} = this.scene;
    const all = Math.min(w / width, h / height), wide = Math.min(1.15, w / width);
    const k = whole ? Math.min(all, 1.15) : Math.max(Math.min(all, 1.15), Math.min(wide, 0.8), 0.35);
    this.transformTo(k, (w - width * k) / 2, height * k < h ? (h - height * k) / 2 : 0);
  }
  scaleBy(factor) { d3.select(this.canvas).call(this.zoom.scaleBy, factor); }
  moveBy(dx, dy) { this.transformTo(this.k, this.tx + dx, this.ty + dy); }
  moveTo(x, y) { this.transformTo(this.k, this.canvas.clientWidth / 2 - x * this.k, this.canvas.clientHeight / 2 - y * this.k); }
  // Moves a box into view at a readable size.
  reveal(item) {
    if (this.k < 0.45) this.transformTo(0.9, 0, 0);
    this.moveTo(item.ax + item.w / 2, item.ay + item.h / 2);
  }
  at(px, py) {
    const x = (px - this.tx) / this.k, y = (py - this.ty) / this.k;
    const inside = item => x >= item.ax && x <= item.ax + item.w && y >= item.ay && y <= item.ay + item.h;
    return this.scene.boxes.find(inside) || this.scene.frames.filter(inside).pop() || null;
  }

  draw() {
    if (!this.scene || !this.canvas.clientWidth) return;
    const started = performance.now();
    const {clientWidth: w, clientHeight: h} = this.canvas, g = fitCanvas(this.canvas, w, h);
    g.fillStyle = colour('bg');
    g.fillRect(0, 0, w, h);
    g.save();
    g.translate(this.tx, this.ty);
    g.scale(this.k, this.k);
    const view = {left: -this.tx / this.k, top: -this.ty / this.k, right: (w - this.tx) / this.k, bottom: (h - this.ty) / this.k};
    const seen = item => item.ax <= view.right && item.ax + item.w >= view.left && item.ay <= view.bottom && item.ay + item.h >= view.top;
    for (const frame of this.scene.frames) if (seen(frame)) this.drawFrame(g, frame);
    this.drawLines(g, view);
    const far = this.k < 0.3;
    for (const box of this.scene.boxes) if (seen(box)) far ? this.drawFar(g, box) : box.group ? this.drawGroup(g, box) : this.drawNode(g, box);
    this.drawPicked(g);
    g.restore();
    this.drawMap(view);
    this.frameMs = performance.now() - started;
  }
  path(g, points, straight) {
    g.moveTo(points[0][0], points[0][1]);
    for (let i = 1; i < points.length; ++i) {
      const [x0, y0] = points[i - 1], [x, y] = points[i];
      if (straight || Math.abs(x - x0) < 1) g.lineTo(x, y);
      else { const m = Math.max(12, Math.abs(y - y0) / 2); g.bezierCurveTo(x0, y0 + m, x, y - m, x, y); }
    }
  }
  drawLines(g, view) {
    const straight = this.k < 0.3;
    g.beginPath();
    for (const line of this.scene.lines)
      if (line.top <= view.bottom && line.bottom >= view.top && line.left <= view.right && line.right >= view.left) this.path(g, line.points, straight);
    g.strokeStyle = colour('muted');
    g.globalAlpha = 0.75;
    g.lineWidth = straight ? 1 / this.k * 0.7 : 1.2;
    g.stroke();
    g.globalAlpha = 1;
    if (straight) return;
    g.fillStyle = colour('muted');
    for (const line of this.scene.lines) {
      const [x, y] = line.points[line.points.length - 1];
      if (x < view.left || x > view.right || y < view.top || y > view.bottom + 8) continue;
      g.beginPath();
      g.moveTo(x, y); g.lineTo(x - 4, y - 7); g.lineTo(x + 4, y - 7);
      g.fill();
    }
  }
  faded(item) {
    if (this.only === null) return false;
    return item.group ? !item.plugins.has(this.only) : isEndNode(item.node) || (item.node.plugin ?? -1) !== this.only;
  }
  box(g, item, radius) { g.beginPath(); g.roundRect(item.ax, item.ay, item.w, item.h, radius); }
  clipped(g, text, x, y, width, font) {
    if (this.text(text, font) > width) {
      let keep = Math.max(1, Math.floor(text.length * width / this.text(text, font)) - 1);
      while (keep > 1 && this.text(text.slice(0, keep) + '…', font) > width) --keep;
      text = text.slice(0, keep) + '…';
    }
    g.fillText(text, x, y);
  }
  drawFar(g, item) {
    g.globalAlpha = this.faded(item) ? 0.2 : 1;
    g.fillStyle = colour(item.group ? mainColour(item) : isEndNode(item.node) ? 'line' : palette(item.node.plugin));
    g.fillRect(item.ax, item.ay, item.w, item.h);
    if (this.isDifferent(item)) this.dashes(g, item);
    if (this.hits.has(item)) this.ring(g, item, 'bad');
    g.globalAlpha = 1;
  }
  isDifferent(item) { return item.group ? item.differing > 0 : nodeMarks.has(item.node); }
  dashes(g, item) {
    const unit = Math.max(3, 2 / this.k);
    g.setLineDash([unit * 2.5, unit * 1.5]);
    this.ring(g, item, 'warn');
    g.setLineDash([]);
  }
  drawFrame(g, group) {
    this.box(g, group, 10);
    g.fillStyle = colour('shade');
    g.fill();
    g.lineWidth = 1;
    g.strokeStyle = colour('line');
    g.stroke();
    if (this.k < 0.3) return;
    g.font = kBold;
    g.fillStyle = colour('muted');
    this.clipped(g, this.headline(group), group.ax + 12, group.ay + 19, group.w - 24, kBold);
  }
  drawGroup(g, item) {
    g.globalAlpha = this.faded(item) ? 0.25 : 1;
    this.box(g, item, 8);
    g.fillStyle = colour('panel');
    g.fill();
    g.lineWidth = 1.5;
    g.strokeStyle = colour(mainColour(item));
    g.stroke();
    g.fillStyle = colour('text');
    g.font = kBold;
    this.clipped(g, '▸ ' + item.name, item.ax + 12, item.ay + 20, item.w - 24, kBold);
    g.font = kFont;
    g.fillStyle = colour('muted');
    this.clipped(g, this.subtitle(item), item.ax + 12, item.ay + 37, item.w - 24, kFont);
    let x = item.ax + 12;
    for (const [plugin, n] of [...item.plugins].sort((a, b) => b[1] - a[1])) {
      const width = (item.w - 24) * n / item.count;
      g.fillStyle = colour(palette(plugin));
      g.fillRect(x, item.ay + 44, width, 5);
      x += width;
    }
    if (this.isDifferent(item)) this.dashes(g, item);
    if (this.hits.has(item)) this.ring(g, item, 'bad');
    g.globalAlpha = 1;
  }
  drawNode(g, item) {
    g.globalAlpha = this.faded(item) ? 0.25 : 1;
    const lines = item.lines;
    this.box(g, item, 6);
    g.fillStyle = colour('panel');
    g.fill();
    g.save();
    g.clip();
    const isEnd = isEndNode(item.node);
    g.fillStyle = colour(isEnd ? 'soft' : palette(item.node.plugin));
    g.fillRect(item.ax, item.ay, item.w, kTitle);
    g.restore();
    g.fillStyle = colour(isEnd ? 'text' : 'on');
    g.font = kBold;
    this.clipped(g, titleOf(item), item.ax + 10, item.ay + 16, item.w - 16, kBold);
    g.font = kFont;
    lines.forEach((line, i) => {
      g.fillStyle = colour(line[1]);
      this.clipped(g, line[0], item.ax + 10, item.ay + kTitle + 15 + i * kLine, item.w - 16, kFont);
    });
    this.box(g, item, 6);
    g.lineWidth = 1;
    g.strokeStyle = colour(palette(item.node.plugin));
    g.stroke();
    if (this.isDifferent(item)) this.dashes(g, item);
    if (this.hits.has(item)) this.ring(g, item, 'bad');
    g.globalAlpha = 1;
  }
  ring(g, item, name) {
    g.lineWidth = Math.max(3, 2 / this.k);
    g.strokeStyle = colour(name);
    g.beginPath();
    g.roundRect(item.ax - 3, item.ay - 3, item.w + 6, item.h + 6, 8);
    g.stroke();
  }
  drawPicked(g) {
    if (!this.picked) return;
    g.lineWidth = Math.max(2.2, 1.5 / this.k);
    g.strokeStyle = colour('accent');
    for (const line of this.scene.lines) {
      if (line.edge.from !== this.picked && line.edge.to !== this.picked) continue;
      g.beginPath();
      this.path(g, line.points, this.k < 0.3);
      g.stroke();
    }
    this.ring(g, this.picked, 'accent');
  }
  mapScale() {
    const k = Math.min(110 / this.scene.width, 180 / this.scene.height), height = Math.max(24, this.scene.height * k);
    return {k, x: 0, y: 0, w: Math.max(12, this.scene.width * k), h: height};
  }
  // The overview is drawn once for each placement.
  drawMap(view) {
    const scale = this.mapScale();
    const useful = this.scene.boxes.length > 20;
    this.map.hidden = !useful;
    if (!useful) return;
    this.map.style.width = scale.w + 'px';
    this.map.style.height = scale.h + 'px';
    const key = isDark() + ' ' + this.only;
    if (!this.mapImage || this.mapKey !== key) {
      this.mapImage = document.createElement('canvas');
      this.mapKey = key;
      const g = fitCanvas(this.mapImage, scale.w, scale.h);
      for (const box of this.scene.boxes) {
        g.fillStyle = colour(box.group ? mainColour(box) : palette(box.node.plugin));
        g.globalAlpha = this.faded(box) ? 0.2 : 1;
        g.fillRect(box.ax * scale.k, box.ay * scale.k, Math.max(1, box.w * scale.k), Math.max(0.6, box.h * scale.k));
      }
    }
    const g = fitCanvas(this.map, scale.w, scale.h);
    g.clearRect(0, 0, scale.w, scale.h);
    g.drawImage(this.mapImage, 0, 0, scale.w, scale.h);
    g.strokeStyle = colour('bad');
    g.lineWidth = 1.5;
    g.strokeRect(view.left * scale.k, view.top * scale.k, (view.right - view.left) * scale.k, Math.max(3, (view.bottom - view.top) * scale.k));
  }
}

// Inputs and outputs of the graph, which no plugin runs.
function isEndNode(node) { return node.op === 'input' || node.op === 'output'; }
function shortOp(op) {
  return op.replace(/^(aten|prims|dim_order_ops|quantized_decomposed|executorch_prim)(\.|::)/, '').replace(/\.(default|out|Tensor)$/, '');
}
const signOf = node => nodeMarks.has(node) ? nodeMarks.get(node).sign : '';
const markText = node => nodeMarks.has(node) ? signOf(node) + nodeMarks.get(node).text : '';
const titleOf = item => signOf(item.node) + (item.prefix ? item.prefix + ' · ' : '') + shortOp(item.node.op);
function mainColour(group) {
  let best = -1, most = 0;
  for (const [plugin, n] of group.plugins) if (n > most) { best = plugin; most = n; }
  return palette(best);
}
