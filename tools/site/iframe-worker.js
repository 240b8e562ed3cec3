// Search runs in a worker, which browsers refuse to pages that are opened as files. There an invisible
// frame takes the worker's place: it has the same messages, and loads scripts by elements.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      this.waiting = []
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...urls) => urls.reduce(
        (before, each) => before.then(() => loaded(inside.document, new URL(each, url).href)),
        Promise.resolve()
      )
      this.inside = inside
      this.frame = frame
      loaded(inside.document, new URL(url, location.href).href).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      })
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }

  window.IFrameWorker = window.Worker  // by this name the theme knows where its scripts lie

  function loaded(page, url) {
    return new Promise((done, failed) => {
      const script = page.createElement("script")
      script.src = url
      script.onload = done
      script.onerror = failed
      page.body.appendChild(script)
    })
  }
}
