// SPDX-License-Identifier: Apache-2.0
// Bars, a treemap and a flame chart. All are elements, so that keys, print and screen readers work as for text.
'use strict';
const kBarsAtOnce = 25;

Page.kinds.bars = section => {
  const most = Math.max(...section.rows.map(row => row.value), 1e-30);
  let shown = kBarsAtOnce;
  const list = h('div', {class: 'bars', role: 'list'});
  const more = h('button', {type: 'button', class: 'more', onclick: () => { shown = section.rows.length; draw(); }});
  function draw() {
    list.replaceChildren(...section.rows.slice(0, shown).map(row => {
      const bar = h('i');
      bar.style.width = row.value / most * 100 + '%';
      bar.style.background = 'var(--' + (row.plugin ? pluginColour(row.plugin) : row.tone === 'muted' ? 'none' : 'accent') + ')';
      return h('div', {role: 'listitem', class: 'row'}, h('span', {class: 'name'}, row.name, row.detail && h('span', {class: 'muted'}, ' ' + row.detail)),
        h('span', {class: 'track', 'aria-hidden': 'true'}, bar),
        h('span', {class: 'value'}, formatValue(section.unit, row.value), row.share !== undefined && h('span', {class: 'muted'}, ' ' + (row.share * 100).toFixed(1) + ' %')));
    }));
    more.hidden = section.rows.length <= shown;
    more.textContent = 'Show all ' + formatCount(section.rows.length);
  }
  draw();
  return h('div', {}, section.rows.length ? list : h('p', {class: 'muted'}, section.empty || 'none'), more);
};

// A tree {name, value, children}: values of groups are the sums of their children unless given (self time).
function weighTree(node) {
  let sum = 0;
  for (const child of node.children || []) sum += weighTree(child);
  node.total = Math.max(node.value || 0, sum);
  return node.total;
}

// Chosen tile or bar: its path, value and share in one line, for all ways of input.
class TreePart {
  constructor(section) {
    this.section = section;
    weighTree(section.root);
    this.top = this.root = section.root;
    (function link(node, parent) { node.parent = parent; for (const child of node.children || []) link(child, node); })(section.root, null);
    this.tiles = h('div', {class: 'tiles'});
    this.picked = h('p', {class: 'picked', role: 'status'});
    this.back = h('button', {type: 'button', onclick: () => this.open(this.top.parent || this.top)}, 'Up one level');
    this.element = h('div', {}, h('div', {class: 'tools'}, this.back), this.tiles, this.picked);
    this.request = scheduled(() => this.draw(), this.tiles);
    this.tell(this.root);
  }
  pathOf(node) {
    const names = [];
    for (let at = node; at; at = at.parent) names.unshift(at.name);
    return names.filter(Boolean).join(' › ');
  }
  tell(node) {
    this.picked.replaceChildren(h('b', {}, this.pathOf(node) || this.section.title), ' ' + formatValue(this.section.unit, node.total) + ', ' +
      (this.root.total ? node.total / this.root.total * 100 : 0).toFixed(1) + ' %', node.detail ? h('span', {class: 'muted'}, ' ' + node.detail) : '');
  }
  open(node) {
    this.top = node.children && node.children.length ? node : node.parent || node;
    this.tell(node);
    this.draw();
  }
  tile(node, x, y, w, height, name, extra) {
    const tile = h('button', {type: 'button', class: extra || null, title: this.pathOf(node) + ' ' + formatValue(this.section.unit, node.total),
      onfocus: () => this.tell(node), onmouseenter: () => this.tell(node), onclick: () => this.open(node)}, name);
    if (w < 12 || height < 10) { tile.setAttribute('aria-label', this.pathOf(node)); tile.textContent = ''; }
    Object.assign(tile.style, {left: x + 'px', top: y + 'px', width: Math.max(1, w) + 'px', height: Math.max(1, height) + 'px'});
    if (extra !== 'group') tile.style.background = 'var(--' + this.colourOf(node) + ')';
    return tile;
  }
  // A colour for each part of the first level that has several, so that a layer keeps its own when it is opened.
  colourOf(node) {
    if (node.plugin) return pluginColour(node.plugin);
    const path = [];
    for (let at = node; at; at = at.parent) path.unshift(at);
    const level = path.findIndex((at, i) => i > 0 && path[i - 1].children.length > 3);
    if (level < 0) return palette(path.length > 1 ? path[0].children.indexOf(path[1]) : 0);
    return palette(path[level - 1].children.indexOf(path[level]));
  }
}

class Treemap extends TreePart {
  draw() {
    const width = this.tiles.clientWidth, height = Math.max(260, Math.min(520, width * 0.5));
    if (!width) return;
    this.back.hidden = this.top === this.root;
    this.tiles.style.height = height + 'px';
    const hierarchy = d3.hierarchy(this.top, node => node.children).sum(node => node.children && node.children.length ? 0 : node.total)
      .sort((a, b) => b.value - a.value);
    d3.treemap().size([width, height]).paddingTop(node => node.depth === 0 ? 0 : 18).paddingInner(1).round(true)(hierarchy);
    const tiles = [];
    hierarchy.each(node => {
      const w = node.x1 - node.x0, tall = node.y1 - node.y0;
      if (node.depth === 0 || w < 3 || tall < 3) return;
      const name = node.data.name + (w > 130 ? '  ' + formatValue(this.section.unit, node.data.total) : '');
      tiles.push(this.tile(node.data, node.x0, node.y0, w, tall, name, node.children ? 'group' : null));
    });
    this.tiles.replaceChildren(...tiles);
  }
}

class Flame extends TreePart {
  draw() {
    const width = this.tiles.clientWidth, row = 24, tiles = [];
    if (!width) return;
    this.back.hidden = this.top === this.root;
    let deepest = 0;
    const place = (node, x, w, depth) => {
      if (w < 1.5) return;
      deepest = Math.max(deepest, depth);
      tiles.push(this.tile(node, x, depth * row, w - 1, row - 1, node.name + (w > 150 ? '  ' + formatValue(this.section.unit, node.total) : ''), null));
      let at = x;
      for (const child of [...(node.children || [])].sort((a, b) => b.total - a.total)) {
        const part = node.total ? w * child.total / node.total : 0;
        place(child, at, part, depth + 1);
        at += part;
      }
    };
    place(this.top, 0, width, 0);
    this.tiles.style.height = (deepest + 1) * row + 'px';
    this.tiles.replaceChildren(...tiles);
  }
}
const leavesOf = node => node.children && node.children.length ? node.children.flatMap(leavesOf) : [node];
function treeTable(section) {
  const total = section.root.total || 1, rows = [];
  (function walk(node, path) {
    const name = path ? path + '.' + node.name : node.name;
    if (node !== section.root) rows.push([name, node.total, node.total / total]);
    for (const child of node.children || []) walk(child, node === section.root ? '' : name);
  })(section.root, '');
  return h('details', {}, h('summary', {}, 'As a table'),
    tableOf({title: section.title, columns: [{name: section.of || 'name'}, {name: section.unit === 'us' ? 'time' : 'size', type: section.unit}, {name: 'share', type: 'percent'}], rows}));
}
function treePart(section, Kind) {
  weighTree(section.root);
  if (!section.root.total) return h('p', {class: 'muted'}, section.empty || 'none');
  const drawn = typeof d3 !== 'undefined' && d3.hierarchy || Kind === Flame;
  return h('div', {}, drawn && new Kind(section).element, treeTable(section));
}
Page.kinds.treemap = section => treePart(section, Treemap);
Page.kinds.flame = section => treePart(section, Flame);
