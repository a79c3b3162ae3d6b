// SPDX-License-Identifier: Apache-2.0
// The graph part: view, search, legend, groups, keys, and a panel with everything known of the chosen node.
'use strict';
// More boxes than this at the start would hide the structure.
const kFirstBoxes = 90;

class GraphPart {
  constructor(section) {
    this.section = section;
    this.grouping = section.graphs.some(graph => graph.nodes.some(node => node.module)) ? 'module'
      : section.graphs.some(graph => graph.nodes.some(node => node.region !== undefined && node.region !== null)) ? 'region' : 'flat';
    this.element = this.build();
    this.view = new GraphView(this.stage, this.canvas, this.map, (item, twice) => this.pick(item, twice));
    // Placed once the stage has its size.
    new ResizeObserver((_, observer) => {
      if (!this.stage.clientWidth) return;
      observer.disconnect();
      this.open(this.largest());
    }).observe(this.stage);
    Page.graphs = (Page.graphs || []).concat(this);
  }
  largest() {
    let best = 0;
    this.section.graphs.forEach((graph, i) => { if (graph.nodes.length > this.section.graphs[best].nodes.length) best = i; });
    return best;
  }
  build() {
    const button = (text, action, label) => h('button', {type: 'button', 'aria-label': label || null, onclick: action}, text);
    this.canvas = h('canvas', {class: 'main', tabindex: '0', role: 'application', 'aria-roledescription': 'graph',
      'aria-label': this.section.title + '. Arrow keys walk along the edges, Enter opens and closes groups, plus and minus zoom, 0 fits, slash searches, Escape leaves.',
      onkeydown: e => this.key(e)});
    this.map = h('canvas', {class: 'map', 'aria-hidden': 'true'});
    this.stage = h('div', {class: 'stage'}, this.canvas, this.map, h('div', {class: 'zoomers'},
      button('+', () => this.view.scaleBy(1.4), 'Zoom in'), button('−', () => this.view.scaleBy(1 / 1.4), 'Zoom out'), button('Fit', () => this.view.fit(true))));
    this.side = h('div', {class: 'side', tabindex: '0', role: 'group', 'aria-label': 'Chosen node'});
    this.search = h('input', {type: 'search', class: 'grow', placeholder: 'Search operators, names, modules, shapes, reasons',
      oninput: () => this.find(this.search.value), onkeydown: e => {
        if (e.key === 'Enter') this.nextHit();
        if (e.key === 'Escape') { this.search.value = ''; this.find(''); this.canvas.focus(); }
      }});
    this.live = h('p', {class: 'hidden', role: 'status'});
    this.groupers = ['module', 'region', 'flat'].map(name => h('button', {type: 'button', onclick: () => { this.grouping = name; this.open(this.index); }},
      {module: 'Modules', region: 'Regions', flat: 'Flat'}[name]));
    this.chooser = this.section.graphs.length > 1 && h('label', {}, 'Graph ', h('select', {onchange: e => this.open(+e.target.value)},
      this.section.graphs.map((graph, i) => h('option', {value: i}, graph.name + ' (' + formatCount(graph.nodes.length) + ')'))));
    return h('div', {},
      h('div', {class: 'tools'}, h('label', {class: 'grow'}, h('span', {class: 'hidden'}, 'Search the graph'), this.search), this.chooser || null,
        h('span', {role: 'group', 'aria-label': 'Group by'}, this.groupers),
        button('Open all', () => this.openAll(true)), button('Close all', () => this.openAll(false))),
      this.legend = h('ul', {class: 'legend', 'aria-label': 'Plugins'}), this.live,
      h('div', {class: 'graph'}, this.stage, this.side), this.tableButton());
  }
  tableButton() {
    const details = h('details', {ontoggle: () => { if (details.children.length === 1) details.append(this.nodeTable()); }}, h('summary', {}, 'All nodes as a table'));
    return details;
  }
  nodeTable() {
    const rows = [];
    for (const graph of this.section.graphs)
      for (const node of graph.nodes)
        rows.push([node.name, node.op, node.spec || '', node.module || '', node.source || '', this.pluginName(node),
          (node.reasons || []).map(reason => reason.filter(Boolean).join(': ')).join('; ')]);
    return tableOf({title: 'Nodes', rows, columns: [{name: 'node'}, {name: 'op'}, {name: 'result'}, {name: 'module'}, {name: 'source'}, {name: 'plugin', type: 'plugin'}, {name: 'rejected because'}]});
  }
  pluginName(node) { return node.plugin === undefined || node.plugin === null ? '' : this.section.plugins[node.plugin]; }
  pathOf(node) {
    if (this.grouping === 'module') return node.module ? node.module.split('.') : [];
    if (this.grouping === 'region') return node.region !== undefined && node.region !== null ? ['region ' + node.region + ', ' + this.pluginName(node)] : [];
    return [];
  }

