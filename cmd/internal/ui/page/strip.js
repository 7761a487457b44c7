// A strip is the whole conversation in one line: each block as wide as its tokens.
// It is also the way to get there: by pointer, or as a slider by keys.

const strip = { top: 7, height: 26, bottom: 7 };

// colours reads the colours of the theme, which the canvas cannot look up itself.
function colours() {
  const probe = element("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = "var(--" + name + ")";
    return getComputedStyle(probe).color;
  };
  const all = { fault: read("fault"), advice: read("advice"), hit: read("accent"), surface: read("surface"), ink: read("ink"), rest: read("track") };
  for (const k in kinds) all[k] = read("fill-" + k);
  for (const a in actions) all["action-" + a] = read("action-" + a);
  probe.remove();
  return all;
}

// makeStrips makes a strip for each side; drawing them is left to the filter, which
// knows what is shown.
function makeStrips() {
  const box = $("strips");
  box.replaceChildren();
  const { doc } = state;
  const scale = Math.max(doc.before.tokens, doc.after?.tokens || 0, 1);
  for (const side of [doc.before, doc.after]) {
    if (!side) continue;
    const row = element("div", "strip");
    row.dataset.side = side.name;
    const track = element("div", "track");
    track.tabIndex = 0;
    track.setAttribute("role", "slider");
    track.setAttribute("aria-label", "Place in the conversation" + (doc.after ? " " + side.name : ""));
    track.setAttribute("aria-orientation", "horizontal");
    track.setAttribute("aria-valuemin", 0);
    track.setAttribute("aria-valuemax", Math.max(0, side.messages.length - 1));
    track.setAttribute("aria-valuenow", 0);
    const lens = element("div", "lens");
    track.append(document.createElement("canvas"), lens);
    row.append(element("span", "strip-name", doc.after ? side.name : ""), track, element("span", "strip-sum", brief(side.tokens)));
    box.append(row);
    side.strip = { row, track, lens, canvas: track.firstChild, scale };
    const at = (e) => messageAt(side, (scale * (e.clientX - track.getBoundingClientRect().left)) / track.clientWidth);
    track.addEventListener("pointermove", (e) => showTip(describe(side, at(e)), e.clientX, track.getBoundingClientRect().bottom));
    track.addEventListener("pointerleave", hideTip);
    track.addEventListener("pointerdown", (e) => {
      if (state.side !== side) showSide(side.name);
      goMessage(at(e)?.message.n ?? 0);
    });
    track.addEventListener("keydown", (e) => stripKey(e, side));
  }
}

function stripKey(e, side) {
  const step = { ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, PageDown: 20, PageUp: -20 }[e.key];
  const end = { Home: 0, End: side.messages.length - 1 }[e.key];
  if (step === undefined && end === undefined) return;
  e.preventDefault();
  e.stopPropagation();
  if (state.side !== side) showSide(side.name);
  const now = state.list.items[state.at]?.n ?? 0;
  goMessage(end ?? Math.max(0, Math.min(side.messages.length - 1, now + step)), true);
  side.strip.track.focus({ preventScroll: true });
}

// messageAt finds the block that the token at that place belongs to.
function messageAt(side, tokens) {
  let low = 0, high = side.blocks.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (side.blocks[mid].start <= tokens) low = mid;
    else high = mid - 1;
  }
  return side.blocks[low];
}

function describe(side, b) {
  if (!b) return "";
  const parts = ["message " + b.message.n, b.message.who, b.kind + (b.tool ? " " + b.tool : ""), plural(b.tokens, "token")];
  for (const f of b.faults) parts.push("✗ " + f.rule);
  for (const c of b.changes) parts.push(c.word + " by " + c.rule);
  return parts.join(" · ");
}

function drawStrips() {
  const paint = colours();
  for (const side of [state.doc.before, state.doc.after]) if (side?.strip) drawStrip(side, paint);
  drawLens();
}

