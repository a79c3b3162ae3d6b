// SPDX-License-Identifier: Apache-2.0
// A table that sorts and filters. Rows are added as they are asked for, so that 100,000 of them cost nothing.
'use strict';
const kRowsAtOnce = 100;

function cellOf(column, value) {
  const type = column.type || 'text';
  if (type === 'spark') {
    if (!Array.isArray(value)) return h('td');
    const most = Math.max(...value, 1);
    return h('td', {}, h('span', {class: 'spark', role: 'img', 'aria-label': value.join(', ')}, value.map(v => {
      const bar = h('i');
      bar.style.height = v / most * 100 + '%';
      return bar;
    })));
  }
  const text = formatValue(type, value);
  if (type === 'percent' && typeof value === 'number') {
    const bar = h('i');
    bar.style.width = Math.min(100, Math.max(0, value * 100)) + '%';
    return h('td', {class: 'num'}, text, h('span', {class: 'share', 'aria-hidden': 'true'}, bar));
  }
  if (isNumber(type)) return h('td', {class: 'num'}, text);
  if (type === 'change') return h('td', {class: 'num ' + (value && value.tone || '')}, value ? value.text : '');
  if (type === 'plugin') return h('td', {class: 'plugin'}, value ? [dot(pluginColour(value)), value] : h('span', {class: 'muted'}, 'none'));
  if (type === 'code') return h('td', {class: 'long'}, text && h('code', {}, text));
  return h('td', {class: text.length > 40 ? 'long' : 'text'}, text);
}

const sortKey = value => value && typeof value === 'object' ? (Array.isArray(value) ? value.length : value.order) : value;

function tableOf(section) {
  const columns = section.columns;
  let order = section.rows.map((_, i) => i);
  let sorted = -1, ascending = true, shown = kRowsAtOnce, words = [];
  const body = h('tbody');
  const status = h('span', {class: 'muted', role: 'status'});
  const more = h('button', {class: 'more', type: 'button', onclick: () => { shown = Math.max(shown * 4, 400); draw(); }});
  const texts = [];
  const textOf = i => texts[i] || (texts[i] = section.rows[i].map((v, c) => formatValue(columns[c].type, v)).join(' ').toLowerCase());
  function draw() {
    const found = words.length ? order.filter(i => words.every(w => textOf(i).includes(w))) : order;
    body.replaceChildren(...found.slice(0, shown).map(i => h('tr', {}, section.rows[i].map((v, c) => cellOf(columns[c], v)))));
    more.hidden = found.length <= shown;
    more.textContent = 'Show ' + formatCount(found.length - shown) + ' more';
    status.textContent = words.length ? formatCount(found.length) + ' of ' + formatCount(order.length) + ' rows' : '';
  }
  function sort(column) {
    ascending = sorted === column ? !ascending : !isNumber(columns[column].type) && columns[column].type !== 'change';
    sorted = column;
    const sign = ascending ? 1 : -1;
    order.sort((a, b) => {
      const x = sortKey(section.rows[a][column]), y = sortKey(section.rows[b][column]);
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : 1) * sign;
    });
    heads.forEach((head, c) => {
      if (c === column) head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
      head.firstChild.lastChild.textContent = c === column ? (ascending ? ' ▲' : ' ▼') : '';
    });
    draw();
  }
  const heads = columns.map((column, c) => h('th', {scope: 'col', class: isNumber(column.type) || column.type === 'change' ? 'num' : null},
    h('button', {type: 'button', onclick: () => sort(c)}, column.name, h('span', {'aria-hidden': 'true'}))));
  const filter = section.rows.length > 12 && h('div', {class: 'tools'},
    h('label', {class: 'grow'}, h('span', {class: 'hidden'}, 'Filter ' + section.title),
      h('input', {type: 'search', class: 'grow', placeholder: 'Filter rows', oninput: e => {
        words = e.target.value.toLowerCase().split(/\s+/).filter(Boolean);
        draw();
      }})), status);
  const table = h('table', {}, h('caption', {class: 'hidden'}, section.title), h('thead', {}, h('tr', {}, heads)), body);
  draw();
  const scroll = h('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': section.title + ', table'}, table);
  return h('div', {}, filter, section.rows.length ? scroll : h('p', {class: 'muted'}, section.empty || 'none'), more);
}

Page.kinds.table = section => tableOf(section);

// Text of a finding or list, with its details.
Page.kinds.items = section => h('div', {}, section.items.length ? section.items.map(item =>
  h('details', {class: 'item', open: item.open},
    h('summary', {}, item.state && h('span', {class: 'pill ' + (item.tone || '')}, item.state), item.title),
    h('div', {}, (item.lines || []).map(line => h('p', {}, line)), (item.code || []).map(line => h('pre', {tabindex: '0'}, line)))))
  : h('p', {class: 'muted'}, section.empty || 'none'));

const kHeatMarks = {pass: '✓', fail: '✗', some: '~', none: '–'};
Page.kinds.heat = section => h('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': section.title + ', table'},
  h('p', {class: 'note'}, section.legend),
  h('table', {class: 'heat'}, h('caption', {class: 'hidden'}, section.title),
    h('thead', {}, h('tr', {}, h('td', {}), section.columns.map(name => h('th', {scope: 'col'}, name)))),
    h('tbody', {}, section.rows.map(row => h('tr', {}, h('th', {scope: 'row'}, row.name), row.cells.map(cell =>
      cell ? h('td', {class: cell.state, title: cell.text}, kHeatMarks[cell.state], h('span', {class: 'hidden'}, cell.text)) : h('td', {})))))));
