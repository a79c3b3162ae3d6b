// SPDX-License-Identifier: Apache-2.0
// Builds the page from its document: head, facts, warnings, summary, and one part per section.
'use strict';

// Plugins have the colours of their order in the document.
function pluginColour(name) {
  if (!Page.plugins) Page.plugins = [];
  let index = Page.plugins.indexOf(name);
  if (index < 0) index = Page.plugins.push(name) - 1;
  return palette(index);
}

function factList(facts) {
  return h('dl', {class: 'facts'}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, name === 'command' ? h('code', {}, value) : value)]));
}
function cardList(cards) {
  return h('dl', {class: 'cards'}, cards.map(card => h('div', {class: card.tone || null}, h('dt', {}, card.name), h('dd', {}, formatValue(card.type, card.value)))));
}
function warningList(warnings) {
  return warnings && warnings.length
    ? h('div', {class: 'alert', role: 'note'}, h('h2', {}, warnings.length === 1 ? '1 warning' : warnings.length + ' warnings'), h('ul', {}, warnings.map(w => h('li', {}, w)))) : null;
}

function partOf(section, id) {
  const draw = Page.kinds[section.kind];
  const body = draw ? draw(section) : h('p', {}, 'This page cannot draw a part of kind ' + section.kind);
  return h('section', {class: 'part', id, 'aria-labelledby': id + '-title'},
    h('header', {}, h('h2', {id: id + '-title'}, section.title), section.note && h('p', {class: 'note'}, section.note)), body);
}

function themeButton() {
  const label = () => isDark() ? 'Light' : 'Dark';
  const button = h('button', {type: 'button', 'aria-label': 'Switch between light and dark', onclick: () => {
    setTheme(isDark() ? 'light' : 'dark');
    button.textContent = label();
  }}, label());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setTheme(document.documentElement.dataset.theme); button.textContent = label(); });
  // Paper is light.
  let before;
  addEventListener('beforeprint', () => { before = document.documentElement.dataset.theme; setTheme('light'); });
  addEventListener('afterprint', () => setTheme(before));
  return button;
}

function buildPage(page) {
  for (const name of page.plugins || []) pluginColour(name);
  const parts = page.page === 'compare' ? comparedParts(page) : page.sections;
  const ids = parts.map((_, i) => 'part-' + i);
  document.body.prepend(
    h('a', {class: 'skip', href: '#content'}, 'Skip to the content'),
    h('header', {class: 'bar-top'}, h('span', {class: 'brand'}, 'etbackend'),
      h('nav', {'aria-label': 'Parts of this page'}, parts.map((part, i) => h('a', {href: '#' + ids[i]}, part.short || part.title))), themeButton()),
    h('main', {id: 'content'}, h('h1', {}, page.title), page.lead && h('p', {class: 'lead'}, page.lead),
      cardList(page.summary || []), warningList(page.warnings), factList(page.facts || []), parts.map((part, i) => partOf(part, ids[i]))),
    h('footer', {}, page.footer || ''));
}

addEventListener('DOMContentLoaded', () => buildPage(JSON.parse(document.getElementById('document').textContent)));
