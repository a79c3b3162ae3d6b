// SPDX-License-Identifier: Apache-2.0
// Places a graph: nodes below what they need. A group that is open is placed by itself and is one box of the group around
// it, so that opening one costs only the groups around it. Each level is a layered drawing: layers by longest path, order
// by medians, then positions by repeated averages.
'use strict';
const kGapX = 26, kGapY = 34, kPad = 14, kGroupHead = 28, kLongEdge = 24;

// Differences that a comparison found: {sign, kind, text} by node.
const nodeMarks = new Map();

// Makes the tree of groups. pathOf returns the names of the groups around a node, outermost first.
function groupTree(nodes, pathOf) {
  const root = {id: '', name: '', path: '', children: [], parent: null, group: true, open: true, count: 0, first: 0, depth: 0};
  const groups = new Map([['', root]]);
  nodes.forEach((node, index) => {
    let at = root;
    for (const name of pathOf(node)) {
      const id = at.id + '/' + name;
      let group = groups.get(id);
      if (!group) {
        group = {id, name, children: [], parent: at, group: true, open: false, count: 0, first: index, depth: at.depth + 1};
        groups.set(id, group);
        at.children.push(group);
      }
      at = group;
    }
    at.children.push({id: at.id + '#' + index, node, index, parent: at, group: false, first: index});
  });
  joinChains(root);
  countGroups(root);
  return root;
}
// A group that holds one group only becomes one with it: "features.0". A node alone in its group needs no frame: it has the
// name of the group in its title.
function joinChains(group) {
  for (const child of group.children) if (child.group) joinChains(child);
  group.children = group.children.map(child => {
    if (!child.group || child.children.length !== 1 || child.children[0].group) return child;
    const leaf = child.children[0];
    leaf.prefix = leaf.prefix ? child.name + '.' + leaf.prefix : child.name;
    leaf.parent = group;
    return leaf;
  });
  while (group.parent && group.children.length === 1 && group.children[0].group) {
    const only = group.children[0];
    group.name += '.' + only.name;
    group.children = only.children;
    for (const child of group.children) child.parent = group;
  }
}
function countGroups(group) {
  group.count = 0;
  group.differing = 0;  // nodes that a comparison marked
  group.plugins = new Map();
  group.type = '';
  for (const child of group.children) {
    if (child.group) {
      countGroups(child);
      group.count += child.count;
      group.differing += child.differing;
      for (const [plugin, n] of child.plugins) group.plugins.set(plugin, (group.plugins.get(plugin) || 0) + n);
    } else {
      group.count += 1;
      group.differing += nodeMarks.has(child.node) ? 1 : 0;
      const plugin = child.node.plugin ?? -1;
      group.plugins.set(plugin, (group.plugins.get(plugin) || 0) + 1);
      // A leaf with a prefix is the only node of a module inside of the group, and the type is that module's.
      if (!group.type && child.node.type && !child.prefix) group.type = child.node.type;
    }
  }
}
function eachLeaf(group, visit) {
  for (const child of group.children) child.group ? eachLeaf(child, visit) : visit(child);
}

// Gives each group the edges between its children. An edge between two groups is one of the group around both.
function assignEdges(root) {
  const leaves = [];
  (function clear(group) {
    group.edges = new Map();
    group.placed = false;
    for (const child of group.children) if (child.group) clear(child); else leaves[child.index] = child;
  })(root);
  const chain = leaf => {
    const out = [];
    for (let at = leaf; at; at = at.parent) out.push(at);
    return out.reverse();
  };
  const chains = leaves.map(chain);
  for (const to of leaves)
    for (const need of to.node.needs || []) {
      const a = chains[need], b = chains[to.index];
      let level = 0;
      while (a[level + 1] === b[level + 1] && a[level + 1] !== undefined) ++level;
      const from = a[level + 1], into = b[level + 1];
      if (!from || !into || from === into) continue;
      const key = from.id + '\n' + into.id;
      const edge = a[level].edges.get(key);
      if (edge) edge.count += 1;
      else a[level].edges.set(key, {from, to: into, count: 1, label: leaves[need].node.spec || ''});
    }
  return leaves;
}

// Sizes and places the children of an open group, relative to its corner.
function placeGroup(group, sizeOf) {
  for (const child of group.children) {
    if (child.group && child.open) placeGroup(child, sizeOf);
    else [child.w, child.h] = sizeOf(child);
  }
  if (group.placed) return;
  group.placed = true;
  const items = [...group.children].sort((a, b) => a.first - b.first);
  const slots = layersOf(items, [...group.edges.values()]);
  orderLayers(slots.layers);
  positionLayers(slots.layers);
  const head = group.parent ? kGroupHead : 0, pad = group.parent ? kPad : 24;
  let y = head + pad, left = Infinity, right = -Infinity;
  for (const layer of slots.layers) {
    const height = Math.max(...layer.map(slot => slot.h));
    for (const slot of layer) {
      slot.y = y + (slot.item ? (height - slot.h) / 2 : 0);
      slot.bottom = y + height;
      left = Math.min(left, slot.x);
      right = Math.max(right, slot.x + slot.w);
    }
    y += height + kGapY;
  }
  for (const layer of slots.layers) for (const slot of layer) {
    slot.x += pad - left;
    if (slot.item) { slot.item.x = slot.x; slot.item.y = slot.y; }
  }
  group.w = Math.max(right - left, sizeOf.headWidth(group)) + 2 * pad;
  group.h = y - kGapY + pad;
  group.lines = slots.lines.map(line => ({edge: line.edge, points: line.slots.map(slot => slot)}));
}

