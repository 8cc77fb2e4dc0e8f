/* Browsers start no worker for a page that is opened from a folder; the search of the site needs one.
   There, and only there, a hidden frame does the work. */
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.worker = this;
      frame.srcdoc =
        "<script>postMessage = data => frameElement.worker.dispatchEvent(new parent.MessageEvent('message', {data}))" +
        `</script><script src="${url}"></script>`;
      this.ready = new Promise(done => frame.addEventListener("load", () => done(frame.contentWindow)));
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new inside.MessageEvent("message", {data})));
    }

    terminate() {}
  };
}
