// SPDX-License-Identifier: Apache-2.0
// Two pages of one kind, side by side. Tables and bars with the same title are joined by their first columns.
'use strict';

// Smaller is better for times and bytes.
function changeOf(type, a, b) {
  if (typeof a !== 'number' || typeof b !== 'number') return a === b ? null : {text: a === undefined ? 'only in B' : b === undefined ? 'only in A' : 'differs', order: a === undefined || b === undefined ? 1e9 : 1, tone: 'warn'};
  if (a === b) return {text: '=', order: 0, tone: 'muted'};
  const text = type === 'percent' ? ((b - a) * 100 >= 0 ? '+' : '') + ((b - a) * 100).toFixed(1) + ' points' : a ? (b >= a ? '+' : '') + ((b / a - 1) * 100).toFixed(1) + ' %' : 'new';
  const judged = type === 'us' || type === 'bytes';
  return {text, order: type === 'percent' ? Math.abs(b - a) : a ? Math.abs(b / a - 1) : 1e9, tone: judged ? (b < a ? 'good' : 'bad') : ''};
}

// Joins rows by their key columns; equal keys are joined in order.
function joinedTable(a, b) {
  const keys = a.columns.map((column, i) => i).filter(i => a.columns[i].key), by = keys.length ? keys : [0];
  const values = a.columns.map((_, i) => i).filter(i => !by.includes(i) && a.columns[i].type !== 'spark');
  const rows = new Map();
  for (const [side, table] of [[0, a], [1, b]]) {
    const seen = new Map();
    for (const row of table.rows) {
      const name = JSON.stringify(by.map(i => row[i])), nth = seen.get(name) || 0;
      seen.set(name, nth + 1);
      const key = name + nth;
      if (!rows.has(key)) rows.set(key, [by.map(i => row[i]), null, null]);
      rows.get(key)[side + 1] = row;
    }
  }
  const columns = by.map(i => a.columns[i]);
  for (const i of values) columns.push({...a.columns[i], name: a.columns[i].name + ' A'}, {...a.columns[i], name: a.columns[i].name + ' B'}, ...(isNumber(a.columns[i].type) ? [{name: 'change', type: 'change'}] : []));
  const out = [...rows.values()].map(([key, x, y]) => [...key, ...values.flatMap(i => {
    const left = x ? x[i] : undefined, right = y ? y[i] : undefined;
    return [left, right, ...(isNumber(a.columns[i].type) ? [changeOf(a.columns[i].type, left, right)] : [])];
  })]);
  return {kind: 'table', title: a.title, note: 'A and B joined by ' + by.map(i => a.columns[i].name).join(' and ') + '.', columns, rows: out};
}
function barTable(section) {
  return {title: section.title, columns: [{name: 'name', key: true}, {name: section.unit === 'us' ? 'time' : 'value', type: section.unit || 'number'}], rows: section.rows.map(row => [row.name, row.value])};
}
// ---- Graphs: nodes with the same name and operator are one node. Each difference has a sign, so that no colour is needed.
const kMarks = {added: ['+', 'only in B'], removed: ['−', 'only in A'], plugin: ['⇄', 'another plugin'], changed: ['≠', 'other result, constants or arguments']};
function nodeKeys(graph) {
  const seen = new Map();
  return graph.nodes.map(node => {
    const name = JSON.stringify([node.name, node.op]), nth = seen.get(name) || 0;
    seen.set(name, nth + 1);
    return name + nth;
  });
}
// Marks the nodes of both graphs that differ, and returns a row for each difference.
function markDifferences(left, right) {
  const rows = [], pluginOf = (section, node) => node.plugin === undefined || node.plugin === null ? section.none || 'no plugin' : section.plugins[node.plugin];
  const factsOf = node => [node.spec, node.constants, node.attrs].map(fact => JSON.stringify(fact || ''));
  const mark = (node, kind, text) => nodeMarks.set(node, {sign: kMarks[kind][0] + ' ', kind: kMarks[kind][1], text});
  const add = (kind, graph, node, a, b) => rows.push([kMarks[kind][0] + ' ' + kMarks[kind][1], node.name, node.op, graph.name, a, b]);
  const names = new Set([...left.graphs, ...right.graphs].map(graph => graph.name));
  for (const name of names) {
    const [a, b] = [left, right].map(section => section.graphs.find(graph => graph.name === name));
    const others = new Map(b ? nodeKeys(b).map((key, i) => [key, b.nodes[i]]) : []);
    if (a) nodeKeys(a).forEach((key, i) => {
      const x = a.nodes[i], y = others.get(key);
      others.delete(key);
      if (!y) { mark(x, 'removed', 'only in A'); return add('removed', a, x, x.spec || '', ''); }
      const [before, after] = [pluginOf(left, x), pluginOf(right, y)];
      if (before !== after) {
        mark(x, 'plugin', 'in B on ' + after);
        mark(y, 'plugin', 'in A on ' + before);
        return add('plugin', a, x, before, after);
      }
      const [was, is] = [factsOf(x), factsOf(y)], at = was.findIndex((fact, j) => fact !== is[j]);
      if (at < 0) return;
      const text = node => at === 0 ? node.spec || 'none' : at === 1 ? (node.constants || []).join(', ') || 'none' : (node.attrs || []).map(attr => attr.join(' ')).join(', ') || 'none';
      mark(x, 'changed', 'in B ' + text(y));
      mark(y, 'changed', 'in A ' + text(x));
      add('changed', a, x, text(x), text(y));
    });
    for (const node of others.values()) { mark(node, 'added', 'only in B'); add('added', b, node, '', node.spec || ''); }
  }
  return rows;
}
function differencesOf(left, right) {
  const rows = markDifferences(left, right);
  if (!rows.length) return h('p', {}, 'The graphs have the same nodes on the same plugins.');
  const counts = Object.values(kMarks).map(([sign, text]) => [sign + ' ' + text, rows.filter(row => row[0] === sign + ' ' + text).length]).filter(([, n]) => n);
  return h('div', {class: 'differences'}, h('ul', {class: 'legend', 'aria-label': 'Signs of differences'}, counts.map(([text, n]) => h('li', {}, h('span', {class: 'pill warn'}, text + ': ' + formatCount(n))))),
    h('details', {open: rows.length <= 30 ? '' : null}, h('summary', {}, 'Nodes that differ'), tableOf({title: 'Nodes that differ', rows,
      columns: [{name: 'difference'}, {name: 'node'}, {name: 'operator'}, {name: 'graph'}, {name: 'A'}, {name: 'B'}]})));
}
Page.kinds.pair = section => h('div', {}, section.sides.every(side => side && side.kind === 'graph') && differencesOf(...section.sides), pairOf(section));
const pairOf = section => h('div', {class: 'pair'}, section.sides.map((side, i) => h('div', {}, h('h3', {}, 'AB'[i]), side ? Page.kinds[side.kind](side) : h('p', {class: 'muted'}, 'not in this report'))));