// Layers by longest path. An edge back to an earlier item (a loop between groups) is skipped. Long edges pass through
// slots without an item, which edges of one source share; very long ones are drawn without.
function layersOf(items, edges) {
  const slotOf = new Map();
  for (const item of items) slotOf.set(item, {item, w: item.w, h: item.h, up: [], down: [], layer: 0});
  const forward = edges.filter(edge => edge.from.first < edge.to.first);
  const into = new Map();
  for (const edge of forward) {
    if (!into.has(edge.to)) into.set(edge.to, []);
    into.get(edge.to).push(edge.from);
  }
  for (const item of items)
    for (const from of into.get(item) || []) slotOf.get(item).layer = Math.max(slotOf.get(item).layer, slotOf.get(from).layer + 1);
  // Items that need nothing come just above the first that needs them.
  const earliest = new Map();
  for (const edge of forward) earliest.set(edge.from, Math.min(earliest.get(edge.from) ?? Infinity, slotOf.get(edge.to).layer));
  for (const item of items) if (!into.has(item) && earliest.has(item)) slotOf.get(item).layer = earliest.get(item) - 1;
  const layers = [];
  for (const slot of slotOf.values()) (layers[slot.layer] ||= []).push(slot);
  for (let i = 0; i < layers.length; ++i) layers[i] ||= [];
  const lines = [], passing = new Map();
  const join = (a, b) => { a.down.push(b); b.up.push(a); };
  for (const edge of edges) {
    const from = slotOf.get(edge.from), to = slotOf.get(edge.to);
    const through = [from];
    if (edge.from.first < edge.to.first && to.layer - from.layer <= kLongEdge) {
      let before = from;
      for (let layer = from.layer + 1; layer < to.layer; ++layer) {
        const key = edge.from.id + '\n' + layer;
        let slot = passing.get(key);
        if (!slot) {
          slot = {item: null, w: 8, h: 0, up: [], down: [], layer};
          passing.set(key, slot);
          layers[layer].push(slot);
          join(before, slot);
        }
        through.push(before = slot);
      }
      join(before, to);
    }
    through.push(to);
    lines.push({edge, slots: through});
  }
  return {layers: layers.filter(layer => layer.length), lines};
}

function orderLayers(layers) {
  const number = layer => layer.forEach((slot, i) => { slot.order = i; });
  layers.forEach(number);
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  const sweeps = size > 4000 ? 2 : size > 800 ? 4 : 10;
  const median = list => {
    if (!list.length) return -1;
    const orders = list.map(slot => slot.order).sort((a, b) => a - b), m = orders.length >> 1;
    return orders.length % 2 ? orders[m] : (orders[m - 1] + orders[m]) / 2;
  };
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const slot of layer) {
        const m = median(down ? slot.up : slot.down);
        slot.wish = m < 0 ? slot.order : m;
      }
      layer.sort((a, b) => a.wish - b.wish || a.order - b.order);
      number(layer);
    }
  }
}

// Moves each slot towards the middle of its neighbours, as far as those beside it allow.
function positionLayers(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const slot of layer) { slot.x = x; x += slot.w + kGapX; }
    for (const slot of layer) slot.x -= (x - kGapX) / 2;
  }
  const middle = slot => slot.x + slot.w / 2;
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  const rounds = size > 4000 ? 6 : 24;
  for (let round = 0; round < rounds; ++round) {
    const down = round % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const wishes = layer.map(slot => {
        const near = down ? slot.up : slot.down, list = near.length ? near : down ? slot.down : slot.up;
        return list.length ? list.reduce((sum, other) => sum + middle(other), 0) / list.length - slot.w / 2 : slot.x;
      });
      settle(layer, wishes);
    }
  }
}
// The positions nearest to the wishes that keep the order and the gaps: neighbours that would overlap move as one block.
function settle(layer, wishes) {
  const blocks = [];
  layer.forEach((slot, i) => {
    let block = {first: i, count: 1, width: slot.w, sum: wishes[i], x: wishes[i]};
    while (blocks.length && blocks[blocks.length - 1].x + blocks[blocks.length - 1].width + kGapX > block.x) {
      const before = blocks.pop();
      const offset = before.width + kGapX;
      block = {first: before.first, count: before.count + block.count, width: offset + block.width,
        sum: before.sum + block.sum - offset * block.count, x: 0};
      block.x = block.sum / block.count;
    }
    blocks.push(block);
  });
  for (const block of blocks) {
    let x = block.x;
    for (let i = block.first; i < block.first + block.count; ++i) { layer[i].x = x; x += layer[i].w + kGapX; }
  }
}

// Lists boxes, frames and lines with absolute positions, in drawing order. A group that changed must be marked with
// forget() first.
function placeAll(root, sizeOf) {
  placeGroup(root, sizeOf);
  const boxes = [], frames = [], lines = [];
  (function walk(group, x, y) {
    group.ax = x; group.ay = y;
    if (group.parent) frames.push(group);
    for (const line of group.lines) {
      const points = [];
      line.points.forEach((slot, i) => {
        const cx = x + slot.x + slot.w / 2;
        if (i > 0) points.push([cx, y + slot.y]);
        if (i < line.points.length - 1) points.push([cx, y + (i === 0 ? slot.y + slot.h : slot.bottom)]);
      });
      const ys = points.map(p => p[1]), xs = points.map(p => p[0]);
      lines.push({edge: line.edge, points, top: Math.min(...ys), bottom: Math.max(...ys), left: Math.min(...xs), right: Math.max(...xs)});
    }
    for (const child of group.children) {
      child.ax = x + child.x; child.ay = y + child.y;
      if (child.group && child.open) walk(child, child.ax, child.ay);
      else boxes.push(child);
    }
  })(root, 0, 0);
  return {boxes, frames, lines, width: root.w, height: root.h};
}
function forget(group) {
  for (let at = group; at; at = at.parent) at.placed = false;
}
