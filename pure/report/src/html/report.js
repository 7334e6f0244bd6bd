// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  document.title = data.app + " · taut report";

  // Everything from the data enters the document as text.
  const make = (tag, attributes, ...children) => {
    const svg = ["svg", "path", "line", "text", "g", "rect", "title"].includes(tag);
    const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "style") Object.assign(node.style, value);
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    node.append(...children.flat().filter(child => child !== null && child !== undefined).map(child => child instanceof Node ? child : String(child)));
    return node;
  };
  const add = (...nodes) => page.append(...nodes);
  const section = (title, note) => add(make("h2", null, title), ...(note ? [make("p", { class: "note" }, note)] : []));
  const count = n => n.toLocaleString("en").replace(/,/g, "\u2009");
  const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : many);
  const ceil = (value, digits) => { const f = 10 ** digits; return (Math.ceil(value * f - 1e-6) / f).toFixed(digits); };
  // As `shown.rs`: three digits, rounded up.
  const three = (n, units, smallest) => {
    for (const [size, unit] of units) if (n >= size) {
      const hundredths = Math.ceil(n * 100 / size), up = by => Math.ceil(hundredths / by);
      return (hundredths < 1000 ? (hundredths / 100).toFixed(2) : hundredths < 10000 ? (up(10) / 10).toFixed(1) : up(100)) + "\u202f" + unit;
    }
    return n + "\u202f" + smallest;
  };
  const span = ns => ns === null || ns === undefined ? "–" : three(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], "ns");
  const bytes = n => three(n, [[1 << 30, "GiB"], [1 << 20, "MiB"], [1 << 10, "KiB"]], "B");
  const size = text => { const m = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text); return m ? Number(m[1]) * { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824 }[m[2]] : 0; };
  const of = (spread, key) => spread ? span(spread[key]) : "–";
  const color = i => `var(--t${i % 6})`;
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const table = (heads, rows) => make("div", { class: "scroll" }, make("table", null,
    make("thead", null, make("tr", null, heads.map(([text, kind]) => make("th", { class: kind || "", scope: "col" }, text)))),
    make("tbody", null, rows.map(row => make("tr", null, row.map((cell, i) => make("td", { class: heads[i][1] || "", "data-head": heads[i][0] }, cell)))))));
  const bar = (max, limit, { late_ours: ours, late_outside: outside = 0, late_machine: machine, late_not_judged: unknown, late_paused: paused = 0 }) => {
    if (max === undefined || max === null || !limit) return "–";
    const percent = Math.ceil(max * 100 / limit - 1e-9), kind = ours || outside ? "bad" : machine || unknown || paused ? "warn" : "good";
    const whose = [["ours", ours], ["outside", outside], ["machine", machine], ["not judged", unknown], ["paused", paused]].filter(([, late]) => late).map(([name, late]) => name + " " + late);
    const note = whose.length ? (ours || outside ? "✘ " : machine ? "⚑ " : "· ") + whose.join(", ") : "";
    return make("div", { class: "bar" }, make("div", { class: "track" }, make("i", { class: kind, style: { width: Math.min(percent, 100) + "%" } })),
      make("span", null, percent + "\u202f%"), note ? make("span", { class: kind }, note) : null);
  };
  const realTime = data.tasks.filter(task => task.cpu !== null);

  // Verdict
  const since = data.since_ns ? ` From ${span(data.since_ns)} on: what came before made room for it.` : "";
  const words = { "kept": ["✔ Kept", "Every response, latency and age that was recorded stayed within its bound." + since],
    "kept-but-machine": ["✔ Kept, but for the machine", `${data.late_machine} late, that is beyond a bound, each explained in full by a stall that the platform probe saw.${since}`],
    "broken": ["✘ Broken", "A bound was exceeded and it was not the machine's, the run did not come to its own end, or what was recorded cannot show that all was kept."] };
  // Messages mark names with backticks.
  const named = text => text.split("`").map((part, i) => i % 2 ? make("code", null, part) : part);
  const item = (mark, kind, text) => make("li", null, make("b", { class: kind }, mark), named(text));
  add(make("h1", null, data.app), make("p", { class: "lead" }, data.description));
  const items = [...data.breaches.map(text => item("✘", "bad", text)),
    ...(data.breaches_more ? [item("✘", "bad", `and ${data.breaches_more} more, in report.json`)] : []),
    ...(data.signal ? [item("·", "", `ended by signal ${data.signal}, orderly`)] : []),
    ...data.warnings.map(text => item("!", "warn", text))];
  add(make("div", { class: "verdict " + data.verdict, role: "status" }, make("strong", null, words[data.verdict][0]), words[data.verdict][1], items.length ? make("ul", null, items) : null));
  const fact = (name, value) => make("div", null, make("dt", null, name), make("dd", null, value));
  const sum = key => realTime.reduce((total, task) => total + task[key], 0);
  const judged = [...realTime, ...data.channels, ...data.chains, ...data.chains.map(chain => chain.reaction).filter(Boolean)];
  const late = judged.reduce((total, of) => total + of.late_ours + (of.late_outside || 0) + of.late_machine + of.late_not_judged, 0);
  const stalls = data.probes.reduce((total, probe) => total + probe.stalls, 0);
  add(make("dl", { class: "facts" }, fact(data.since_ns ? "judged for" : "ran for", span(data.duration_ns)), fact("jobs", count(sum("completions"))), fact("late", late ? `${count(late)}, of which ${count(sum("missed"))} beyond a deadline` : "0"),
    fact("releases skipped", count(sum("skipped"))), fact("machine stalls", count(stalls)), fact("proof", (data.proven ? "✔ complete" : "✘ incomplete") + (data.guesses > 0 ? ", on " + data.guesses + (data.guesses > 1 ? " guesses" : " guess") : ""))));

  section("Tasks", "Response time, from release to completion, beside its proven bound.");
  add(table([["task", "name"], ["prio", "n"], ["jobs", "n"], ["late", "n"], ["p50", "n"], ["p99", "n"], ["p99.9", "n"], ["max", "n"], ["bound", "n"], ["deadline", "n"], ["max / bound"]],
    realTime.map(t => [t.name, t.priority, count(t.completions), count(t.late_ours + t.late_outside + t.late_machine + t.late_not_judged), of(t.response, "p50_ns"), of(t.response, "p99_ns"), of(t.response, "p999_ns"), of(t.response, "max_ns"),
      span(t.bound_ns), span(t.deadline_ns), bar(t.response && t.response.max_ns, t.bound_ns || t.deadline_ns, t)])));

  // Schedule: every column of pixels shows the share of its time in which the task ran, so nothing is drawn
  // larger than it was; close up a running job fills its columns and looks like a box.
  const lanes = realTime.map((task, i) => {
    const cut = new Map(task.cuts.map(c => [c[0], c.slice(1)])), jobs = [];
    for (let j = 0, release = 0; j * 5 < task.jobs.length; j++) {
      const [since, jitter, response, cpu, late] = task.jobs.slice(j * 5, j * 5 + 5);
      release += since * data.tick_ns;
      const tick = n => release + n * data.tick_ns, pieces = cut.get(j) || [jitter, response], runs = [];
      for (let k = 0; k < pieces.length; k += 2) runs.push([tick(pieces[k]), tick(pieces[k + 1])]);
      jobs.push({ release, start: tick(jitter), complete: tick(response), cpu: cpu * data.tick_ns, late, runs });
    }
    const longest = jobs.reduce((most, job) => Math.max(most, job.complete - job.release), 0);
    return { task, jobs, longest, hue: `--t${i % 6}` };
  });
  if (lanes.some(lane => lane.jobs.length)) {
    const cut = data.shown_ns < data.duration_ns;
    section("Schedule", "Height is the share of time in which a task ran: a low band from afar, full boxes close up. The line under it spans release to completion; shaded is where the machine stood still."
      + (cut ? ` The first ${span(data.shown_ns)} of the run; the Perfetto file has all of it.` : ""));
    const total = Math.max(data.shown_ns, 1), canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "schedule of the run; arrow keys move, plus and minus zoom" });
    const range = make("span"), tip = make("div", { class: "tip", hidden: "" });
    const worst = lanes.flatMap(lane => lane.jobs.map(job => [lane, job])).reduce((a, b) => {
      const ratio = ([lane, job]) => (job.complete - job.release) / (lane.task.bound_ns || lane.task.deadline_ns);
      return !a || ratio(b) > ratio(a) ? b : a;
    }, null);
    let from = 0, to = total, left = 0, width = 0;
    const laneHeight = 58, top = 8, height = top + lanes.length * laneHeight + 26;
    const move = (a, b) => { const length = Math.min(Math.max(b - a, 20e3), total); from = Math.min(Math.max(a, 0), total - length); to = from + length; draw(); };
    const zoom = (factor, at) => { const c = at === undefined ? (from + to) / 2 : at; move(c - (c - from) * factor, c + (to - c) * factor); };
    const first = (jobs, t) => { let a = 0, b = jobs.length; while (a < b) { const m = (a + b) >> 1; if (jobs[m].release < t) a = m + 1; else b = m; } return a; };
    const draw = () => {
      const ratio = devicePixelRatio || 1, box = canvas.clientWidth || 300;
      canvas.width = box * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
      const g = canvas.getContext("2d"); g.scale(ratio, ratio); g.clearRect(0, 0, box, height);
      left = box < 520 ? 0 : 96; width = box - left;
      const x = t => left + (t - from) / (to - from) * width, ink = css("--ink"), soft = css("--soft"), rule = css("--rule");
      const bottom = top + lanes.length * laneHeight;
      g.font = "12px " + css("--sans"); g.textBaseline = "alphabetic";
      g.fillStyle = css("--stall");
      for (const [, at, late] of data.stalls) { const a = Math.max(x(at - late), left), b = Math.min(x(at), box); if (b > left && a < box) g.fillRect(a, top, Math.max(b - a, 1), bottom - top); }
      const step = [1, 2, 5].flatMap(m => [...Array(7).keys()].map(e => m * 10 ** (e + 3))).sort((a, b) => a - b).find(s => s / (to - from) * width >= 84) || 1e10;
      g.lineWidth = 1;
      for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
        const at = Math.round(x(t)) + .5; g.strokeStyle = rule; g.beginPath(); g.moveTo(at, top); g.lineTo(at, bottom + 5); g.stroke();
        const label = step >= 1e9 ? t / 1e9 + " s" : step >= 1e6 ? +(t / 1e6).toFixed(1) + " ms" : +(t / 1e6).toFixed(3) + " ms", w = g.measureText(label).width;
        g.fillStyle = soft; g.fillText(label, Math.min(Math.max(at - w / 2, left), box - w), bottom + 19);
      }
      lanes.forEach((lane, i) => {
        const base = top + (i + 1) * laneHeight - 14, full = laneHeight - (left ? 24 : 34), share = new Float64Array(Math.ceil(width) + 1), hue = css(lane.hue);
        const scale = width / (to - from), marks = []; let spans = [];
        for (let j = first(lane.jobs, from - lane.longest); j < lane.jobs.length && lane.jobs[j].release <= to; j++) {
          const job = lane.jobs[j];
          for (const [a, b] of job.runs) {
            let p = Math.max((a - from) * scale, 0); const q = Math.min((b - from) * scale, width);
            while (p < q) { const k = Math.floor(p), end = Math.min(k + 1, q); share[k] += end - p; p = end === p ? p + 1 : end; }
          }
          const a = Math.max(x(job.release), left), b = Math.min(x(job.complete), box);
          if (b - a >= 1.5) spans.push([a, b]);
          if (job.late && x(job.complete) >= left && x(job.complete) <= box) marks.push([x(job.complete), job.late]);
        }
        g.fillStyle = hue;
        for (let k = 0; k < share.length; k++) if (share[k] > 0) { const h = Math.max(Math.min(share[k], 1) * full, .6); g.fillRect(left + k, base - h, 1, h); }
        g.globalAlpha = .45; for (const [a, b] of spans) g.fillRect(a, base + 3, b - a, 2.5); g.globalAlpha = 1;
        g.strokeStyle = rule; g.beginPath(); g.moveTo(left, base + .5); g.lineTo(box, base + .5); g.stroke();
        let last = -99; g.font = "700 12px " + css("--sans");
        for (const [at, late] of marks) if (at - last > 11) { g.fillStyle = css(late === 2 ? "--bad" : "--warn"); g.fillText(["⚑", "✘", "·"][late - 1], Math.min(at - 4, box - 11), base - full + 9); last = at; }
        g.font = "600 12px " + css("--sans"); g.fillStyle = ink;
        if (left) { g.fillText(lane.task.name, 0, base - 10, 88); g.font = "11px " + css("--sans"); g.fillStyle = soft; g.fillText("cpu " + lane.task.cpu + " · " + lane.task.priority, 0, base + 4); }
        else g.fillText(lane.task.name, 0, base - full - 4);
      });
      const digits = to - from < 1e7 ? 3 : to - from < 1e9 ? 1 : 0;
      range.textContent = `${(from / 1e6).toFixed(digits)} – ${(to / 1e6).toFixed(digits)}\u202fms`;
    };
    const timeAt = event => { const r = canvas.getBoundingClientRect(); return from + (event.clientX - r.left - left) / width * (to - from); };
    let drag = null;
    canvas.addEventListener("pointerdown", e => { drag = [e.clientX, from, to]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("pointermove", e => {
      if (drag) { const d = (drag[0] - e.clientX) / width * (drag[2] - drag[1]); move(drag[1] + d, drag[2] + d); tip.hidden = true; return; }
      const r = canvas.getBoundingClientRect(), lane = lanes[Math.floor((e.clientY - r.top - top) / laneHeight)], t = timeAt(e), near = (to - from) / width * 4;
      let hit = null;
      if (lane) for (let j = first(lane.jobs, t - lane.longest - near); j < lane.jobs.length && lane.jobs[j].release <= t + near; j++) if (t <= lane.jobs[j].complete + near) { hit = j; break; }
      tip.hidden = hit === null; if (hit === null) return;
      const job = lane.jobs[hit], why = ["", "\n⚑ late: the machine's", "\n✘ late: ours", "\n· late: not judged, as what led to it was before the recording", "\n✘ late: by somebody outside"][job.late];
      tip.textContent = `${lane.task.name}, released at ${span(job.release)}\nresponse ${span(job.complete - job.release)}, bound ${span(lane.task.bound_ns)}\njitter ${span(job.start - job.release)}, processor ${span(job.cpu)}${why}`;
      tip.style.left = Math.max(Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8), 8) + "px"; tip.style.top = Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
    });
    canvas.addEventListener("wheel", e => { if (e.ctrlKey || e.metaKey || e.shiftKey) { e.preventDefault(); zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : .8, timeAt(e)); } }, { passive: false });
    canvas.addEventListener("keydown", e => {
      const d = (to - from) / 8, keys = { ArrowLeft: () => move(from - d, to - d), ArrowRight: () => move(from + d, to + d), "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1.7), "0": () => move(0, total) };
      if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
    });
    const button = (text, act) => make("button", { type: "button", onclick: act }, text);
    const around = () => { const [lane, job] = worst, pad = Math.max((job.complete - job.release) * .6, 1.5e6); move(job.release - pad, job.complete + pad); return lane; };
    add(make("div", { class: "panel" }, make("div", { class: "tools" }, button("Whole run", () => move(0, total)), button("Worst response", around), button("−", () => zoom(1.7)), button("+", () => zoom(.6)),
      make("span", null, range, " · drag to pan, Ctrl + wheel to zoom")), canvas), tip);
    new ResizeObserver(draw).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    // Paper is light, and the canvas takes its colours when it is drawn.
    const paper = on => () => { document.documentElement.classList.toggle("print", on); draw(); };
    addEventListener("beforeprint", paper(true)); addEventListener("afterprint", paper(false));
    requestAnimationFrame(() => { if (location.hash === "#worst") around(); else draw(); });
  }

  // Distributions
  const plot = (curve, total, limits, hue, tail) => {
    const W = 400, H = 190, L = 40, R = 10, T = 26, B = 24;
    const low = Math.max(curve[0][0] * .8, 1), most = Math.max(curve[curve.length - 1][0], ...limits.map(l => l[1])) * 1.15;
    const x = v => L + Math.log(Math.max(v, low) / low) / Math.log(most / low) * (W - L - R);
    const floor = 1 / total / 2, y = above => tail ? T + Math.log(Math.max(above / total, floor)) / Math.log(floor) * (H - T - B) : H - B - (1 - above / total) * (H - T - B);
    const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
    const levels = tail ? [1, .1, .01, .001, 1e-4, 1e-5].filter(v => v >= floor * 2) : [0, .25, .5, .75, 1];
    for (const v of levels) {
      const at = y(tail ? v * total : (1 - v) * total);
      svg.append(make("line", { class: "grid", x1: L, x2: W - R, y1: at, y2: at }), make("text", { x: L - 6, y: at + 4, "text-anchor": "end" }, v >= .01 || v === 0 ? Math.round(v * 100) + "%" : v * 100 + "%"));
    }
    let free = -99;
    for (let e = 0; e < 11; e++) for (const m of [1, 1.5, 2, 3, 5, 7]) {
      const v = m * 10 ** e, at = x(v);
      if (v >= low && v <= most && at - free > 52 && at < W - 20) { svg.append(make("line", { class: "grid", x1: at, x2: at, y1: T, y2: H - B }), make("text", { x: at, y: H - 8, "text-anchor": "middle" }, span(v).replace(/(\.\d*?)0+(?=\D)/, "$1").replace(/\.(?=\D)/, ""))); free = at; }
    }
    let path = `M${x(curve[0][0]).toFixed(1)} ${y(total).toFixed(1)}`;
    for (const [v, above] of curve) path += `H${x(v).toFixed(1)}V${y(above).toFixed(1)}`;
    svg.append(make("path", { class: "curve", d: path, style: { stroke: hue } }));
    let start = W;
    for (const [name, v] of [...limits].sort((a, b) => b[1] - a[1])) {
      const at = x(v), w = name.length * 6.5, place = Math.min(at, start - w / 2);
      svg.append(make("line", { class: "limit", x1: at, x2: at, y1: T - 4, y2: H - B }), make("text", { class: "limit-text", x: place, y: T - 10, "text-anchor": "middle" }, name)); start = place - w / 2 - 6;
    }
    return svg;
  };
  const distributions = (title, note, key, limits) => {
    const shown = realTime.filter(task => task[key + "_curve"].length);
    if (!shown.length) return;
    section(title, note);
    const plots = make("div", { class: "plots" }); let tail = false;
    const draw = () => plots.replaceChildren(...shown.map(task => make("div", { class: "panel" }, make("h3", null, task.name),
      plot(task[key + "_curve"], task[key].count, limits(task), color(realTime.indexOf(task)), tail))));
    const toggle = make("button", { type: "button", "aria-pressed": "false", onclick: () => { tail = !tail; toggle.setAttribute("aria-pressed", tail); toggle.textContent = tail ? "Show distribution" : "Show tail"; draw(); } }, "Show tail");
    draw(); add(make("div", { class: "tools" }, toggle), plots);
  };
  distributions("Response times", "Share of jobs that were done by then; the tail shows the share that was not, on a logarithmic scale.", "response", t => [...(t.bound_ns ? [["bound", t.bound_ns]] : []), ["deadline", t.deadline_ns]]);
  const bounded = realTime.filter(task => task.bound_ns && task.terms.length);
  if (bounded.length) {
    section("Bounds", "What each proven response time is made of.");
    const kinds = [...new Set(bounded.flatMap(task => task.terms.map(term => term.kind)))], longest = Math.max(...bounded.map(task => task.bound_ns));
    const ns = text => { const m = /^([\d.]+)(ns|us|ms|s)$/.exec(text); return m ? Number(m[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[m[2]] : 0; };
    const said = term => `${term.kind}${term.of ? " of " + term.of : ""}${term.count > 1 ? `, ${term.count} times: ${span(ns(term.time))} in all` : ": " + span(ns(term.time))}`;
    add(make("div", { class: "legend" }, kinds.map((kind, i) => make("span", null, make("i", { style: { background: color(i) } }), kind))),
      ...bounded.map(task => make("div", { class: "terms" }, make("h3", null, `${task.name} ${span(task.bound_ns)}`),
        make("div", { class: "stack" }, task.terms.map(term => make("i", { title: said(term), style: { width: ns(term.time) / longest * 100 + "%", background: color(kinds.indexOf(term.kind)) } }))),
        make("p", { class: "note" }, task.terms.map(said).join("  +  "), task.test ? ` (${task.test})` : ""))));
  }
  distributions("Release jitter", "From a job's release to its first instruction: the timer, the kernel, and more urgent jobs.", "jitter", () => []);

  // Chains
  const beyond = step => step.max_ns > step.bound_ns && step.bound_ns ? make("span", { class: "warn", title: "more than it adds to the bound" }, "! " + span(step.max_ns)) : span(step.max_ns);
  if (data.chains.length) section("Chains", "Age of the data at the end of each path, and what every step may add.");
  for (const chain of data.chains) {
    const whole = Math.max(chain.bound_ns || 0, chain.limit_ns), steps = chain.steps.filter(step => step.bound_ns > 0);
    add(make("div", { class: "panel gap" }, make("h3", null, chain.name),
      table([["ends", "n"], ["p50", "n"], ["p99", "n"], ["max", "n"], ["bound", "n"], ["limit", "n"], ["max / bound"]],
        [[count(chain.age ? chain.age.count : 0), of(chain.age, "p50_ns"), of(chain.age, "p99_ns"), of(chain.age, "max_ns"), span(chain.bound_ns), span(chain.limit_ns), bar(chain.age && chain.age.max_ns, chain.bound_ns || chain.limit_ns, chain)]]),
      make("div", { class: "stack", title: "the bound, step by step, within the limit" }, steps.map((step, i) => make("i", { title: `${step.name}: ${span(step.bound_ns)}`, style: { width: step.bound_ns / whole * 100 + "%", background: color(i) } }))),
      make("div", { class: "legend" }, steps.map((step, i) => make("span", null, make("i", { style: { background: color(i) } }), step.name))),
      table([["step", "name"], ["adds to the bound"], ["at most", "n"], ["seen at most", "n"]], chain.steps.map(step => [step.name, step.adds, span(step.bound_ns), beyond(step)]))));
    const late = chain.reaction;
    if (late) add(make("div", { class: "panel gap" }, make("h3", null, `${chain.name}: reaction, from an event to the first end that shows it`),
      table([["ends", "n"], ["p50", "n"], ["p99", "n"], ["max", "n"], ["bound", "n"], ["limit", "n"], ["max / bound"]],
        [[count(late.seen ? late.seen.count : 0), of(late.seen, "p50_ns"), of(late.seen, "p99_ns"), of(late.seen, "max_ns"), span(late.bound_ns), span(late.limit_ns), bar(late.seen && late.seen.max_ns, late.bound_ns || late.limit_ns, late)]]),
      table([["step", "name"], ["adds to the bound"], ["at most", "n"]], late.steps.map(step => [step.name, step.adds, span(step.bound_ns)]))));
  }

  section("Channels", "How each flow of data is realised, and why.");
  add(table([["channel", "name"], ["from → to"], ["mechanism"], ["slots", "n"], ["sent", "n"], ["dropped", "n"], ["latency p50", "n"], ["p99", "n"], ["max", "n"], ["bound", "n"], ["why", "why"]],
    data.channels.map(c => [c.name, `${c.writer} → ${c.readers.join(", ")}`, c.mechanism, c.capacity, count(c.sent), c.dropped ? make("span", { class: "warn" }, "! " + count(c.dropped)) : "0",
      of(c.latency, "p50_ns"), of(c.latency, "p99_ns"), of(c.latency, "max_ns"), c.late_ours ? make("span", { class: "bad" }, "✘ " + span(c.bound_ns)) : span(c.bound_ns), c.reason])));

  section("Real-time threads", "What they did after release 0 that may cost time; the first three should be none. Last, what their set-ups left in use of the heap before.");
  add(table([["task", "name"], ["heap use", "n"], ["page faults", "n"], ["blocked", "n"], ["preempted", "n"], ["execution max", "n"], ["WCET", "n"], ["set-up heap", "n"]], realTime.map(t => {
    const c = t.counts, heap = t.set_up_heap, none = n => n === null, zero = n => none(n) ? "–" : n ? make("span", { class: "warn" }, "! " + count(n)) : "✔ 0", faults = none(c?.minor_faults) || none(c?.major_faults) ? null : c?.minor_faults + c?.major_faults, over = t.execution && t.execution.max_ns > t.wcet_ns, by = t.beyond_wcet ? "! " : "⚑ ";
    return [t.name, ...(c ? [zero(c.heap_use), zero(faults), zero(c.blocked), none(c.preempted) ? "–" : count(c.preempted)] : ["–", "–", "–", "–"]), over ? make("span", { class: "warn", title: t.beyond_wcet ? "beyond its WCET" : "beyond its WCET, as much as stalls explain" }, by + of(t.execution, "max_ns")) : of(t.execution, "max_ns"), span(t.wcet_ns), heap ? make("span", { title: `at most ${bytes(heap.peak)} at one time` }, bytes(heap.in_use) + (heap.bound === null ? "" : ` of ${bytes(heap.bound)}`)) : "–"];
  })));

  // Memory
  const memory = [["process", size(data.memory.process)], ["segment", size(data.memory.segment)], ["runtime", size(data.memory.runtime)]], limit = size(data.memory.limit);
  section("Memory", `${bytes(size(data.memory.total))} of the ${bytes(limit)} that the manifest allows, locked and touched before release 0.`);
  add(make("div", { class: "stack" }, memory.map(([name, n], i) => make("i", { title: `${name}: ${bytes(n)}`, style: { width: n / Math.max(limit, 1) * 100 + "%", background: color(i) } }))),
    make("div", { class: "legend" }, memory.map(([name, n], i) => make("span", null, make("i", { style: { background: color(i) } }), `${name} ${bytes(n)}`))),
    table([["map"], ["what", "name"], ["kind"], ["offset", "n"], ["size", "n"]], data.regions.map(r => [r.place, r.name, r.what, count(r.offset), bytes(r.bytes)])));

  if (data.resources.length) {
    section("Locks", "How long jobs waited for a resource after they had asked for it, and how long they held it.");
    add(table([["resource", "name"], ["protocol", "name"], ["locks", "n"], ["waited", "n"], ["wait p99", "n"], ["longest wait", "n"], ["held longest", "n"]], data.resources.map(r => [r.name, r.protocol, count(r.wait.count), count(r.waited), span(r.wait.p99_ns), span(r.wait.max_ns), r.held ? span(r.held.max_ns) : "-"])));
  }
  section("The machine", data.probes.length ? "A probe above every task wakes each millisecond on every real-time core and tells how late it was: what it cannot account for is ours." : "Not watched: without priorities no probe stands above the tasks, so nothing can tell the machine's stalls from ours.");
  if (data.probes.length) add(table([["core", "name"], ["stalls above 100 µs", "n"], ["in all", "n"], ["longest", "n"]], data.probes.map(p => ["cpu " + p.cpu, count(p.stalls), span(p.total_ns), span(p.max_ns)])));
  if (data.stalls.length) add(make("p", { class: "note gap" }, "The longest:"), table([["core", "name"], ["until", "n"], ["late by", "n"]], data.stalls.slice(0, 8).map(([cpu, at, late]) => ["cpu " + cpu, span(at), span(late)])));
  if (data.machine.length) add(make("div", { class: "gap" }), table([["fact", "name"], ["value"]], data.machine));

  section("Reproduce", "");
  if (data.command) add(make("pre", null, data.command));
  add(table([["made from", "name"], ["digest"]], data.inputs.map(input => [input.path, make("span", { class: "hash" }, input.hash)])));
  add(make("footer", null, ["taut", data.generated].filter(Boolean).join(" · ")));
})();
