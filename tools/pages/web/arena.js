// SPDX-License-Identifier: Apache-2.0
// Planned memory: tensors by address over the instructions, the bytes in use above, and a cursor that lists the tensors of
// one moment. It begins at the peak.
// Section: {nbytes, steps: [name of each instruction], boxes: [[name, spec, offset, nbytes, first, last, io]], peak}
'use strict';

class Arena {
  constructor(section) {
    this.section = section;
    this.count = Math.max(1, section.steps.length);
    this.live = this.bytesInUse();
    this.plot = h('div');
    this.range = h('input', {type: 'range', min: 0, max: this.count - 1, value: section.peak || 0, 'aria-label': 'Instruction', oninput: () => this.show(+this.range.value)});
    this.list = h('div');
    this.element = h('div', {}, this.plot, h('label', {}, this.range), this.list);
    this.at = section.peak || 0;
    this.request = scheduled(() => this.draw(), this.plot);
    this.listTensors();
  }
  // Bytes that some tensor covers at each step: values may share bytes.
  bytesInUse() {
    const byBegin = [...this.section.boxes].sort((a, b) => a[2] - b[2]), live = new Array(this.count).fill(0), reached = new Array(this.count).fill(0);
    for (const [, , offset, nbytes, first, last] of byBegin)
      for (let i = first; i <= Math.min(last, this.count - 1); ++i) {
        live[i] += Math.max(0, offset + nbytes - Math.max(offset, reached[i]));
        reached[i] = Math.max(reached[i], offset + nbytes);
      }
    return live;
  }
  show(step) {
    this.at = step;
    this.range.value = step;
    this.draw();
    this.listTensors();
  }
  listTensors() {
    const {section} = this, alive = section.boxes.filter(box => box[4] <= this.at && box[5] >= this.at).sort((a, b) => b[3] - a[3]);
    const sum = this.live[this.at];
    this.list.replaceChildren(
      h('p', {class: 'picked', role: 'status'}, h('b', {}, 'Instruction ' + this.at + ': ' + (section.steps[this.at] || 'none')), this.at === section.peak ? ' (the peak)' : '',
        ' ' + formatBytes(this.live[this.at]) + ' in use by ' + alive.length + (alive.length === 1 ? ' tensor' : ' tensors') + ' of ' + formatBytes(section.nbytes) + ' planned'),
      tableOf({title: 'Tensors in use at instruction ' + this.at, columns: [{name: 'tensor'}, {name: 'type and shape'}, {name: 'size', type: 'bytes'}, {name: 'share', type: 'percent'},
        {name: 'address', type: 'number'}, {name: 'from'}, {name: 'to'}],
      rows: alive.map(box => [box[0] + (box[6] ? ' (' + box[6] + ')' : ''), box[1], box[3], sum ? box[3] / sum : 0, box[2], this.stepName(box[4]), this.stepName(box[5])])}));
  }
  stepName(step) { return step + ' ' + (this.section.steps[step] || ''); }
  draw() {
    const width = Math.max(280, this.plot.clientWidth);
    const {section} = this, left = 74, right = width - 8, top = 14, liveTop = top, liveHeight = 70, boxTop = liveTop + liveHeight + 22, boxHeight = 300, bottom = boxTop + boxHeight;
    const x = step => left + (right - left) * step / this.count, y = address => bottom - boxHeight * address / Math.max(1, section.nbytes);
    const liveY = bytes => liveTop + liveHeight * (1 - bytes / Math.max(1, section.nbytes));
    const parts = [];
    for (const part of [0, 0.5, 1]) {
      parts.push(s('line', {class: 'grid', x1: left, x2: right, y1: liveY(part * section.nbytes), y2: liveY(part * section.nbytes)}));
      parts.push(s('text', {x: left - 6, y: liveY(part * section.nbytes) + 4, 'text-anchor': 'end'}, formatBytes(Math.round(part * section.nbytes))));
    }
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(s('line', {class: 'grid', x1: left, x2: right, y1: y(part * section.nbytes), y2: y(part * section.nbytes)}));
      parts.push(s('text', {x: left - 6, y: y(part * section.nbytes) + 4, 'text-anchor': 'end'}, formatBytes(Math.round(part * section.nbytes))));
    }
    for (const tick of ticksOf(0, this.count, Math.max(2, width / 110)))
      if (Number.isInteger(tick)) parts.push(s('line', {class: 'axis', x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 5}), s('text', {x: x(tick), y: bottom + 18, 'text-anchor': 'middle'}, tick));
    parts.push(s('text', {x: left, y: 10}, 'bytes in use'), s('text', {x: left, y: boxTop - 6}, 'addresses'), s('text', {x: right, y: bottom + 34, 'text-anchor': 'end'}, 'instruction'));
    parts.push(...this.livePath(x, liveY));
    section.boxes.forEach((box, i) => parts.push(s('rect', {class: 'box' + (box[6] ? ' io' : '') + (box[4] <= this.at && box[5] >= this.at ? '' : ' off'), x: x(box[4]).toFixed(2), width: Math.max(1, x(box[5] + 1) - x(box[4])).toFixed(2),
      y: y(box[2] + box[3]).toFixed(2), height: Math.max(0.8, boxHeight * box[3] / Math.max(1, section.nbytes)).toFixed(2), fill: 'var(--' + palette(i * 5 % 8) + ')', 'data-step': box[4]}, s('title', {}, box[0] + ' ' + box[1] + ', ' + formatBytes(box[3])))));
    parts.push(s('line', {class: 'cursor', x1: x(this.at + 0.5), x2: x(this.at + 0.5), y1: liveTop, y2: bottom}));
    const svg = s('svg', {class: 'plot', viewBox: '0 0 ' + width + ' ' + (bottom + 40), role: 'img', 'aria-label': section.title + ': peak of ' + formatBytes(Math.max(...this.live)) + ' at instruction ' + section.peak}, parts);
    svg.addEventListener('click', e => {
      const step = Math.floor(((e.clientX - svg.getBoundingClientRect().left) * width / svg.getBoundingClientRect().width - left) / (right - left) * this.count);
      this.show(Math.max(0, Math.min(this.count - 1, step)));
    });
    this.plot.replaceChildren(svg);
  }
  livePath(x, y) {
    let line = '';
    this.live.forEach((bytes, i) => { line += (i ? 'L' : 'M') + x(i).toFixed(1) + ' ' + y(bytes).toFixed(1) + 'L' + x(i + 1).toFixed(1) + ' ' + y(bytes).toFixed(1); });
    return [s('path', {class: 'area', d: line + 'L' + x(this.count).toFixed(1) + ' ' + y(0).toFixed(1) + 'L' + x(0).toFixed(1) + ' ' + y(0).toFixed(1) + 'Z'}), s('path', {class: 'live', d: line})];
  }
}
Page.kinds.arena = section => section.boxes.length ? new Arena(section).element : h('p', {class: 'muted'}, 'no planned tensors');