function comparedParts(page) {
  const [a, b] = page.sides;
  const factRows = new Map();
  for (const [side, one] of [[1, a], [2, b]]) for (const [name, value] of one.facts || []) { if (!factRows.has(name)) factRows.set(name, [name, '', '']); factRows.get(name)[side] = value; }
  const parts = [{kind: 'table', title: 'Circumstances', columns: [{name: 'fact', key: true}, {name: 'A'}, {name: 'B'}], rows: [...factRows.values()]}];
  const cards = new Map();
  for (const [side, one] of [[0, a], [1, b]]) for (const card of one.summary || []) { if (!cards.has(card.name)) cards.set(card.name, [card.type, undefined, undefined]); cards.get(card.name)[side + 1] = card.value; }
  parts.push({kind: 'table', title: 'Summary', columns: [{name: 'what', key: true}, {name: 'A'}, {name: 'B'}, {name: 'change', type: 'change'}],
    rows: [...cards].map(([name, [type, x, y]]) => [name, formatValue(type, x), formatValue(type, y), changeOf(type, x, y)])});
  const warnings = [a, b].flatMap((one, i) => (one.warnings || []).map(text => ['AB'[i], text]));
  if (warnings.length) parts.push({kind: 'table', title: 'Warnings', columns: [{name: 'report'}, {name: 'warning'}], rows: warnings});
  const rest = [...b.sections];
  for (const left of a.sections) {
    const at = rest.findIndex(right => right.kind === left.kind && right.title === left.title);
    const right = at < 0 ? null : rest.splice(at, 1)[0];
    parts.push(comparedPart(left, right));
  }
  for (const right of rest) parts.push(comparedPart(null, right));
  return parts;
}
function comparedPart(left, right) {
  const one = left || right;
  if (left && right && one.kind === 'table') return joinedTable(left, right);
  if (left && right && one.kind === 'bars') return joinedTable(barTable(left), barTable(right));
  return {kind: 'pair', title: one.title, short: one.short, sides: [left, right]};
}
