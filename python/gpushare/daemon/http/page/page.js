// SPDX-License-Identifier: Apache-2.0
// The live page: asks for the status once per second, and keeps the last minute of it.
"use strict";
(() => {
  const EVERY_MS = 1000, KEPT_S = 60, RATE_S = 5, STALE_S = 3, MOST_LANES = 24;
  // As in plots: gpushare/plots/palette.py.
  const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8C7A00", "#7F7F7F", "#96002D", "#5A3C69",
    "#B4C387", "#0000F0", "#8778FF", "#3C695A", "#2DD2D2", "#A52D00", "#E15A5A", "#D2A5A5", "#D20096", "#962DFF"];
  const FONT = "12px system-ui, 'DejaVu Sans', sans-serif";
  const element = (id) => document.getElementById(id);
  let token = sessionStorage.getItem("token") ?? "", device = new URLSearchParams(location.hash.slice(1)).get("device");
  let samples = [], last = null, lastAnswer = performance.now(), recent = null, paused = false;
  const colours = new Map(), rows = new Map();

  function colour(name) {
    if (!colours.has(name)) colours.set(name, COLOURS[colours.size % COLOURS.length]);
    return colours.get(name);
  }

  async function call(path, options = {}) {
    const headers = { ...(token && { Authorization: `Bearer ${token}` }), ...(options.body && { "Content-Type": "application/json" }) };
    const answer = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(10000) });
    const document = await answer.json();
    if (!answer.ok) throw new Error(document.error ?? `the server answers ${answer.status}`);
    return document;
  }

  const change = (path, values) => call(path, { method: "POST", body: JSON.stringify({ device, ...values }) });

  async function poll() {
    const asked = device;
    try {
      const found = await call(asked ? `api/status?device=${encodeURIComponent(asked)}` : "api/status");
      if (asked === device) accept(found);
    } catch (error) {
      // A server that has ended refuses connections: fetch throws a TypeError. Any other error is the server's word.
      if (asked && !(error instanceof TypeError) && error.message.includes("no device")) device = null;
      fail(error);
    }
    setTimeout(poll, EVERY_MS);
  }

  function accept(found) {
    lastAnswer = performance.now();
    device = found.device;
    showDevices(found);
    const isOld = found.status === null || found.age_s > STALE_S;
    document.body.classList.toggle("stale", isOld);
    connection(isOld ? "lost" : "live", isOld ? "no new state" : "live");
    problem(isOld ? `${device} does not answer${found.status ? `; this is its state ${seconds(found.age_s)} ago` : ""}${found.error ? `: ${found.error}` : ""}` : "");
    showRights(found);
    if (found.status === null) return;
    remember(found.status, performance.now() / 1000 - found.age_s);
    show(found.status);
  }

  function fail(error) {
    const silent = (performance.now() - lastAnswer) / 1000;
    document.body.classList.add("stale");
    connection("lost", "not connected");
    const isGone = error instanceof TypeError || error.name === "TimeoutError";
    problem(`${isGone ? "The server has ended, or cannot be reached" : `The server says: ${error.message}`}. `
      + `${last ? `What is below is its state ${seconds(silent)} ago. ` : ""}This page goes on when it answers.`);
  }

  function connection(state, words) {
    element("connection").dataset.state = state;
    if (element("connection").textContent !== words) element("connection").textContent = words;
  }

  function problem(words) {
    const box = element("problem");
    box.hidden = !words;
    if (box.textContent !== words) box.textContent = words;
  }

  // ---- what is computed from two states

  function remember(status, time) {
    if (last && last.now_ns === status.now_ns) return;
    if (last && (last.started_s !== status.started_s || last.device !== status.device)) samples = [];
    last = status;
    const figures = new Map(status.applications.map((each) => [each.name, each]));
    samples.push({ time, now_ns: status.now_ns, figures });
    while (samples.length > 2 && samples[0].time < time - KEPT_S - 2) samples.shift();
  }

  // SM time per SM and time: two applications with blocks on the same SM both count.
  function share(name, one, other) {
    const [before, after] = [one.figures.get(name), other.figures.get(name)];
    const passed = other.now_ns - one.now_ns;
    if (!after || passed <= 0) return 0;
    return Math.max(0, (after.sm_time_ns ?? 0) - (before?.sm_time_ns ?? 0)) / passed / last.sms;
  }

  function ago(span) {
    const end = samples[samples.length - 1];
    return samples.findLast((each) => each.time <= end.time - span) ?? samples[0];
  }

  function lately(name) {
    const end = samples[samples.length - 1], begin = ago(RATE_S), passed = (end.now_ns - begin.now_ns) / 1e9;
    const after = end.figures.get(name), before = begin.figures.get(name);
    const ended = after.ended_jobs - (before?.ended_jobs ?? 0);
    const turnaround = after.turnaround_s - (before?.turnaround_s ?? 0);
    return {
      share: passed > 0 ? share(name, begin, end) : null,
      rate: passed > 0 ? ended / passed : null,
      latency: ended > 0 && passed > 0 ? turnaround / ended : null,
    };
  }

  // ---- texts

  function seconds(value) {
    if (value === null || value === undefined) return "–";
    const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(([each]) => value >= each) ?? [1e-9, "ns"];
    const scaled = value / size;
    return `${scaled >= 100 ? scaled.toFixed(0) : Number(scaled.toPrecision(3))} ${unit}`;
  }

  function bytes(count) {
    const [size, unit] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]].find(([each]) => count >= each) ?? [1, "B"];
    return `${Number((count / size).toPrecision(3))} ${unit}`;
  }

  const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`);
  const rate = (value) => (value === null ? "–" : value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1));
  const count = (value) => (value ?? null) === null ? "–" : value.toLocaleString("en");

  // ---- the page

  function show(status) {
    const ordering = status.ordering === "arrival" ? "" : `${status.ordering}+`;
    const recentOf = new Map(status.applications.map((each) => [each.name, lately(each.name)]));
    const sum = (key) => [...recentOf.values()].reduce((total, each) => total + (each[key] ?? 0), 0);
    const isKnown = samples.length > 1, used = status.memory.used_bytes, total = status.memory.total_bytes;
    element("device-name").textContent = status.device;
    element("policy").textContent = ordering + status.policy;
    element("busy").textContent = isKnown ? percent(sum("share")) : "–";
    element("rate").textContent = isKnown ? rate(sum("rate")) : "–";
    element("unfinished").textContent = count(status.applications.reduce((all, each) => all + each.unfinished_jobs, 0));
    element("client-count").textContent = count(status.clients.length);
    element("memory").textContent = total < 2 ** 49 ? `${bytes(used)} of ${bytes(total)}` : bytes(used);
    const users = new Map(status.clients.map((each) => [each.client, each.user]));
    fill("applications", status.applications.map((each) => {
      const now = recentOf.get(each.name);
      return [each.name, [users.get(each.client) ?? "–", each.state ?? "idle", each.kernel || "–", count(each.priority), percent(now.share),
        rate(now.rate), seconds(now.latency), each.ntt === null ? "–" : each.ntt.toFixed(2), count(each.unfinished_jobs),
        count(each.ended_jobs), count(each.preemptions)], true];
    }));
    element("none").hidden = status.applications.length > 0;
    fill("clients", status.clients.map((each) => [`${each.client}: ${each.name}`,
      [each.user, String(each.pid), bytes(each.memory_bytes), count(each.arrays), count(each.applications)], false]));
    options(element("of-application"), status.applications.map((each) => each.name));
    draw();
  }

  // Rows stay where they are, so that a reader's selection and focus do.
  function fill(id, lines) {
    const table = element(id), titles = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const known = rows.get(id) ?? new Map();
    rows.set(id, known);
    const names = new Set(lines.map(([name]) => name));
    for (const [name, row] of known) if (!names.has(name)) { row.remove(); known.delete(name); }
    lines.forEach(([name, texts, isColoured], place) => {
      let row = known.get(name);
      if (!row) {
        row = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        if (isColoured) {
          const swatch = document.createElement("span");
          swatch.className = "swatch";
          swatch.style.background = colour(name);
          head.append(swatch);
        }
        head.append(name);
        row.append(head, ...texts.map((_, column) => {
          const cell = document.createElement("td");
          cell.className = titles[column + 1].className || "words";
          cell.dataset.label = titles[column + 1].textContent;
          return cell;
        }));
        known.set(name, row);
      }
      texts.forEach((text, column) => { const cell = row.cells[column + 1]; if (cell.textContent !== text) cell.textContent = text; });
      if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
    });
  }

  function options(select, names) {
    const present = [...select.options].map((each) => each.value);
    if (present.length === names.length && present.every((each, place) => each === names[place])) return;
    const chosen = select.value;
    select.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(chosen)) select.value = chosen;
  }

  function showDevices(found) {
    element("device-choice").hidden = found.devices.length < 2;
    options(element("device"), found.devices);
    element("device").value = found.device;
    if (!element("policies").children.length) element("policies").replaceChildren(...found.policies.map((name) => new Option(name)));
  }

  function showRights(found) {
    element("token-form").hidden = found.may_change;
    element("policy-form").hidden = element("priority-form").hidden = !found.may_change;
    element("timeline-part").hidden = !found.may_change;
    element("timeline-locked").hidden = found.may_change;
    if (token && !found.may_change) { said("This token is not the server's: a restarted server has a new one.", true); forget(); }
  }

  function forget() { token = ""; sessionStorage.removeItem("token"); }

  function said(words, isError = false) {
    element("result").textContent = words;
    element("result").dataset.state = isError ? "failed" : "done";
  }

  // ---- drawings

  function canvas(id, height) {
    const board = element(id), ratio = window.devicePixelRatio || 1, width = board.clientWidth;
    board.style.height = `${height}px`;
    board.width = Math.round(width * ratio);
    board.height = Math.round(height * ratio);
    const pen = board.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    pen.textBaseline = "middle";
    return [pen, width];
  }

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function fit(pen, text, room) {
    if (pen.measureText(text).width <= room) return text;
    let cut = text;
    while (cut.length > 1 && pen.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
    return `${cut}…`;
  }

  // Neighbours meet at whole pixels of the screen: otherwise the background shows between them.
  function bar(pen, from, to, y, height) {
    const ratio = window.devicePixelRatio || 1, snapped = (x) => Math.round(x * ratio) / ratio;
    pen.fillRect(snapped(from), y, snapped(to) - snapped(from), height);
  }

  function draw() {
    drawShare();
    drawQuota();
    drawTimeline();
  }

  function drawShare() {
    const height = 170, [pen, width] = canvas("share", height), left = 44, right = 8, top = 10, bottom = height - 22;
    const end = samples.length ? samples[samples.length - 1].time : 0;
    const xOf = (time) => left + (1 - (end - time) / KEPT_S) * (width - left - right);
    const steps = samples.slice(1).map((each, place) => ({
      from: samples[place].time, to: each.time, parts: [...each.figures.keys()].map((name) => [name, share(name, samples[place], each)]),
    }));
    const most = Math.max(1, ...steps.map((step) => step.parts.reduce((sum, [, part]) => sum + part, 0)));
    pen.save();
    pen.beginPath(); pen.rect(left, 0, width - left - right, height); pen.clip();
    for (const step of steps) {
      let y = bottom;
      for (const [name, part] of step.parts) {
        const rise = part / most * (bottom - top);
        pen.fillStyle = colour(name);
        bar(pen, xOf(step.from), xOf(step.to), y - rise, rise);
        y -= rise;
      }
    }
    pen.restore();
    pen.fillStyle = css("--faint"); pen.strokeStyle = css("--line"); pen.lineWidth = 1;
    pen.textAlign = "right";
    for (const part of most > 1 ? [0, 1, most] : [0, 0.5, 1]) {
      const y = bottom - part / most * (bottom - top);
      if (part === 1 && most > 1 && most < 1.15) continue;
      pen.fillText(`${Math.round(100 * part)} %`, left - 6, y);
      pen.beginPath(); pen.moveTo(left, y + 0.5); pen.lineTo(width - right, y + 0.5); pen.stroke();
    }
    pen.textAlign = "center";
    for (const back of [45, 30, 15]) pen.fillText(`${back} s ago`, xOf(end - back), height - 10);
    pen.textAlign = "right";
    pen.fillText("now", width - right, height - 10);
  }

  // First SM, number of SMs and blocks on each: of "8", or by ranges of SMs "8 on 0-65, 2 on 66".
  function rangesOf(text, sms) {
    return (text || "0").split(", ").flatMap((part) => {
      const [, blocks, first, end] = /^(\d+)(?: on (\d+)(?:-(\d+))?)?$/.exec(part) ?? [null, "0"];
      if (Number(blocks) === 0) return [];
      return first === undefined ? [[0, sms, Number(blocks)]] : [[Number(first), Number(end ?? first) - first + 1, Number(blocks)]];
    });
  }

  function names(pen, list) { return Math.min(160, 12 + Math.max(0, ...list.map((name) => pen.measureText(name).width))); }

  function drawQuota() {
    if (!last) return;
    const shown = last.applications.slice(0, MOST_LANES), lane = 22;
    const [pen, width] = canvas("quota", Math.max(1, shown.length) * lane + (shown.length ? 22 : 0));
    const left = Math.min(width * 0.3, names(pen, shown.map((each) => each.name)));
    const room = width - left - 8, cell = room / last.sms, ink = css("--ink");
    pen.fillStyle = css("--faint");
    if (!shown.length) pen.fillText("no application has been opened", 8, lane / 2);
    shown.forEach((each, row) => {
      const ranges = rangesOf(each.kernel ? each.quota : "0", last.sms), y = row * lane;
      const most = Math.max(1, ...ranges.map(([, , blocks]) => blocks));
      pen.fillStyle = ink; pen.textAlign = "right";
      pen.fillText(fit(pen, each.name, left - 10), left - 6, y + lane / 2);
      pen.fillStyle = css("--line");
      pen.fillRect(left, y + lane - 3, room, 1);
      pen.fillStyle = colour(each.name);
      for (const [first, count, blocks] of ranges) {
        const rise = blocks / most * (lane - 6);
        for (let sm = first; sm < first + count; sm += 1) {
          pen.fillRect(left + sm * cell, y + lane - 3 - rise, Math.max(cell - (cell > 3 ? 1 : 0), 0.6), rise);
        }
      }
    });
    if (shown.length) {
      pen.fillStyle = css("--faint"); pen.textAlign = "left";
      pen.fillText("SM 0", left, shown.length * lane + 10);
      pen.textAlign = "right";
      pen.fillText(`SM ${last.sms - 1}`, width - 8, shown.length * lane + 10);
    }
    const isCut = last.applications.length > shown.length;
    element("quota-note").textContent = "Blocks that the present plan allows on each SM; full height is the application's largest quota."
      + (isCut ? ` The first ${MOST_LANES} applications are shown.` : "");
  }

  function drawTimeline() {
    if (element("timeline-part").hidden || !recent || !last) return;
    const isHeld = element("lanes").value === "held", area = isHeld ? 25 : Math.max(25, Math.min(last.sms, 132)), lane = area + 15, shown = recent.applications.slice(0, MOST_LANES);
    const [pen, width] = canvas("timeline", Math.max(1, shown.length) * lane + 22);
    const left = Math.min(width * 0.3, names(pen, shown.map((each) => each.name))), room = width - left - 8;
    const xOf = (time) => left + time / recent.seconds * room;
    pen.fillStyle = css("--faint");
    if (!shown.length) pen.fillText("no application had work", 8, lane / 2);
    shown.forEach((each, row) => {
      const y = row * lane, base = y + area + 3;
      pen.fillStyle = css("--ink"); pen.textAlign = "right";
      pen.fillText(fit(pen, each.name, left - 10), left - 6, y + lane / 2);
      pen.fillStyle = css("--line");
      pen.fillRect(left, y + lane - 1, room, 1);
      pen.fillStyle = colour(each.name);
      if (isHeld) each.held.forEach((sms, column) => {
        const rise = sms / last.sms * area;
        const x = left + column * room / each.held.length;
        if (rise > 0) bar(pen, x, x + room / each.held.length, base - rise, rise);
      });
    });
    if (!isHeld) for (const [number, text, begin, end] of recent.quotas) {
      if (number >= shown.length) continue;
      pen.fillStyle = colour(shown[number].name);
      for (const [first, count] of rangesOf(text, last.sms)) {
        pen.fillRect(xOf(begin), number * lane + 3 + first / last.sms * area, Math.max(0.6, xOf(end) - xOf(begin)), count / last.sms * area);
      }
    }
    for (const [number, , begin, end] of recent.jobs) {
      if (number >= shown.length) continue;
      const x = xOf(begin), long = xOf(end) - x;
      pen.fillStyle = colour(shown[number].name);
      pen.fillRect(x, number * lane + lane - 9, Math.max(0.6, long - (long > 3 ? 1 : 0)), 4);
    }
    pen.fillStyle = css("--faint");
    for (const part of [0, 0.5, 1]) {
      pen.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
      pen.fillText(part === 1 ? "now" : `${seconds(recent.seconds * (1 - part))} ago`, left + part * room, shown.length * lane + 11);
    }
    element("lanes-note").textContent = isHeld ? "Area: SMs with blocks of the application, all of them at full height."
      : `Area: SMs on which the plan gave the application blocks, from SM 0 at the top to SM ${last.sms - 1}.`;
    element("left-out").textContent = recent.left_out ? `${count(recent.left_out)} earlier jobs and quotas are left out.` : "";
  }

  async function pollTimeline() {
    const isWanted = token && last && !paused && !element("timeline-part").hidden && !document.hidden;
    if (isWanted) {
      try {
        recent = await call(`api/timeline?device=${encodeURIComponent(device)}&seconds=${element("seconds").value}`);
        drawTimeline();
      } catch (error) { if (!(error instanceof TypeError)) element("left-out").textContent = error.message; }
    }
    setTimeout(pollTimeline, EVERY_MS);
  }

  // ---- what a reader does

  element("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = element("token").value.trim();
    element("token").value = "";
    sessionStorage.setItem("token", token);
    said("");
  });
  element("policy-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const policy = element("new-policy").value.trim();
    change("api/policy", { policy }).then(() => said(`policy ${policy} from now on`), (error) => said(error.message, true));
  });
  element("priority-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const application = element("of-application").value, priority = Number(element("new-priority").value);
    change("api/priority", { application, priority }).then(
      (found) => said(`priority ${found.priority} for ${found.application} from now on`), (error) => said(error.message, true));
  });
  element("device").addEventListener("change", (event) => {
    device = event.target.value;
    samples = []; last = null; recent = null;
    history.replaceState(null, "", `#${new URLSearchParams({ device })}`);
  });
  element("lanes").addEventListener("change", drawTimeline);
  element("pause").addEventListener("click", (event) => {
    paused = !paused;
    event.target.setAttribute("aria-pressed", String(paused));
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  poll();
  pollTimeline();
})();
