// The overview beside the conversation: the same as the strip shows, in words and
// numbers, and the ways to the places that matter.

const most = 60; // entries of a list; the keys lead to the rest

function makeAside() {
  const { doc, side } = state;
  const parts = [];
  if (side.faults.length) parts.push(makePlaces("Faults", side.faults, faultEntry));
  else if (doc.checked) parts.push(section("Faults", element("p", "good", "✓ none that the provider would refuse")));
  if (doc.changes.length) parts.push(makePlan());
  parts.push(makeTurns(), makeKinds(), makeTools(), makeSpent(), makeLargest(), makeParts());
  $("aside").replaceChildren(...parts.filter(Boolean));
}

function section(title, ...content) {
  const s = element("section");
  s.append(element("h2", "", title), ...content);
  return s;
}

function makePlaces(title, all, entry) {
  const list = element("ol", "places");
  list.setAttribute("role", "list");
  for (const x of all.slice(0, most)) {
    const li = element("li");
    li.append(entry(x));
    list.append(li);
  }
  const s = section(title + " " + count.format(all.length), list);
  if (all.length > most) s.append(element("p", "muted", "and " + count.format(all.length - most) + " more"));
  return s;
}

function faultEntry(f) {
  const b = button("place fault-place", "", () => (f.block >= 0 ? goBlock(f.block) : f.message >= 0 && goMessage(f.message)));
  b.append(element("span", "where", f.message >= 0 ? f.message : "request"), element("span", "what", (f.advice ? "! " : "✗ ") + f.rule));
  if (f.message >= 0) return b;
  const box = element("div");
  box.append(makeFault(f));
  return box;
}

// makePlan sums up the plan by rule, then lists its changes.
function makePlan() {
  const { doc } = state;
  const by = new Map();
  for (const c of doc.changes) {
    const r = by.get(c.rule) || { n: 0, tokens: 0 };
    by.set(c.rule, { n: r.n + 1, tokens: r.tokens + c.tokens });
  }
  const sum = element("p", "plan-sum", [...by].map(([rule, r]) => (rule || "pare") + " " + r.n).join(" · "));
  const order = (c) => (c.message < 0 ? Infinity : c.message);
  const s = makePlaces("Changes", [...doc.changes].sort((a, b) => order(a) - order(b) || a.n - b.n), changeEntry);
  s.firstChild.after(sum);
  return s;
}

function changeEntry(c) {
  const here = state.side.name === "after" ? state.side.blocks.find((b) => b.changes.includes(c)) : c.block >= 0 ? state.side.blocks[c.block] : null;
  const message = here ? here.message.n : state.side.name === "before" ? c.message : -1;
  const b = button("place change-place change-" + c.action, "", () => {
    if (here) goBlock(here.n);
    else if (message >= 0) goMessage(message);
  });
  b.dataset.tip = c.reason;
  const sign = element("span", "sign", (actions[c.action] || { sign: "~" }).sign);
  sign.setAttribute("aria-hidden", "true");
  b.append(element("span", "where", message >= 0 ? message : c.action === "drop" ? "gone" : "—"), sign, element("span", "what", c.word + " · " + c.rule));
  if (c.tokens) b.append(element("span", "delta", (c.tokens > 0 ? "+" : "−") + brief(Math.abs(c.tokens))));
  if (message < 0) b.disabled = true;
  return b;
}

function makeKinds() {
  const { side } = state;
  const sums = { ...side.heads };
  for (const b of side.blocks) sums[b.type] = (sums[b.type] || 0) + b.tokens;
  const rows = Object.keys(kinds).filter((k) => sums[k]).map((k) => ({ name: kinds[k].word, swatch: k, tokens: sums[k] }));
  return section("By kind", makeTable(rows, "Kind", side.tokens));
}

function makeTools() {
  const { side } = state;
  const sums = new Map();
  for (const b of side.blocks) {
    if (!b.tool || (b.type !== "call" && b.type !== "result")) continue;
    const t = sums.get(b.tool) || { name: b.tool, tokens: 0, calls: 0 };
    t.tokens += b.tokens;
    t.calls += b.type === "call";
    sums.set(b.tool, t);
  }
  const rows = [...sums.values()].sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1)).slice(0, 12);
  for (const r of rows) {
    r.note = "×" + r.calls;
    r.click = () => {
      const pick = $("by-tool");
      pick.value = pick.value === r.name ? "" : r.name;
      applyFilter();
    };
  }
  return rows.length ? section("By tool", makeTable(rows, "Tool", side.tokens)) : null;
}

function makeTable(rows, title, total) {
  const table = element("table");
  const head = element("tr");
  for (const name of [title, "Tokens", "Share"]) {
    const th = element("th", "", name);
    th.scope = "col";
    head.append(th);
  }
  const thead = element("thead", "unseen-head");
  thead.append(head);
  const body = element("tbody");
  for (const r of rows) {
    const tr = element("tr");
    const th = element("th");
    th.scope = "row";
    if (r.swatch) {
      const s = element("span", "swatch fill-" + r.swatch);
      s.setAttribute("aria-hidden", "true");
      th.append(s);
    }
    if (r.click) {
      const b = button("tool-filter", r.name, r.click);
      b.setAttribute("aria-pressed", $("by-tool").value === r.name);
      th.append(b, " ", element("span", "muted", r.note));
    } else th.append(r.name);
    const bar = element("td", "share");
    const fill = element("span", "share-bar" + (r.swatch ? " fill-" + r.swatch : ""));
    fill.style.width = (100 * r.tokens) / Math.max(1, total) + "%";
    const track = element("span", "share-track");
    track.append(fill);
    bar.append(track, element("span", "percent", share(r.tokens, total)));
    tr.append(th, element("td", "tokens", count.format(r.tokens)), bar);
    body.append(tr);
  }
  table.append(thead, body);
  return table;
}

