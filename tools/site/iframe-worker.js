// SPDX-License-Identifier: Apache-2.0
// Search from file://: browsers start no worker from a file, so one that needs no thread of its own runs the same
// script in a hidden frame. The theme looks for the name IFrameWorker and has the frame's importScripts() return a
// promise.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];  // messages that came before the script was ready
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const load = (source) => new Promise((resolve, reject) => {
        const script = inner.document.createElement("script");
        script.src = source;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${source}`));
        inner.document.head.append(script);
      });
      inner.importScripts = (...sources) => sources.reduce((done, source) => done.then(() => load(source)), Promise.resolve());
      inner.postMessage = (data) => this.receive(data);
      load(new URL(url, document.baseURI).href).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    receive(data) {
      const event = new MessageEvent("message", {data});
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data}));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
