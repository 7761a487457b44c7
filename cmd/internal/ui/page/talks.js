// Conversations: what the live page groups requests by, and what they come to.

const svgNS = "http://www.w3.org/2000/svg";

function svg(tag, attributes, text) {
  const e = document.createElementNS(svgNS, tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}

const clock = (ms, seconds) => new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) });
const dayOf = (ms) => new Date(ms).toLocaleDateString("en-GB", { day: "numeric", month: "short" });

// talksOf groups requests, the conversation with the newest one first.
function talksOf(all) {
  const by = new Map();
  for (const r of all) {
    const key = r.conversation || "";
    if (!by.has(key)) by.set(key, []);
    by.get(key).push(r); // newest first
  }
  return [...by].map(([key, requests]) => ({ key, requests, last: requests.find((r) => r.before) || requests[0] }));
}

// askTitles asks what conversations are about. The lists of requests hold no words.
let asking = false;
async function askTitles() {
  const unknown = [...state.requests.values()].some((r) => r.conversation && r.done && !(r.conversation in state.titles));
  if (asking || !unknown) return;
  asking = true;
  try {
    const titles = await (await fetch("titles.json")).json();
    for (const r of state.requests.values()) if (r.conversation && r.done) titles[r.conversation] ??= "";
    state.titles = titles;
    draw();
  } catch {
    // the server is gone; whoever follows it says so
  }
  asking = false;
}

// drawSentence says what all of it was good for.
function drawSentence() {
  const t = state.totals, parts = [plural(t.requests, "request")];
  const repaired = Math.max(0, t.changed - t.fitted);
  if (repaired) parts.push(count.format(repaired) + " repaired");
  if (t.healed) parts.push(count.format(t.healed) + " refused at first, then answered");
  if (t.fitted) parts.push(count.format(t.fitted) + " would have been refused as too long");
  if (t.saved >= 0.005) parts.push("about " + money(t.saved) + " saved");
  if (parts.length === 1 && t.requests) parts.push("nothing had to be changed");
  const today = new Date().toDateString() === state.since.toDateString();
  $("sentence").textContent = (today ? "Today: " : "Since " + dayOf(state.since) + ": ") + parts.join(", ") + ".";
}

function drawTalks(all) {
  if (state.view !== "talks") return void $("talks").replaceChildren();
  const had = document.activeElement?.dataset?.talk;
  $("talks").replaceChildren(...talksOf(all).slice(0, shown).map(makeTalk));
  if (had !== undefined) [...$("talks").querySelectorAll("[data-talk]")].find((b) => b.dataset.talk === had)?.focus({ preventScroll: true });
}

// makeTalk is one conversation: what it is about, how full it is, what was done.
function makeTalk({ key, requests, last }) {
  const li = element("li", "talk"), open = state.unfolded.has(key);
  const head = button("talk-head", "", () => {
    open ? state.unfolded.delete(key) : state.unfolded.add(key);
    drawList();
  });
  head.dataset.talk = key;
  head.setAttribute("aria-expanded", open);
  const about = element("span", "talk-about");
  about.append(element("bdi", "talk-title", state.titles[key] || (key ? "A conversation" : "Other requests")));
  const names = [last.agent, last.model, plural(requests.length, "request"), requests.length > 1 ? clock(requests.at(-1).time) + "–" + clock(requests[0].time) : clock(requests[0].time)];
  const line = element("small", "muted");
  for (const [i, n] of names.filter(Boolean).entries()) line.append(i ? " · " : "", element("bdi", "", n));
  about.append(line);
  head.append(about, makeFullness(last), makeGood(requests), makeCurve(requests));
  li.append(head);
  if (!open) return li;
  const table = element("table", "requests"), body = element("tbody");
  table.setAttribute("aria-label", "Requests of " + (state.titles[key] || "this conversation") + ", newest first");
  body.append(...requests.slice(0, shown).map(makeRow));
  table.append(body);
  li.append(table);
  return li;
}

function makeFullness(r) {
  const box = element("span", "talk-full");
  box.append(...makeTokens(r));
  const left = leftOf(r.fullness);
  if (left) box.append(element("small", r.fullness.share >= 0.8 ? "talk-left nearly" : "talk-left muted", left));
  return box;
}

// leftOf says what is left of a window at the pace so far.
function leftOf(f) {
  if (f?.requests_left === undefined) return "";
  const parts = [plural(f.requests_left, "request")];
  if (f.turns_left) parts.push(plural(f.turns_left, "turn"));
  if (f.dollars_left !== undefined) parts.push(money(f.dollars_left));
  return "about " + parts.join(" · ") + " left" + (f.cut_in !== undefined ? ", cut in " + count.format(f.cut_in) : "");
}

