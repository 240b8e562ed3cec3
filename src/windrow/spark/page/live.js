// Draws what progress_history.py tells: which charts there are, and the figures of every batch.
"use strict";
(() => {
  const KEPT = 240, COLOURS = 8, TABLE = 20;
  const WIDTH = 360, HEIGHT = 150, LEFT = 58, RIGHT = 8, TOP = 6, BOTTOM = 18;
  const start = JSON.parse(document.getElementById("start").textContent);
  const queries = new Map(); // by name: what is known of it, and its part of the page
  let panels = [], due = false;

  // -- words and numbers ----------------------------------------------------------------------

  const number = (value) => {
    const size = Math.abs(value);
    const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 2 : 4;
    return value.toLocaleString("en", { maximumFractionDigits: digits });
  };
  const short = (value) => Math.abs(value) < 10000 ? number(value)
    : value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
  // steps: [from, one, unit], the largest first
  const scaled = (steps) => (value) => {
    const [, one, unit] = steps.find(([from]) => Math.abs(value) >= from);
    return `${number(Number((value / one).toPrecision(3)))} ${unit}`;
  };
  const bytes = scaled([..."TGMK"].map((unit, i) => [1024 ** (4 - i), 1024 ** (4 - i), `${unit}iB`]).concat([[0, 1, "B"]]));
  const lasting = scaled([[172800, 86400, "d"], [7200, 3600, "h"], [120, 60, "min"], [1, 1, "s"], [0, 1e-3, "ms"]]);
  const seconds = (value) => value === 0 ? "0 s" : lasting(value);
  const FORMATS = { n: [number, short], s: [seconds, seconds], B: [bytes, bytes] };
  const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB");

  // -- elements -------------------------------------------------------------------------------

  const filled = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const make = (tag, attributes = {}, ...children) =>
    filled(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const colour = (i) => `var(--c${i % COLOURS})`;

  // -- a chart --------------------------------------------------------------------------------

  // Ends of an axis on round numbers, and the numbers between them; from 0 unless `free`. Bytes are
  // round in powers of 1024.
  function axis(values, { free, unit }) {
    let low = free ? Math.min(...values) : Math.min(0, ...values);
    let high = Math.max(...values, free ? -Infinity : 0);
    if (low === high) [low, high] = free && low ? [low - Math.abs(low) / 10, high + Math.abs(high) / 10] : [0, 1];
    const rough = (high - low) / 3;
    const base = unit === "B" ? 1024 ** Math.max(0, Math.floor(Math.log2(rough) / 10)) : 1;
    const power = base * 10 ** Math.floor(Math.log10(rough / base));
    const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((each) => each >= rough);
    const ticks = [];
    for (let i = Math.floor(low / step + 1e-9); i <= Math.ceil(high / step - 1e-9); i++) ticks.push(i * step);
    return ticks;
  }

  // lines: [{name, values}], a value for each batch or null; `at` is the batch that is read.
  function picture(panel, lines, batches, at) {
    const [, brief] = FORMATS[panel.unit];
    const sums = batches.map((_, j) => lines.reduce((sum, line) => sum + (line.values[j] ?? 0), 0));
    const all = panel.stacked ? sums : lines.flatMap((line) => line.values.filter((v) => v !== null));
    const ticks = axis(all, panel), [low, high] = [ticks[0], ticks.at(-1)];
    const times = batches.map((batch) => batch.at), span = times.at(-1) - times[0] || 1;
    const x = (time) => times.length === 1 ? (LEFT + WIDTH - RIGHT) / 2
      : LEFT + (WIDTH - LEFT - RIGHT) * (time - times[0]) / span;
    const y = (value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low);
    const parts = [];
    for (const tick of ticks) {
      parts.push(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick) }));
      parts.push(draw("text", { x: LEFT - 5, y: y(tick) + 4, "text-anchor": "end" }, brief(tick)));
    }
    parts.push(draw("text", { x: LEFT, y: HEIGHT - 4 }, clock(times[0])));
    parts.push(draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, clock(times.at(-1))));
    if (panel.stacked) {
      const wide = Math.max(1, Math.min(24, 0.8 * (WIDTH - LEFT - RIGHT) / times.length));
      const inside = (time) => Math.min(WIDTH - RIGHT - wide, Math.max(LEFT, x(time) - wide / 2));
      const below = batches.map(() => 0);
      lines.forEach((line, i) => line.values.forEach((value, j) => {
        if (!value) return;
        const top = y(below[j] + value);
        parts.push(draw("rect", { x: inside(times[j]), y: top, width: wide, height: y(below[j]) - top, fill: colour(i) }));
        below[j] += value;
      }));
    } else {
      lines.forEach((line, i) => {
        let path = "", last = null;
        line.values.forEach((value, j) => {
          if (value === null) return;
          path += `${path ? "L" : "M"}${x(times[j]).toFixed(1)} ${y(value).toFixed(1)}`;
          last = [x(times[j]), y(value)];
        });
        if (last === null) return;
        const dashes = i < COLOURS ? {} : { "stroke-dasharray": "5 3" };
        parts.push(draw("path", { d: path, stroke: colour(i), ...dashes }));
        parts.push(draw("circle", { cx: last[0], cy: last[1], r: 2.5, fill: colour(i) }));
      });
    }
    const place = x(times[at]);
    if (at < batches.length - 1) parts.push(draw("line", { class: "cursor", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
    return parts;
  }

  function chart(query, panel) {
    const when = make("span"), legend = make("ul", { class: "legend" });
    const image = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0" });
    const box = make("figure", { class: "card" }, make("figcaption", {}, panel.title, when), legend, image);
    const read = (at) => { query.cursor = at; later(); };
    image.addEventListener("pointermove", (event) => {
      const times = query.batches.map((batch) => batch.at), edge = image.getBoundingClientRect();
      const share = ((event.clientX - edge.left) / edge.width * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
      const wanted = times[0] + share * (times.at(-1) - times[0]);
      let near = 0;
      times.forEach((time, i) => { if (Math.abs(time - wanted) < Math.abs(times[near] - wanted)) near = i; });
      read(query.batches[near].batch);
    });
    image.addEventListener("pointerleave", () => read(null));
    image.addEventListener("blur", () => read(null));
    image.addEventListener("keydown", (event) => {
      const last = query.batches.length - 1, at = position(query);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const found = Math.max(0, Math.min(last, to));
      read(found === last ? null : query.batches[found].batch);
    });
    return { box, when, legend, image };
  }

  // The place of the batch that is read: the newest, unless the pointer or a key chose another.
  function position(query) {
    const found = query.batches.findIndex((batch) => batch.batch === query.cursor);
    return found < 0 ? query.batches.length - 1 : found;
  }

  function show(query, drawn, panel, lines) {
    const some = lines.some((line) => line.values.some((value) => value !== null));
    drawn.box.hidden = !some;
    if (!some) return;
    const at = position(query), batch = query.batches[at], [text] = FORMATS[panel.unit];
    const told = lines.map((line) => [line.name, line.values[at] === null ? "–" : text(line.values[at])]);
    const newest = at === query.batches.length - 1;
    drawn.when.textContent = newest ? "" : `batch ${batch.batch}, ${clock(batch.at)}`;
    drawn.legend.replaceChildren(...told.map(([name, value], i) =>
      make("li", {}, make("i", { style: `background: ${colour(i)}` }), `${name} `, make("b", {}, value))));
    drawn.image.setAttribute("aria-label",
      `${panel.title}, batch ${batch.batch}: ${told.map((pair) => pair.join(" ")).join(", ")}`);
    drawn.image.replaceChildren(...picture(panel, lines, query.batches, at));
  }

  // -- a query --------------------------------------------------------------------------------

  const RESULTS = { title: "Newest results", unit: "n", stacked: false, free: true };

  function section(query, i) {
    const id = `query-${i}`;
    const node = {
      state: make("span", { class: "state" }), facts: make("div", { class: "facts" }),
      body: make("div", { class: "body" }), charts: make("div", { class: "charts" }),
      plan: make("details", { class: "plan", open: "" }, make("summary", {}, "What runs"), make("pre", { tabindex: "0" })),
      table: make("details", {}, make("summary", {}, "The last batches as a table"), make("div", { class: "table", tabindex: "0" })),
    };
    node.results = chart(query, RESULTS);
    node.drawn = panels.map((panel) => chart(query, panel));
    node.charts.append(node.results.box, ...node.drawn.map((each) => each.box));
    node.body.append(node.charts, node.plan);
    node.table.addEventListener("toggle", later);
    node.section = make("section", { class: "query", id, "aria-labelledby": `${id}-name` },
      make("div", { class: "head" }, make("h2", { id: `${id}-name` }, query.name), node.state),
      node.facts, node.body, node.table);
    return node;
  }

  function results(query) {
    const names = [...new Set(query.batches.flatMap((batch) => Object.keys(batch.results)))];
    return names.map((name) => ({ name, values: query.batches.map((batch) => batch.results[name] ?? null) }));
  }

  const lines = (query, p) => panels[p].lines.map((name, i) =>
    ({ name, values: query.batches.map((batch) => batch.values[p][i]) }));

  function table(query) {
    const shown = panels.flatMap((panel, p) => lines(query, p).map((line) =>
      ({ ...line, name: `${panel.title}: ${line.name}`, text: FORMATS[panel.unit][0] })));
    shown.push(...results(query).map((line) => ({ ...line, text: number })));
    const head = ["batch", "began", ...shown.map((line) => line.name)];
    const rows = query.batches.map((batch, j) => [batch.batch, clock(batch.at),
      ...shown.map((line) => line.values[j] === null ? "–" : line.text(line.values[j]))]);
    return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)))),
      make("tbody", {}, ...rows.slice(-TABLE).reverse().map((row) =>
        make("tr", {}, ...row.map((cell) => make("td", {}, String(cell)))))));
  }

  function render() {
    due = false;
    document.getElementById("none").hidden = queries.size > 0;
    const names = document.getElementById("names");
    names.hidden = queries.size < 2;
    for (const query of queries.values()) {
      if (!query.node) {
        query.node = section(query, document.querySelectorAll(".query").length);
        document.querySelector("main").append(query.node.section);
        names.firstElementChild.append(make("li", {}, make("a", { href: `#${query.node.section.id}` }, query.name)));
      }
      const node = query.node, failed = Boolean(query.end);
      node.state.className = `state ${query.end === null ? "good" : failed ? "bad" : "soft"}`;
      node.state.textContent = query.end === null ? "running" : failed ? `failed: ${query.end.trim().split("\n")[0]}` : "ended";
      node.facts.replaceChildren(...Object.entries(query.totals).map(([name, value]) =>
        make("div", { class: "fact" }, make("b", {}, value), make("span", {}, name))));
      node.plan.hidden = !query.plan;
      node.body.classList.toggle("alone", !query.plan);
      if (node.plan.lastChild.textContent !== query.plan) node.plan.lastChild.textContent = query.plan;
      const any = query.batches.length > 0;
      node.charts.hidden = node.table.hidden = !any;
      if (!any) continue;
      show(query, node.results, RESULTS, results(query));
      panels.forEach((panel, p) => show(query, node.drawn[p], panel, lines(query, p)));
      if (node.table.open) node.table.lastChild.replaceChildren(table(query));
    }
  }

  function later() {
    if (!due) requestAnimationFrame(render);
    due = true;
  }

  // -- what comes -----------------------------------------------------------------------------

  const known = (name) => {
    if (!queries.has(name)) queries.set(name, { name, batches: [], totals: {}, plan: "", end: null, cursor: null, node: null });
    return queries.get(name);
  };

  function take(news) {
    if (news.panels) { // all there is
      panels = news.panels;
      for (const query of queries.values()) query.end ??= ""; // of a program before this one
      for (const { query, ...told } of news.queries) Object.assign(known(query), told);
    } else {
      const query = known(news.query);
      if (news.add) {
        query.batches = [...query.batches, news.add].slice(-KEPT);
        query.totals = news.totals;
        query.plan = news.plan ?? query.plan;
      }
      query.end = news.end ?? null;
    }
    later();
  }

  const say = (text) => { document.getElementById("link").textContent = text; };
  const still = () => say("Not connected: the program has ended, or its view is closed. This is what it showed last.");
  if (start.state) take(start.state);
  if (start.events) {
    const source = new EventSource(start.events);
    source.onopen = () => say("Live: every micro-batch as it ends.");
    source.onmessage = (event) => take(JSON.parse(event.data));
    source.onerror = still;
    say("Connecting…");
  } else still();
})();
