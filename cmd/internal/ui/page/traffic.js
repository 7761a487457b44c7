// The live page of the proxy. Everything that came over the network goes into text
// nodes.

const most = 500; // requests that the page remembers
const shown = 200; // and draws

const state = { view: "talks", titles: {}, unfolded: new Set(), totals: null, since: null, seq: 0, requests: new Map(), show: "all", query: "", paused: false, live: true };

const money = (d) => "$" + (d === 0 ? "0" : d < 0.01 ? d.toFixed(4) : d < 100 ? d.toFixed(2) : count.format(Math.round(d)));
const percent = (part, whole) => (whole > 0 ? Math.round((100 * part) / whole) + " %" : "–");

function millis(ms) {
  if (ms < 1) return Math.round(ms * 1000) + " µs";
  if (ms < 1000) return ms.toFixed(ms < 10 ? 1 : 0) + " ms";
  return (ms / 1000).toFixed(1) + " s";
}

function size(bytes) {
  if (bytes < 1000) return bytes + " B";
  if (bytes < 1e6) return (bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0) + " KB";
  return (bytes / 1e6).toFixed(1) + " MB";
}

function take(traffic) {
  state.totals = traffic.totals;
  state.since = new Date(traffic.since);
  state.seq = traffic.seq;
  for (const r of traffic.requests) state.requests.set(r.id, r);
  if (state.requests.size > most) {
    const old = [...state.requests.values()].sort((a, b) => (a.time < b.time ? -1 : 1)).slice(0, state.requests.size - most);
    for (const r of old) state.requests.delete(r.id);
  }
}

function draw() {
  if (state.paused) return;
  drawSentence();
  drawTiles();
  drawTimes();
  drawList();
  drawSums();
  document.documentElement.dataset.seq = state.seq;
}

function drawTiles() {
  const t = state.totals;
  $("about").textContent = "since " + dayOf(state.since) + " " + clock(state.since) + (state.live ? "" : " · the proxy does not answer any more");
  const left = t.before - t.after, per = Math.max(1, Math.floor(($("tiles").clientWidth + 12) / 164));
  const tiles = [
    ["Requests", count.format(t.requests), t.running ? plural(t.running, "request") + " under way" : "none under way"],
    ["Repaired or shortened", count.format(t.changed), percent(t.changed, t.requests) + " of all", t.changed ? "good" : ""],
    ["Healed", count.format(t.healed), "refused at first, then answered", t.healed ? "good" : ""],
    ["Not inspected", count.format(t.skipped), "passed as they came: see why below"],
    ["Refused", count.format(t.refused), "answers of 400 and above", t.refused ? "bad" : ""],
    ["Tokens", brief(t.after), left > 0 ? brief(left) + " left out of " + brief(t.before) : "nothing left out"],
    ["Money", money(t.spent), t.saved < 0 ? "cost " + money(-t.saved) + " so far; savings come with later requests" : money(t.saved) + " saved, at list prices", t.saved > 0 ? "good" : ""],
    ...(t.fitted ? [["Made to fit", count.format(t.fitted), "too long for their model: no money is saved by what could not be sent", "good"]] : []),
    ["From the cache", percent(t.cacheRead, t.input + t.cacheRead + t.cacheWrite), brief(t.cacheRead) + " tokens read, " + brief(t.cacheWrite) + " written"],
  ];
  if (t.remember) {
    const dropped = t.remember.dropped;
    tiles.push(["Remembered", count.format(t.remember.kept), dropped ? plural(dropped, "request") + " dropped: the store did not take them" : "kept in the store: pare session list", dropped ? "bad" : ""]);
  }
  if (t.lost) tiles.push(["Shortened by the provider", count.format(t.lost), "its own answer says so", "bad"]);
  // No card stands alone in its row.
  $("tiles").style.setProperty("--cards", Math.ceil(tiles.length / Math.ceil(tiles.length / per)));
  $("tiles").replaceChildren(...tiles.map(([name, value, note, mood]) => {
    const tile = element("div", "tile " + (mood || ""));
    tile.append(element("dt", "", name), element("dd", "", value), element("dd", "", note));
    return tile;
  }));
}

function wanted(r) {
  switch (state.show) {
    case "changed": if (!r.changes) return false; break;
    case "healed": if (!r.healed) return false; break;
    case "skipped": if (!r.skipped) return false; break;
    case "refused": if (!(r.status >= 400)) return false; break;
  }
  if (!state.query) return true;
  const text = [state.titles[r.conversation], r.agent, r.model, r.path, r.upstream, r.dialect, r.healed, r.skipped, r.status, ...Object.keys(r.rules || {}), ...(r.faults || [])].join(" ").toLowerCase();
  return state.query.split(/\s+/).every((word) => text.includes(word));
}

function drawList() {
  const all = [...state.requests.values()].filter(wanted).sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
  $("talks").hidden = state.view !== "talks";
  $("table").hidden = state.view !== "list";
  drawTalks(all);
  $("list").replaceChildren(...all.slice(0, shown).map(makeRow));
  $("nothing").hidden = all.length > 0;
  $("nothing").textContent = state.requests.size ? "No request matches." : "No request yet. Point a client's base URL at this address.";
  $("status").textContent = (state.view === "talks" && all.length ? plural(talksOf(all).length, "conversation") + ", " : "") + plural(all.length, "request") + (all.length > shown ? ", the newest " + shown + " shown" : "");
}