function drawStrip(side, paint) {
  const { canvas, track, scale } = side.strip;
  const ratio = devicePixelRatio || 1, width = track.clientWidth, height = strip.top + strip.height + strip.bottom;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  paint.hatch = { drop: stripes(c, paint.surface, 3, 0.85), edit: stripes(c, paint.surface, 1.5, 0.5), archive: stripes(c, paint.surface, 1.5, 0.5) };
  const x = (tokens) => (tokens / scale) * width;
  c.fillStyle = paint.rest;
  c.fillRect(0, strip.top, width, strip.height);
  const { head, unseen, marks } = side.heads;
  for (const [sort, from, n] of [["unseen", 0, unseen], ["head", unseen, head], ["marks", side.tokens - marks, marks]]) {
    c.fillStyle = paint[sort];
    c.fillRect(x(from), strip.top, x(n), strip.height);
  }
  const shown = side === state.side && state.list.items.length < side.messages.length ? state.position : null;
  for (const b of side.blocks) {
    const left = x(b.start), w = x(b.tokens);
    c.globalAlpha = shown && !shown.has(b.message.n) ? 0.18 : 1;
    c.fillStyle = paint[b.type];
    // A hair of space tells neighbours apart where there is room for it.
    c.fillRect(left, strip.top, w > 3 ? w - 1 : w, strip.height);
    const action = b.fates[0] || b.changes[0]?.action;
    if (action) hatch(c, left, w, action, paint);
  }
  c.globalAlpha = 1;
  for (const n of side === state.side ? state.hits : []) mark(c, x(side.messages[n].start + side.messages[n].tokens / 2), paint.hit);
  for (const f of side.faults) {
    const at = f.block >= 0 ? side.blocks[f.block].start + side.blocks[f.block].tokens / 2 : f.message >= 0 ? side.messages[f.message].start : 0;
    triangle(c, x(at), f.advice ? paint.advice : paint.fault);
  }
}

// hatch strikes out what the plan takes away and underlines what it touches.
function hatch(c, left, w, action, paint) {
  c.fillStyle = paint["action-" + action] || paint.ink;
  c.fillRect(left, strip.top + strip.height + 2, Math.max(2, w - 1), 4);
  if (w < 2 || !paint.hatch[action]) return;
  c.fillStyle = paint.hatch[action];
  c.fillRect(left, strip.top, w - 1, strip.height);
}

// stripes is a pattern of slanted lines.
function stripes(c, colour, width, alpha) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const k = tile.getContext("2d");
  k.globalAlpha = alpha;
  k.strokeStyle = colour;
  k.lineWidth = width;
  k.beginPath();
  for (const x of [-6, 0, 6]) {
    k.moveTo(x - 1, 7);
    k.lineTo(x + 7, -1);
  }
  k.stroke();
  return c.createPattern(tile, "repeat");
}

function mark(c, x, colour) {
  c.fillStyle = colour;
  c.fillRect(x - 1, 0, 2, strip.top - 1);
}

function triangle(c, x, colour) {
  c.fillStyle = colour;
  c.beginPath();
  c.moveTo(x - 5, 0);
  c.lineTo(x + 5, 0);
  c.lineTo(x, strip.top);
  c.fill();
  c.fillRect(x - 1, strip.top, 2, strip.height);
}

// drawLens frames what the list shows at the moment.
function drawLens() {
  const { side, list } = state;
  for (const s of [state.doc.before, state.doc.after]) s?.strip?.row.classList.toggle("now", s === side);
  if (!side.strip || list.items.length === 0) return;
  const { first, last } = list.seen;
  const a = list.items[first], b = list.items[Math.max(first, last)];
  const from = first === 0 ? 0 : a.start, to = b.start + b.tokens;
  const { lens, track, scale } = side.strip;
  lens.style.left = (100 * from) / scale + "%";
  lens.style.width = (100 * (to - from)) / scale + "%";
  const now = list.items[state.at];
  if (now && track.getAttribute("aria-valuenow") !== String(now.n)) {
    track.setAttribute("aria-valuenow", now.n);
    track.setAttribute("aria-valuetext", "message " + now.n + ", " + now.who + ", " + plural(now.tokens, "token"));
  }
}

function showTip(text, x, y) {
  const tip = $("tip");
  if (!text) return hideTip();
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(x - tip.offsetWidth / 2, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 8 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 34 : y + 8) + "px";
}

function hideTip() { $("tip").hidden = true; }