  open(index) {
    this.index = index;
    const graph = this.section.graphs[index];
    if (this.chooser) this.chooser.querySelector('select').value = index;
    const has = {module: graph.nodes.some(node => node.module), region: graph.nodes.some(node => node.region !== undefined && node.region !== null), flat: true};
    if (!has[this.grouping]) this.grouping = has.module ? 'module' : has.region ? 'region' : 'flat';
    ['module', 'region', 'flat'].forEach((name, i) => {
      this.groupers[i].hidden = !has[name] || !(has.module || has.region);
      this.groupers[i].setAttribute('aria-pressed', this.grouping === name);
    });
    this.root = groupTree(graph.nodes, node => this.pathOf(node));
    this.leaves = assignEdges(this.root);
    this.users = graph.nodes.map(() => []);
    graph.nodes.forEach((node, i) => (node.needs || []).forEach(need => this.users[need] && this.users[need].push(i)));
    this.openFirst();
    this.view.picked = null;
    this.drawLegend();
    this.find(this.search.value);
    this.place();
    this.view.fit(false);
    this.showPanel(null);
  }
  // Opens groups breadth first while the graph stays small.
  openFirst() {
    let boxes = this.root.children.length;
    const waiting = this.root.children.filter(child => child.group);
    while (waiting.length) {
      const group = waiting.shift();
      if (boxes + group.children.length - 1 > kFirstBoxes) continue;
      boxes += group.children.length - 1;
      group.open = true;
      waiting.push(...group.children.filter(child => child.group));
    }
  }
  place() { this.view.show(placeAll(this.root, this.view.sizes())); }
  openAll(open) {
    (function walk(group) {
      group.placed = false;
      for (const child of group.children) if (child.group) { child.open = open; walk(child); }
    })(this.root);
    if (this.view.picked && !this.isVisible(this.view.picked)) this.view.picked = null;
    this.place();
    this.find(this.search.value);
    this.view.fit(false);
  }
  isVisible(item) {
    for (let at = item.parent; at; at = at.parent) if (!at.open) return false;
    return true;
  }
  toggle(group) {
    const x = group.ax * this.view.k + this.view.tx, y = group.ay * this.view.k + this.view.ty;
    group.open = !group.open;
    forget(group);
    this.place();
    this.find(this.search.value);
    // The corner of the group stays where it was.
    this.view.transformTo(this.view.k, x - group.ax * this.view.k, y - group.ay * this.view.k);
    this.choose(group);
  }
  pick(item, twice) {
    if (item && item.group && (twice || !item.open)) return this.toggle(item);
    this.choose(item);
  }
  choose(item) {
    this.view.picked = item;
    this.view.request();
    this.showPanel(item);
    if (item) this.live.textContent = item.group ? item.name + ', group of ' + item.count + ' nodes, ' + (item.open ? 'open' : 'closed')
      : [item.node.op, item.node.name, item.node.spec, markText(item.node), this.pluginName(item.node) || 'no plugin'].filter(Boolean).join(', ');
  }
  // Opens the groups around a node, and chooses it.
  goTo(index) {
    const leaf = this.leaves[index];
    let changed = false;
    for (let at = leaf.parent; at.parent; at = at.parent) if (!at.open) { at.open = true; changed = true; }
    if (changed) { forget(leaf.parent); this.place(); this.find(this.search.value); }
    this.view.reveal(leaf);
    this.choose(leaf);
  }
  key(e) {
    const {picked} = this.view;
    const scene = this.view.scene;
    const action = {
      '+': () => this.view.scaleBy(1.3), '=': () => this.view.scaleBy(1.3), '-': () => this.view.scaleBy(1 / 1.3), '0': () => this.view.fit(true),
      '/': () => this.search.focus(), Escape: () => picked ? this.choose(null) : this.canvas.blur(),
      Enter: () => picked && picked.group && this.toggle(picked), ' ': () => picked && picked.group && this.toggle(picked),
      ArrowDown: () => this.walk('to'), ArrowUp: () => this.walk('from'), ArrowRight: () => this.beside(1), ArrowLeft: () => this.beside(-1),
      PageDown: () => this.view.moveBy(0, -this.canvas.clientHeight * 0.8), PageUp: () => this.view.moveBy(0, this.canvas.clientHeight * 0.8),
      Home: () => this.walkTo(scene.boxes[0]), End: () => this.walkTo(scene.boxes[scene.boxes.length - 1]),
    }[e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action();
  }
  walkTo(item) {
    if (!item) return;
    this.view.reveal(item);
    this.choose(item);
  }
  // Follows an edge; without one, the next box below or above.
  walk(side) {
    const {picked, scene} = this.view;
    if (!picked) return this.walkTo(scene.boxes[0]);
    const line = scene.lines.find(one => one.edge[side === 'to' ? 'from' : 'to'] === picked);
    if (line) return this.walkTo(line.edge[side]);
    const sign = side === 'to' ? 1 : -1;
    const further = scene.boxes.filter(box => (box.ay - picked.ay) * sign > 1);
    this.walkTo(further.sort((a, b) => (a.ay - b.ay) * sign || Math.abs(a.ax - picked.ax) - Math.abs(b.ax - picked.ax))[0]);
  }
  beside(sign) {
    const {picked, scene} = this.view;
    if (!picked) return this.walkTo(scene.boxes[0]);
    const row = scene.boxes.filter(box => box.ay < picked.ay + picked.h && box.ay + box.h > picked.ay && (box.ax - picked.ax) * sign > 1);
    this.walkTo(row.sort((a, b) => (a.ax - b.ax) * sign)[0]);
  }

  find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = [];
    this.view.hits = new Set();
    if (words.length)
      this.leaves.forEach((leaf, i) => {
        const node = leaf.node;
        const all = [node.op, node.name, node.spec, node.module, node.type, node.source, this.pluginName(node), nodeMarks.has(node) ? nodeMarks.get(node).kind : '', markText(node), ...(node.constants || []), ...(node.reasons || []).flat()].join(' ').toLowerCase();
        if (words.every(word => all.includes(word))) this.found.push(i);
      });
    for (const index of this.found) {
      let item = this.leaves[index];
      for (let at = item.parent; at; at = at.parent) if (!at.open) item = at;
      this.view.hits.add(item);
    }
    this.hit = -1;
    this.view.request();
    if (words.length) this.showHits();
    else if (this.hitsShown) this.showPanel(this.view.picked);
  }
  nextHit() {
    if (!this.found.length) return;
    this.hit = (this.hit + 1) % this.found.length;
    this.goTo(this.found[this.hit]);
  }
  showHits() {
    this.hitsShown = true;
    this.side.replaceChildren(h('h3', {}, formatCount(this.found.length) + (this.found.length === 1 ? ' node' : ' nodes') + ' found'),
      h('p', {class: 'muted'}, 'Enter shows the next one.'),
      h('div', {class: 'hits'}, this.found.slice(0, 60).map(i => this.nodeLink(i))), this.found.length > 60 && h('p', {class: 'muted'}, 'and ' + (this.found.length - 60) + ' more'));
  }
  nodeLink(index) {
    const node = this.leaves[index].node;
    return h('button', {type: 'button', class: 'link', onclick: () => this.goTo(index)}, dot(palette(node.plugin)), shortOp(node.op) + ' ' + node.name);
  }
  drawLegend() {
    const counts = new Map();
    for (const leaf of this.leaves) if (!isEndNode(leaf.node)) counts.set(leaf.node.plugin ?? -1, (counts.get(leaf.node.plugin ?? -1) || 0) + 1);
    const total = [...counts.values()].reduce((a, b) => a + b, 0) || 1;
    this.view.only = null;
    const buttons = [...counts].sort((a, b) => b[1] - a[1]).map(([plugin, n]) => {
      const name = plugin < 0 ? this.section.none || 'no plugin' : this.section.plugins[plugin];
      const button = h('button', {type: 'button', 'aria-pressed': 'false', title: 'Show only these', onclick: () => {
        this.view.only = this.view.only === plugin ? null : plugin;
        for (const other of buttons) other.setAttribute('aria-pressed', other === button && this.view.only !== null);
        this.view.request();
      }}, dot(palette(plugin)), name + ' ' + formatCount(n) + ' (' + (n / total * 100).toFixed(0) + ' %)');
      return button;
    });
    this.legend.replaceChildren(...buttons.map(button => h('li', {}, button)));
  }
  showPanel(item) {
    this.hitsShown = false;
    if (!item) return this.side.replaceChildren(...this.overview());
    this.side.replaceChildren(...(item.group ? this.groupPanel(item) : this.nodePanel(item)).flat(Infinity).filter(Boolean));
  }
  overview() {
    const graph = this.section.graphs[this.index];
    const refused = graph.nodes.map((node, i) => [node, i]).filter(([node]) => node.reasons && node.reasons.length);
    return [h('h3', {}, graph.name), h('p', {}, formatCount(graph.nodes.length) + ' nodes. Choose one to see its shapes, constants, source and reasons.'),
      h('p', {class: 'muted'}, 'Wheel or pinch zooms, drag moves, a click opens a group, a double click closes it.'),
      refused.length ? h('h3', {}, formatCount(refused.length) + ' rejected') : '',
      refused.length ? h('ul', {}, refused.slice(0, 40).map(([node, i]) => h('li', {}, this.nodeLink(i), h('br'), h('span', {class: 'bad'}, node.reasons[0].filter(Boolean).join(': '))))) : ''];
  }
  groupPanel(group) {
    const leaves = [];
    eachLeaf(group, leaf => leaves.push(leaf));
    const ops = new Map();
    for (const leaf of leaves) ops.set(leaf.node.op, (ops.get(leaf.node.op) || 0) + 1);
    return [h('h3', {}, group.name), group.type && h('p', {class: 'muted'}, group.type), h('p', {}, formatCount(group.count) + ' nodes'),
      h('button', {type: 'button', onclick: () => this.toggle(group)}, group.open ? 'Close' : 'Open'),
      h('h3', {}, 'Plugins'), h('ul', {}, [...group.plugins].map(([plugin, n]) => h('li', {}, dot(palette(plugin)), (plugin < 0 ? this.section.none || 'no plugin' : this.section.plugins[plugin]) + ': ' + n))),
      h('h3', {}, 'Operators'), h('ul', {}, [...ops].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([op, n]) => h('li', {}, n + ' × ' + op)))];
  }
  nodePanel(item) {
    const node = item.node, fact = (name, value) => value !== undefined && value !== null && value !== '' ? [h('dt', {}, name), h('dd', {}, value)] : '';
    const list = (name, items) => items && items.length ? [h('h3', {}, name), h('ul', {}, items.map(one => h('li', {}, one)))] : '';
    return [h('h3', {}, node.op), h('dl', {class: 'facts'}, fact('name', node.name), fact('result', node.spec), fact('module', node.module), fact('type', node.type),
        fact('source', node.source), fact('difference', markText(node)), isEndNode(node) ? '' : fact('plugin', this.pluginName(node) ? [dot(palette(node.plugin)), this.pluginName(node)] : this.section.none || 'no plugin'),
        fact('region', node.region), fact('debug handle', node.handle), (node.attrs || []).map(([name, value]) => fact(name, value))),
      node.reasons && node.reasons.length ? [h('h3', {class: 'bad'}, 'Rejected'), h('ul', {}, node.reasons.map(reason => h('li', {}, h('b', {}, reason[0]), ' ' + reason.slice(1).filter(Boolean).join(': '))))] : '',
      list('Constants', node.constants), list('Needs', (node.needs || []).map(i => this.nodeLink(i))), list('Needed by', (this.users[item.index] || []).slice(0, 50).map(i => this.nodeLink(i)))];
  }
}

Page.kinds.graph = section => typeof d3 === 'undefined' || !d3.zoom
  ? h('p', {}, 'This build has no D3, so the graph is a table.', GraphPart.prototype.nodeTable.call({section, pluginName: GraphPart.prototype.pluginName}))
  : new GraphPart(section).element;