function makeRow(r) {
  const tr = element("tr");
  tr.dataset.id = r.id;
  const cell = (...content) => {
    const td = element("td");
    td.append(...content);
    tr.append(td);
    return td;
  };
  const at = element("time", "", clock(r.time, true));
  at.dateTime = r.time;
  cell(at);
  const name = r.model || r.path;
  let title = element("span", "", name);
  if (r.view) {
    title = element("a", "", name);
    title.href = "request/" + encodeURIComponent(r.id);
  }
  cell(title, element("small", "", [r.upstream, r.dialect !== r.upstream && r.dialect, size(r.bytes)].filter(Boolean).join(" · ")));
  cell(...makeTokens(r));
  cell(...makeDone(r));
  cell(...makeAnswer(r));
  return tr;
}

function makeTokens(r) {
  if (!r.before) return [element("span", "muted", "–")];
  const words = element("span", "", r.after !== r.before ? brief(r.before) + " → " + brief(r.after) : brief(r.before));
  if (!r.window) return [words];
  const bar = element("span", "width" + (r.after > r.window ? " over" : ""));
  const whole = Math.max(r.window, r.before);
  const part = (n, className) => {
    const s = element("span", className);
    s.style.width = (100 * n) / whole + "%";
    bar.append(s);
  };
  if (r.after !== r.before) part(r.before, "before");
  part(r.after, "after");
  const was = percent(r.before, r.window), is = percent(r.after, r.window);
  return [words, bar, element("small", "", (was === is ? was : was + " → " + is) + " of " + brief(r.window))];
}

function makeDone(r) {
  const out = [];
  for (const [rule, n] of Object.entries(r.rules || {}).sort(byCount)) out.push(element("span", "chip rule", rule + (n > 1 ? " ×" + n : "")));
  if (r.healed) out.push(element("span", "chip healed", "healed: " + r.healed));
  if (r.skipped) out.push(element("span", "chip skipped", "untouched: " + r.skipped));
  for (const part of r.faults || []) out.push(element("span", "chip failed", "failed: " + part));
  if (!out.length) out.push(element("span", "muted", r.dialect ? "nothing to do" : "passed on"));
  return out;
}

function makeAnswer(r) {
  if (!r.status) return [element("span", "answer-wait", r.done ? "no answer" : "waiting")];
  const status = element("span", r.status < 400 ? "answer-ok" : "answer-bad", String(r.status));
  const notes = [[r.first && millis(r.first), r.own && "Pare " + millis(r.own)].filter(Boolean).join(", ")];
  if (r.input || r.output) notes.push(brief(r.input + (r.cached || 0)) + " in, " + brief(r.output || 0) + " out");
  return [status, document.createTextNode(r.stream ? (r.done ? " streamed" : " streaming") : ""), ...notes.filter(Boolean).map((n) => element("small", "", n))];
}

const byCount = ([a, n], [b, m]) => m - n || (a < b ? -1 : 1);

function drawSums() {
  const t = state.totals;
  $("aside").replaceChildren(
    makeSums("Repairs and cuts, by rule", t.rules, "nothing had to be changed"),
    makeSums("Healed, by rule", t.heals, "none"),
    makeSums("Not inspected, and why", t.skips, "none"),
  );
}

function makeSums(title, sums, none) {
  const section = element("section");
  section.append(element("h2", "", title));
  const rows = Object.entries(sums || {}).sort(byCount);
  if (!rows.length) {
    section.append(element("p", "muted", none));
    return section;
  }
  const table = element("table"), body = element("tbody");
  const highest = rows[0][1];
  for (const [name, n] of rows) {
    const tr = element("tr"), th = element("th", "", name), share = element("td", "share"), track = element("span", "share-track"), bar = element("span", "share-bar");
    th.scope = "row";
    bar.style.width = (100 * n) / highest + "%";
    track.append(bar);
    share.append(track);
    tr.append(th, element("td", "tokens", count.format(n)), share);
    body.append(tr);
  }
  table.append(body);
  section.append(table);
  return section;
}

function follow() {
  const events = new EventSource("traffic/events?after=" + state.seq);
  events.addEventListener("traffic", (e) => {
    state.live = true;
    take(JSON.parse(e.data));
    draw();
    askTitles();
  });
  events.addEventListener("error", () => {
    // A server that was restarted counts from the start again: ask anew for everything.
    events.close();
    state.live = false;
    draw();
    setTimeout(again, 1000);
  });
}

async function again() {
  try {
    const traffic = await (await fetch("traffic.json")).json();
    state.requests.clear();
    state.live = true;
    take(traffic);
    draw();
    follow();
  } catch {
    setTimeout(again, 2000);
  }
}

function start() {
  startTheme(() => {});
  $("theme").addEventListener("click", nextTheme);
  $("pause").addEventListener("click", () => {
    state.paused = !state.paused;
    $("pause").setAttribute("aria-pressed", state.paused);
    $("pause").textContent = state.paused ? "Go on" : "Pause";
    draw();
  });
  $("find").addEventListener("input", () => {
    state.query = $("find").value.trim().toLowerCase();
    drawList();
  });
  for (const radio of document.querySelectorAll("#views input")) {
    radio.addEventListener("change", () => {
      state.view = radio.value;
      drawList();
    });
  }
  addEventListener("resize", draw);
  for (const radio of document.querySelectorAll("#shows input")) {
    radio.addEventListener("change", () => {
      state.show = radio.value;
      drawList();
    });
  }
  // On a small screen what passes comes first; the sums open on request.
  const narrow = matchMedia("(max-width: 64rem)"), fold = () => ($("overview").open = !narrow.matches);
  narrow.addEventListener("change", fold);
  fold();
  take(JSON.parse($("data").textContent));
  draw();
  askTitles();
  follow();
  document.documentElement.dataset.ready = 1;
}

start();
