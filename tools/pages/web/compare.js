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
Page.kinds.pair = section => h('div', {class: 'pair'}, section.sides.map((side, i) => h('div', {}, h('h3', {}, 'AB'[i]), side ? Page.kinds[side.kind](side) : h('p', {class: 'muted'}, 'not in this report'))));

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