// makeGood says what was done in all requests of a conversation, and what that saved.
function makeGood(requests) {
  const box = element("span", "talk-good");
  const sum = (f) => requests.reduce((n, r) => n + f(r), 0);
  const repairs = requests.filter((r) => r.changes && !r.over).length, fitted = requests.filter((r) => r.over && r.status < 400).length;
  const healed = requests.filter((r) => r.healed).length, refused = requests.filter((r) => r.status >= 400).length;
  const saved = sum((r) => r.saved || 0), spent = sum((r) => r.spent || 0);
  const chip = (className, text) => box.append(element("span", "chip " + className, text));
  if (repairs) chip("rule", count.format(repairs) + " repaired");
  if (fitted) chip("healed", count.format(fitted) + " made to fit");
  if (healed) chip("healed", count.format(healed) + " healed");
  if (refused) chip("failed", count.format(refused) + " refused");
  const words = [spent ? money(spent) + " spent" : "", saved >= 0.005 ? money(saved) + " saved" : saved <= -0.005 ? "cutting cost " + money(-saved) + " so far" : ""].filter(Boolean);
  if (words.length) box.append(element("small", "muted", words.join(" · ")));
  return box;
}

// makeCurve draws how a conversation grew, with a mark where it was cut, and the window.
function makeCurve(requests) {
  const all = [...requests].reverse().filter((r) => r.before);
  const w = 160, h = 36, box = svg("svg", { class: "talk-curve", viewBox: "0 0 " + w + " " + h, role: "img" });
  if (all.length < 2) {
    box.setAttribute("aria-hidden", "true");
    return box;
  }
  const window = all.at(-1).window || 0, highest = Math.max(...all.map((r) => Math.max(r.before, r.after)));
  const top = window && window < 2 * highest ? Math.max(window, highest) : highest;
  const x = (i) => 3 + (i * (w - 6)) / (all.length - 1), y = (n) => h - 3 - (n / top) * (h - 8);
  if (window && window <= top) box.append(svg("line", { class: "curve-window", x1: 0, x2: w, y1: y(window), y2: y(window) }));
  box.append(svg("polyline", { class: "curve-line", points: all.map((r, i) => x(i).toFixed(1) + "," + y(r.after).toFixed(1)).join(" ") }));
  let cuts = 0;
  for (const [i, r] of all.entries()) {
    if (r.after >= r.before) continue;
    cuts++;
    box.append(svg("line", { class: "curve-cut", x1: x(i), x2: x(i), y1: y(r.before), y2: y(r.after) }), svg("circle", { class: "curve-dot", cx: x(i), cy: y(r.after), r: 2 }));
  }
  box.setAttribute("aria-label", "from " + brief(all[0].after) + " to " + brief(all.at(-1).after) + " tokens in " + plural(all.length, "request") + ", " + plural(cuts, "cut"));
  return box;
}

// drawTimes draws what was sent over time, and what was left out.
function drawTimes() {
  const all = [...state.requests.values()].filter((r) => r.before), box = $("times");
  box.replaceChildren();
  box.parentNode.hidden = all.length < 2;
  if (all.length < 2) return;
  const times = all.map((r) => Date.parse(r.time)), from = Math.min(...times), to = Math.max(...times);
  const steps = [1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86400].map((s) => 1000 * s);
  const step = steps.find((s) => (to - from) / s <= 60) || 7 * 86_400_000;
  const first = Math.floor(from / step), n = Math.floor(to / step) - first + 1;
  const sums = Array.from({ length: n }, () => ({ after: 0, left: 0, requests: 0 }));
  for (const [i, r] of all.entries()) {
    const s = sums[Math.floor(times[i] / step) - first];
    s.after += r.after;
    s.left += Math.max(0, r.before - r.after);
    s.requests++;
  }
  const w = box.parentNode.clientWidth - 48 || 800, h = 84, base = h - 20, top = Math.max(...sums.map((s) => s.after + s.left), 1);
  box.setAttribute("viewBox", "0 0 " + w + " " + h);
  box.setAttribute("width", w);
  box.setAttribute("height", h);
  box.setAttribute("aria-label", "Tokens over time: " + brief(sums.reduce((k, s) => k + s.after, 0)) + " sent from " + clock(from) + " to " + clock(to));
  const each = w / Math.max(n, 12), y = (v) => (v / top) * (base - 14);
  box.append(svg("text", { class: "axis", x: 0, y: 10 }, brief(top) + " tokens"), svg("line", { class: "axis-line", x1: 0, x2: w, y1: base + 0.5, y2: base + 0.5 }));
  for (const [i, s] of sums.entries()) {
    if (!s.requests) continue;
    const g = svg("g", {});
    g.append(svg("title", {}, clock(first * step + i * step, step < 60_000) + ": " + plural(s.requests, "request") + ", " + brief(s.after) + " tokens sent" + (s.left ? ", " + brief(s.left) + " left out" : "")));
    const wide = Math.max(1, Math.min(each - 1, 40));
    g.append(svg("rect", { class: "bar-sent", x: i * each, width: wide, y: base - y(s.after), height: Math.max(1, y(s.after)) }));
    if (s.left) g.append(svg("rect", { class: "bar-left", x: i * each, width: wide, y: base - y(s.after + s.left), height: y(s.left) }));
    box.append(g);
  }
  const ticks = Math.max(1, Math.min(6, Math.floor(w / 110)));
  for (let k = 0; k <= ticks; k++) {
    const i = Math.floor((k * (Math.max(n, 12) - 1)) / ticks), at = (first + i) * step;
    box.append(svg("text", { class: "axis", x: Math.min(i * each, w - 2), y: h - 4, "text-anchor": k === ticks ? "end" : "start" }, step >= 86_400_000 ? dayOf(at) : clock(at, step < 60_000)));
  }
}
