// Arcs join a call with its results in the margin. Those that are whole are calm;
// broken ones are red and dashed, and one that has no other end stops at a cross.

const svgNS = "http://www.w3.org/2000/svg";
const lane = 7, radius = 9;

function svg(tag, attributes) {
  const e = document.createElementNS(svgNS, tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  return e;
}

// drawArcs draws what touches the rows that are drawn. Few arcs are longer than that:
// they are kept in a list of their own.
function drawArcs() {
  const { list, side } = state;
  const box = $("arcs");
  const width = box.clientWidth;
  const todo = new Set();
  let from = Infinity, to = -1;
  for (const i of list.rows.keys()) {
    if (i !== list.pinned || i === state.at) {
      from = Math.min(from, i);
      to = Math.max(to, i);
    }
    for (const b of list.items[i].blocks) if (b.exchange) todo.add(b.exchange);
  }
  for (const x of state.long) if (x.from <= to && x.to >= from) todo.add(x.exchange);
  const arcs = [];
  for (const x of todo) {
    const results = x.results.length ? x.results : [-1];
    for (const r of results) {
      const a = x.call >= 0 ? side.blocks[x.call] : null, b = r >= 0 ? side.blocks[r] : null;
      const y1 = a && port(a), y2 = b && port(b);
      if (y1 == null && y2 == null) continue;
      arcs.push({ x, a, b, y1, y2 });
    }
  }
  arcs.sort((p, q) => (p.y1 ?? p.y2) - (q.y1 ?? q.y2) || (p.x.n - q.x.n));
  // Arcs that overlap get lanes of their own.
  const free = [];
  const drawn = arcs.map((arc) => {
    const top = Math.min(arc.y1 ?? arc.y2, arc.y2 ?? arc.y1), bottom = Math.max(arc.y1 ?? arc.y2, arc.y2 ?? arc.y1);
    let k = free.findIndex((end) => end < top);
    if (k < 0) k = free.length;
    free[k] = bottom + 2;
    return makeArc(arc, width, Math.max(4, width - 26 - k * lane));
  });
  box.replaceChildren(...drawn);
  lightArcs();
}

// port is how far down the margin a block's end of an arc is, or null if the filter
// has left its message out.
function port(block) {
  const i = state.position.get(block.message.n);
  if (i === undefined) return null;
  const top = state.list.sums.before(i);
  const row = state.list.rows.get(i);
  if (!row) return top + 20;
  row.ports ||= new Map([...row.querySelectorAll(".block")].map((e) => [Number(e.dataset.block), e.offsetTop + 15]));
  return top + row.ports.get(block.n);
}

function makeArc({ x, a, b, y1, y2 }, right, left) {
  const g = svg("g", { class: "arc" + (x.broken ? " broken" : "") + (x.state === "open" ? " waiting" : "") });
  g.dataset.call = a ? a.n : "";
  g.dataset.result = b ? b.n : "";
  g.dataset.state = x.state;
  const end = right - 14;
  if (y1 == null || y2 == null) {
    // The other half is missing, or filtered away.
    const y = y1 ?? y2, missing = y1 == null ? !a : !b;
    const to = y1 == null ? y - 14 : y + 14;
    g.append(svg("path", { d: `M${end} ${y}H${left + radius}Q${left} ${y} ${left} ${y + Math.sign(to - y) * radius}V${to}` }));
    if (missing && x.state !== "open") g.append(svg("path", { class: "cross", d: `M${left - 4} ${to - 4}l8 8m0 -8l-8 8` }));
    else if (missing) g.append(svg("circle", { class: "ring", cx: left, cy: to, r: 3 }));
  } else {
    const down = Math.sign(y2 - y1) || 1, r = Math.min(radius, Math.abs(y2 - y1) / 2);
    g.append(svg("path", { d: `M${end} ${y1}H${left + r}Q${left} ${y1} ${left} ${y1 + down * r}V${y2 - down * r}Q${left} ${y2} ${left + r} ${y2}H${end - 2}` }));
  }
  if (y1 != null) g.append(svg("circle", { class: "dot", cx: end, cy: y1, r: 3 }));
  if (y2 != null) g.append(svg("path", { class: "head", d: `M${end + 2} ${y2}l-7 -4v8z` }));
  return g;
}

// lightArcs lifts out the arcs of the current message or of what is pointed at.
function lightArcs() {
  const { list } = state;
  const here = new Set();
  const m = list.items[state.at];
  if (m && state.moved) for (const b of m.blocks) here.add(b.n);
  if (state.over >= 0) here.add(state.over);
  const mates = new Set();
  for (const g of $("arcs").children) {
    const ends = [g.dataset.call, g.dataset.result].filter((n) => n !== "").map(Number);
    const lit = ends.some((n) => here.has(n));
    g.classList.toggle("lit", lit);
    if (lit && state.over >= 0 && ends.includes(state.over)) ends.forEach((n) => mates.add(n));
  }
  for (const e of list.list.querySelectorAll(".block.mate")) e.classList.remove("mate");
  for (const n of mates) list.list.querySelector(`.block[data-block="${n}"]`)?.classList.add("mate");
}