function makeLargest() {
  const top = [...state.side.blocks].sort((a, b) => b.tokens - a.tokens || a.n - b.n).slice(0, 6);
  if (top.length < 3) return null;
  const list = element("ol", "places");
  list.setAttribute("role", "list");
  for (const b of top) {
    const go = button("place", "", () => goBlock(b.n));
    const swatch = element("span", "swatch fill-" + b.type);
    swatch.setAttribute("aria-hidden", "true");
    go.append(element("span", "where", b.message.n), swatch, element("span", "what", (b.tool ? b.kind + " " + b.tool : b.kind) + " " + hint(b)), element("span", "delta", count.format(b.tokens)));
    const li = element("li");
    li.append(go);
    list.append(li);
  }
  return section("Largest", list);
}

// hint says in a few words which one of many alike a block is.
function hint(b) {
  const of = b.type === "result" && b.exchange && b.exchange.call >= 0 ? state.side.blocks[b.exchange.call] : b;
  const d = deed(of);
  const text = (d?.command || d?.path || (of === b && b.type !== "call" && b.type !== "media" ? b.text.slice(0, 200) : "")).replace(/\s+/g, " ").trim();
  return text.length > 40 ? (d?.path && !d.command ? "…" + text.slice(-39) : text.slice(0, 39) + "…") : text;
}

// makeParts shows what stands beside the messages.
function makeParts() {
  const { head } = state.side;
  if (!head.length) return null;
  const s = section("Outside the messages");
  for (const p of head) {
    const d = element("details", "part");
    const title = element("summary", "", p.name + " ");
    title.append(element("span", "muted", plural(p.tokens, "token")));
    d.append(title);
    d.addEventListener("toggle", () => {
      if (d.open && d.children.length === 1) d.append(element("div", "text full code", /^[[{]/.test(p.text) ? pretty(p.text) : p.text));
    });
    s.append(d);
  }
  return s;
}

function makeLegend() {
  const used = new Set(state.side.blocks.map((b) => b.type));
  for (const k in state.side.heads) if (state.side.heads[k]) used.add(k);
  const items = [];
  for (const k in kinds) {
    if (!used.has(k)) continue;
    const li = element("li");
    const s = element("span", "swatch fill-" + k);
    s.setAttribute("aria-hidden", "true");
    li.append(s, kinds[k].word);
    items.push(li);
  }
  const mark = (className, text) => {
    const li = element("li");
    const s = element("span", "mark " + className);
    s.setAttribute("aria-hidden", "true");
    li.append(s, text);
    items.push(li);
  };
  if (state.side.faults.length) mark("mark-fault", "fault");
  for (const a in actions) if (state.side.blocks.some((b) => b.fates.includes(a) || b.changes.some((c) => c.action === a))) mark("mark-" + a, actions[a].word);
  $("legend").replaceChildren(...items);
}

// Of a plan both shares count: what was too much, and what is sent.
function shares(before, after, whole) {
  const was = share(before.tokens, whole), is = share(after.tokens, whole);
  return was === is ? was : was + " → " + is;
}

function makeHeadline() {
  const { doc, side } = state;
  $("source").textContent = doc.title || doc.source || "conversation";
  const calls = side.blocks.filter((b) => b.type === "call").length, results = side.blocks.filter((b) => b.type === "result" && b.kind !== "text").length;
  const parts = [doc.title ? doc.source : "", doc.agent, doc.dialect, doc.profile !== doc.dialect ? doc.profile : "", doc.model].filter(Boolean);
  parts.push(plural(side.messages.length, "message"), plural(calls, "call"), plural(results, "result"));
  if (side.from) parts.push(day(side.from) + " " + clock(side.from), "took " + lasting(side.to - side.from));
  if (side.spent?.dollars) parts.push(dollars(side.spent.dollars) + " at list prices");
  // A name from the file may hold marks that turn the direction of text around: each part ends its own.
  $("about").replaceChildren(...parts.flatMap((p, i) => (i ? [" · ", element("bdi", "", p)] : [element("bdi", "", p)])));
  const sum = $("fill-sum");
  sum.replaceChildren(element("strong", "", count.format(side.other ? side.tokens : doc.before.tokens)), " tokens");
  if (side.other) return sum.append(" · not sent");
  if (doc.after && doc.after.tokens !== doc.before.tokens) {
    const by = doc.after.tokens - doc.before.tokens;
    sum.append(" → ", element("strong", "", count.format(doc.after.tokens)), " (" + (by > 0 ? "+" : "−") + share(Math.abs(by), doc.before.tokens) + ")");
  }
  if (doc.window) sum.append(" · " + shares(doc.before, doc.after || doc.before, doc.window) + " of the " + count.format(doc.window) + " tokens available" + (doc.guess ? " (a guess: the model is not known)" : ""));
  sum.append(element("span", "muted counted", " · " + (doc.recorded ? count.format(doc.recorded) + " counted by the API" + (doc.recorded < doc.before.tokens ? ", the rest estimated" : "") : "estimated")));
  if (doc.over) sum.append(" ", element("strong", "too-long", "✗ longer than the window: the provider refuses it"));
  if (doc.others.length) sum.append(" · " + plural(doc.others.length, "thread") + " not sent");
}
