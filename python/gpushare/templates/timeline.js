// SPDX-License-Identifier: Apache-2.0
// The interactive timeline. A trace's lanes hold, per SM, [ticks since the last change, series, blocks from then on].
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("canvas");
  const element = (id) => document.getElementById(id);
  const pen = canvas.getContext("2d");
  const RIGHT = 10, AXIS = 26, ROW = 17, FONT = "12px system-ui, 'DejaVu Sans', sans-serif";
  let left = 118, trace = null, view = null, cursor = null, drag = null;

  const unpacked = new Map();
  function unpack(packed) {
    if (unpacked.has(packed)) return unpacked.get(packed);
    const lanes = packed.lanes.map((changes) => {
      const times = [], states = [];
      let tick = 0, state = new Array(packed.series.length).fill(0);
      for (let i = 0; i < changes.length; i += 3) {
        tick += changes[i];
        state = state.slice();
        state[changes[i + 1]] = changes[i + 2];
        if (times.length && times[times.length - 1] === tick * packed.tick_ns) states[states.length - 1] = state;
        else { times.push(tick * packed.tick_ns); states.push(state); }
      }
      return { times, states };
    });
    const share = (state) => state.reduce((sum, blocks, i) => sum + blocks / packed.series[i][2], 0);
    const fullest = lanes.reduce((most, lane) => lane.states.reduce((m, state) => Math.max(m, share(state)), most), 1);
    const result = { ...packed, lanes, fullest };
    unpacked.set(packed, result);
    return result;
  }

  function timeText(ns, span) {
    const unit = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([size]) => (span ?? ns) >= 2 * size) ?? [1, "ns"];
    const value = ns / unit[0];
    const step = (span ?? ns) / unit[0] / 100;
    const digits = step > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(step)))) : 0;
    return `${value.toFixed(digits)} ${unit[1]}`;
  }

  // Rows from the top: applications, copy engines in use, SMs (or launches).
  function layout() {
    const engines = [0, 1].filter((direction) => trace.copies.some((copy) => copy[1] === direction));
    const rows = rowCount();
    const lane = rows <= 20 ? 24 : rows <= 48 ? 14 : 6;
    const top = (trace.applications.length + engines.length) * ROW + 8;
    return { engines, lane, top, height: top + rows * lane + AXIS };
  }

  // A GPU that schedules by itself tells of no blocks: then there is a row of launches per application, and no SM.
  const rowCount = () => trace.lanes.length || trace.applications.length;

  const width = () => canvas.clientWidth - left - RIGHT;
  const xOf = (ns) => left + (ns - view.from) / (view.to - view.from) * width();
  const nsOf = (x) => view.from + (x - left) / width() * (view.to - view.from);
  const colour = (application) => data.colours[trace.applications[application].name];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function fit(text, room) {
    if (pen.measureText(text).width <= room) return text;
    let cut = text;
    while (cut.length > 1 && pen.measureText(cut + "…").width > room) cut = cut.slice(0, -1);
    return cut + "…";
  }

  // The last change at or before a time; -1 before the first.
  function indexAt(times, ns) {
    let low = 0, high = times.length;
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] <= ns) low = middle + 1; else high = middle; }
    return low - 1;
  }

  function drawLane(lane, bottom, height) {
    const shades = trace.series.map(([application]) => colour(application));
    const scale = (height - (height > 8 ? 3 : 0)) / trace.fullest;
    const right = left + width();
    let at = Math.max(0, indexAt(lane.times, view.from));
    while (at < lane.times.length && lane.times[at] < view.to) {
      const start = Math.max(left, xOf(lane.times[at]));
      const column = Math.floor(start);
      // Changes within one pixel are drawn as their mean over time.
      let next = at + 1;
      while (next < lane.times.length && xOf(lane.times[next]) < column + 1) next += 1;
      const end = next < lane.times.length ? Math.min(right, xOf(lane.times[next])) : Math.min(right, start);
      const state = next === at + 1 ? lane.states[at] : mean(lane, at, next);
      let y = bottom;
      state.forEach((blocks, i) => {
        if (!blocks) return;
        const rise = blocks / trace.series[i][2] * scale;
        pen.fillStyle = shades[i];
        pen.fillRect(start, y - rise, Math.max(end - start, 0.7), rise);
        y -= rise;
      });
      at = next;
    }
  }

  function mean(lane, first, end) {
    const total = new Array(trace.series.length).fill(0);
    const last = Math.min(end, lane.times.length - 1);
    const span = lane.times[last] - lane.times[first];
    if (span <= 0) return lane.states[first];
    for (let at = first; at < last; at += 1) {
      const part = (lane.times[at + 1] - lane.times[at]) / span;
      lane.states[at].forEach((blocks, i) => { total[i] += blocks * part; });
    }
    return total;
  }

  function drawApplications(ink) {
    trace.applications.forEach((application, row) => {
      const y = row * ROW + ROW / 2;
      const start = xOf(application.arrival_ns), end = xOf(application.end_ns);
      label(application.name, y, ink);
      pen.save();
      clip();
      pen.fillStyle = colour(row);
      pen.fillRect(start, y - 1.5, end - start, 3);
      pen.beginPath(); pen.moveTo(start, y - 6); pen.lineTo(start + 8, y); pen.lineTo(start, y + 6); pen.fill();
      pen.fillRect(end - 8, y - 4, 8, 8);
      pen.restore();
    });
  }

  function drawCopies(shape, ink) {
    shape.engines.forEach((direction, number) => {
      const top = (trace.applications.length + number) * ROW;
      label(direction ? "copies to host" : "copies to GPU", top + ROW / 2, ink);
      pen.save();
      clip();
      trace.copies.filter((copy) => copy[1] === direction).forEach((copy) => {
        pen.fillStyle = colour(copy[0]);
        pen.fillRect(xOf(copy[2]), top + 2, Math.max(0.7, xOf(copy[3]) - xOf(copy[2])), ROW - 4);
      });
      pen.restore();
    });
  }

  function drawLaunches(shape, ink) {
    trace.applications.forEach((application, row) => {
      const top = shape.top + row * shape.lane;
      label(`${application.name}: launches`, top + shape.lane / 2, ink);
      pen.save();
      clip();
      pen.fillStyle = colour(row);
      trace.launches.filter((launch) => launch[0] === row).forEach(([, start, end]) => {
        const x = xOf(start), long = xOf(end) - x;
        pen.fillRect(x, top + 2, Math.max(0.7, long - (long > 4 ? 1 : 0)), shape.lane - 4);
      });
      pen.restore();
    });
  }

  function clip() { pen.beginPath(); pen.rect(left, 0, width(), canvas.clientHeight); pen.clip(); }

  function label(text, y, ink) {
    pen.fillStyle = ink; pen.textAlign = "right"; pen.textBaseline = "middle";
    pen.fillText(fit(text, left - 12), left - 6, y);
  }

  function drawAxis(shape, ink, line) {
    const span = view.to - view.from, rough = span / Math.max(2, width() / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
    pen.textAlign = "center"; pen.textBaseline = "top"; pen.lineWidth = 1;
    for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
      const x = xOf(tick);
      pen.strokeStyle = line; pen.globalAlpha = 0.5;
      pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, shape.height - AXIS); pen.stroke();
      pen.globalAlpha = 1; pen.fillStyle = ink;
      if (x < left + width() - 24) pen.fillText(timeText(tick, span), x, shape.height - AXIS + 6);
    }
  }

  function draw() {
    const shape = layout(), ratio = window.devicePixelRatio || 1;
    pen.font = FONT;
    const names = [...trace.applications.map((application) => application.name), "copies to host"];
    if (!trace.lanes.length) names.push(...trace.applications.map((application) => `${application.name}: launches`));
    left = Math.min(canvas.clientWidth * 0.3, 14 + Math.max(...names.map((name) => pen.measureText(name).width)));
    canvas.style.height = `${shape.height}px`;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(shape.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, shape.height);
    pen.font = FONT; // resizing forgets it
    const ink = css("--ink"), line = css("--line");
    drawAxis(shape, css("--faint"), line);
    drawApplications(ink);
    drawCopies(shape, ink);
    if (!trace.lanes.length) drawLaunches(shape, ink);
    const every = Math.ceil(13 / shape.lane);
    trace.lanes.forEach((lane, sm) => {
      const bottom = shape.top + (sm + 1) * shape.lane;
      drawLane(lane, bottom, shape.lane);
      if (sm % every === 0) label(`SM ${sm}`, bottom - shape.lane / 2, ink);
    });
    drawCursor(shape, ink);
  }

  function drawCursor(shape, ink) {
    if (!cursor) { element("readout").textContent = "\u00a0"; return; }
    const x = xOf(cursor.ns);
    if (x >= left && x <= left + width()) {
      pen.fillStyle = ink; pen.fillRect(x - 0.5, 0, 1, shape.height - AXIS);
      pen.strokeStyle = ink; pen.strokeRect(left + 0.5, shape.top + cursor.sm * shape.lane + 0.5, width() - 1, shape.lane - 1);
    }
    const text = describe();
    if (element("readout").textContent !== text) element("readout").textContent = text;
  }

  function describe() {
    const time = timeText(cursor.ns, view.to - view.from);
    if (!trace.lanes.length) {
      const runs = trace.launches.some((launch) => launch[0] === cursor.sm && launch[1] <= cursor.ns && cursor.ns < launch[2]);
      return `${time}, ${trace.applications[cursor.sm].name}: ${runs ? "a launch has arrived and not ended" : "no launch"}`;
    }
    const lane = trace.lanes[cursor.sm], at = indexAt(lane.times, cursor.ns);
    const parts = at < 0 ? [] : lane.states[at].flatMap((blocks, i) => {
      const [application, kernel, most] = trace.series[i];
      return blocks ? [`${trace.applications[application].name}: ${kernel}, ${blocks} of ${most} blocks`] : [];
    });
    const copies = trace.copies.filter((copy) => copy[2] <= cursor.ns && cursor.ns < copy[3]).map((copy) =>
      `${trace.applications[copy[0]].name} copies ${(copy[4] / 1e6).toPrecision(3)} MB ${copy[1] ? "to the host" : "to the GPU"}`);
    return `${time}, SM ${cursor.sm}: ${[parts.join("; ") || "idle", ...copies].join(" | ")}`;
  }

  function setView(from, to) {
    const whole = trace.makespan_ns, span = Math.min(whole, Math.max(50, to - from));
    const start = Math.min(Math.max(0, from), whole - span);
    view = { from: start, to: start + span };
    scheduleDraw();
    remember();
  }

  function zoom(factor, ns = (view.from + view.to) / 2) {
    setView(ns - (ns - view.from) * factor, ns + (view.to - ns) * factor);
  }

  let waiting = false;
  function scheduleDraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  // The state is in the address, so that a view can be kept and sent.
  let saving = 0;
  function remember() {
    clearTimeout(saving);
    saving = setTimeout(() => {
      const state = new URLSearchParams({ workload: trace.workload, policy: trace.policy });
      if (view.from > 0 || view.to < trace.makespan_ns) { state.set("from", Math.round(view.from)); state.set("to", Math.round(view.to)); }
      if (cursor) { state.set("sm", cursor.sm); state.set("at", Math.round(cursor.ns)); }
      try { history.replaceState(null, "", `#${state}`); } catch (_) { /* some viewers forbid it */ }
    }, 300);
  }

  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    show(state.get("workload"), state.get("policy"));
    if (state.has("to")) setView(Number(state.get("from")) || 0, Number(state.get("to")) || trace.makespan_ns);
    if (state.has("at")) cursor = { ns: clampTime(Number(state.get("at")) || 0), sm: clampSm(Number(state.get("sm")) || 0) };
    scheduleDraw();
  }

  function show(workload, policy) {
    const workloads = [...new Set(data.traces.map((each) => each.workload))];
    const chosen = workloads.includes(workload) ? workload : data.first.workload;
    const here = data.traces.filter((each) => each.workload === chosen);
    const named = (name) => here.find((each) => each.policy === name);
    const packed = named(policy) ?? named(data.first.policy) ?? here[0];
    const sameWorkload = trace && trace.workload === chosen;
    trace = unpack(packed);
    element("workload").value = chosen;
    element("policy").replaceChildren(...here.map((each) => new Option(each.policy, each.policy)));
    element("policy").value = packed.policy;
    if (!sameWorkload) cursor = null;
    if (cursor) cursor = { ns: clampTime(cursor.ns), sm: clampSm(cursor.sm) };
    element("by-sm").hidden = trace.lanes.length === 0;
    element("by-launch").hidden = trace.lanes.length > 0;
    element("precision").textContent = trace.tick_ns > 1
      ? `Changes of residency within ${timeText(trace.tick_ns)} are merged in this trace.` : "";
    legend();
    setView(0, trace.makespan_ns);
  }

  function legend() {
    const printed = document.createElement("b"); // paper shows no selects
    printed.className = "printed";
    printed.textContent = `${trace.workload} under ${trace.policy}`;
    element("legend").replaceChildren(printed, ...trace.applications.map((application, number) => {
      const entry = document.createElement("span"), swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = colour(number);
      entry.append(swatch, `${application.name}: ${timeText(application.end_ns - application.arrival_ns)}, `
        + `${application.ntt.toPrecision(3)} times as long as alone`);
      return entry;
    }));
  }

  const clampTime = (ns) => Math.min(Math.max(0, ns), trace.makespan_ns);
  const clampSm = (sm) => Math.min(Math.max(0, Math.round(sm)), rowCount() - 1);

  function point(event) {
    const shape = layout(), box = canvas.getBoundingClientRect();
    const ns = clampTime(nsOf(event.clientX - box.left));
    cursor = { ns, sm: clampSm(Math.floor((event.clientY - box.top - shape.top) / shape.lane)) };
    scheduleDraw();
  }

  canvas.addEventListener("wheel", (event) => {
    if (event.deltaY > 0 && view.to - view.from >= trace.makespan_ns) return; // nothing to zoom out: the page scrolls
    event.preventDefault();
    zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300 + 0.05)), nsOf(event.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: view.from, to: view.to };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const moved = (drag.x - event.clientX) / width() * (drag.to - drag.from);
      setView(drag.from + moved, drag.to + moved);
    }
    point(event);
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) { cursor = null; scheduleDraw(); } });
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from, step = span / (event.shiftKey ? 10 : 100);
    cursor ??= { ns: (view.from + view.to) / 2, sm: 0 };
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in moves) {
      cursor = { ns: clampTime(cursor.ns + moves[event.key][0]), sm: clampSm(cursor.sm + moves[event.key][1]) };
      if (cursor.ns < view.from || cursor.ns > view.to) setView(cursor.ns - span / 2, cursor.ns + span / 2);
    } else if (event.key === "+" || event.key === "=") zoom(0.6, cursor.ns);
    else if (event.key === "-") zoom(1 / 0.6, cursor.ns);
    else if (event.key === "0" || event.key === "Home") setView(0, trace.makespan_ns);
    else if (event.key === "Escape") cursor = null;
    else return;
    event.preventDefault();
    scheduleDraw();
    remember();
  });
  element("zoom-in").addEventListener("click", () => zoom(0.6));
  element("zoom-out").addEventListener("click", () => zoom(1 / 0.6));
  element("zoom-all").addEventListener("click", () => setView(0, trace.makespan_ns));
  element("workload").addEventListener("change", (event) => show(event.target.value, trace.policy));
  element("policy").addEventListener("change", (event) => show(trace.workload, event.target.value));
  window.addEventListener("resize", scheduleDraw);
  window.addEventListener("hashchange", recall);
  window.addEventListener("beforeprint", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", scheduleDraw);
  recall();
})();
