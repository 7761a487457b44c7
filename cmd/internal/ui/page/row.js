// A row is one message: who speaks, and its blocks. Opened, it shows all of them in
// full with where they stand.

const signs = { user: "", assistant: "", system: "", thinking: "∴", call: "→", result: "←", media: "▣", compaction: "≡", head: "", other: "·" };

function makeRow(message, pos) {
  const row = element("li", "message role-" + message.who);
  row.dataset.message = message.n;
  row.id = "message-" + message.n;
  const open = isOpen(message.n);
  row.classList.toggle("open", open);
  row.classList.toggle("faulty", faulty(message));
  row.classList.toggle("current", pos === state.at && state.moved);
  row.classList.toggle("begins", message.begins);
  row.classList.toggle("summary", Boolean(message.summary));
  row.tabIndex = pos === state.at ? 0 : -1;
  row.setAttribute("aria-posinset", pos + 1);
  row.setAttribute("aria-setsize", state.list.items.length);
  row.setAttribute("aria-labelledby", row.id + "-title");
  row.append(makeHead(message, row.id, open));
  if (message.begins && message.turn && state.side.turns.length > 1) {
    row.append(element("p", "turn-sum muted", ["turn " + message.turn.n + " of " + state.side.turns.length, ...turnFacts(message.turn)].join(" · ")));
  }
  for (const f of message.faults) row.append(makeFault(f));
  if (message.changes.length) row.append(makeChanges(message.changes, null, open));
  if (message.blocks.length === 0) row.append(element("p", "muted empty", "(nothing)"));
  const list = element("ul", "blocks");
  list.setAttribute("role", "list");
  for (const b of message.blocks) list.append(makeBlock(b, open));
  row.append(list);
  if (pos !== state.at) for (const b of row.querySelectorAll("button")) b.tabIndex = -1;
  return row;
}

function makeHead(message, id, open) {
  const head = element("div", "message-head");
  const title = element("h3");
  title.id = id + "-title";
  title.append(element("span", "number", message.n), " ", element("span", "role", message.who));
  if (faulty(message)) title.append(element("span", "unseen", ", faulty"));
  head.append(title);
  if (message.thread) head.append(element("span", "muted thread", message.thread));
  if (message.summary) head.append(element("span", "muted summed", "summary of what came before"));
  if (message.time) head.append(makeTime(message));
  if (message.model && message.model !== state.doc.model) head.append(element("span", "muted model", message.model));
  if (message.unread) head.append(element("span", "muted unread", "not read: compacted"));
  if (message.line) head.append(element("span", "muted line", "line " + message.line));
  const was = message.blocks.find((b) => b.was)?.was.message.n;
  if (was !== undefined && was !== message.n) head.append(element("span", "muted", "was " + was));
  const toggle = button("opener", open ? "Less" : "More", () => openRow(message.n));
  toggle.setAttribute("aria-expanded", open);
  toggle.append(element("span", "unseen", " of message " + message.n));
  const size = element("span", "size");
  size.append(element("span", "tokens", count.format(message.tokens)), " tokens");
  head.append(toggle, size);
  return head;
}

// makeTime says when a message came, and how long it took.
function makeTime(m) {
  const t = element("span", "muted when");
  t.append(element("time", "", clock(m.time, true)));
  t.firstChild.dateTime = new Date(m.time).toISOString();
  if (m.since >= 100) t.append(" +" + lasting(m.since));
  if (m.usage) t.append(" · " + brief((m.usage.input || 0) + (m.usage.read || 0) + (m.usage.written || 0)) + " in, " + brief(m.usage.output || 0) + " out" + (m.dollars ? " · " + dollars(m.dollars) : ""));
  return t;
}

function makeBlock(b, open) {
  const item = element("li", "block kind-" + b.type);
  item.dataset.block = b.n;
  for (const action of b.fates) item.classList.add("is-" + action);
  if (b.kept && !b.fates.length) item.classList.add("is-keep");
  if (b.faults.length) item.classList.add("faulty");
  const tool = $("by-tool").value;
  if (tool && (b.type === "call" || b.type === "result") && b.tool !== tool) item.classList.add("beside");
  item.append(makeLabel(b), makeBody(b, open), makeSize(b));
  const notes = element("div", "notes");
  for (const f of b.faults) notes.append(makeFault(f));
  const x = b.exchange;
  if (x?.broken && !b.faults.length) notes.append(element("p", "state", brokenWord(b, x)));
  if (b.changes.length) notes.append(makeChanges(b.changes, b, open));
  if (open && !state.all) notes.append(makeDetails(b)); // whoever reads all of it reads the words
  if (notes.childNodes.length) item.append(notes);
  return item;
}

// brokenWord says what is wrong with a pair, at the half that the provider does not
// complain about.
function brokenWord(b, x) {
  const mate = b.n === x.call ? x.results[0] : x.call;
  if (mate === undefined || mate < 0) return "✗ " + x.state;
  return "✗ " + x.state + ": the " + (b.n === x.call ? "result" : "call") + " is in message " + state.side.blocks[mate].message.n;
}

// makeLabel says what a block is, in words.
function makeLabel(b) {
  const label = element("div", "label");
  const word = b.type === "user" || b.type === "assistant" || b.type === "system" ? "text" : b.kind;
  const sign = element("span", "sign", signs[b.type]);
  sign.setAttribute("aria-hidden", "true");
  label.append(sign, element("span", "kind", word));
  if (b.tool) label.append(" ", element("span", "tool", b.tool));
  if (b.failed) label.append(" ", element("span", "failed", "error"));
  if (b.kept && !b.fates.length) {
    const k = state.doc.kept[b.kept - 1], kept = element("span", "kept", "kept");
    kept.dataset.tip = k.rule + ": " + k.text;
    label.append(" ", kept);
  }
  return label;
}

function makeBody(b, open) {
  const body = element("div", "body");
  if (!open) {
    const line = b.type === "call" ? deedLine(b) || args(b) : b.type === "result" ? clean(b.text) : b.text;
    const text = element("div", "text" + (b.type === "call" ? " code" : ""));
    const said = excerpt(line, state.query) || (b.pictures?.length ? "" : "(empty)");
    if (b.type === "assistant" || b.type === "user") inline(text, said.replace(/^#{1,6} +/gm, ""));
    else text.append(said);
    body.append(text);
    showPictures(body, b);
    return body;
  }
  const all = state.full.has(b);
  let longer = 0;
  const cut = (text) => {
    if (all || text.length <= longText) return text;
    longer = Math.max(longer, text.length);
    return text.slice(0, longText);
  };
  if (b.type === "call" && showCall(body, b, cut)) void 0;
  else if (b.type === "result") showResult(body, b, cut(b.text));
  else {
    const prose = b.type === "assistant" || b.type === "user" || b.type === "compaction";
    const text = element("div", "text full" + (prose ? " md" : "") + (b.type === "call" || b.type === "other" ? " code" : ""));
    if (prose && b.text) markdown(text, cut(b.text));
    else text.append(cut(b.type === "call" ? pretty(b.text) : b.text) || "(empty)");
    body.append(text);
  }
  showPictures(body, b);
  if (longer) {
    body.append(button("more", "Show all " + count.format(longer) + " characters", () => {
      state.full.add(b);
      state.list.redraw(state.at);
    }));
  }
  return body;
}

// makeSize draws the tokens as a width, on one scale for the whole conversation.
function makeSize(b) {
  const size = element("div", "size");
  const bar = element("span", "width");
  bar.setAttribute("aria-hidden", "true");
  const fill = element("span");
  fill.style.width = (100 * b.tokens) / state.side.most + "%";
  bar.append(fill);
  size.append(element("span", "tokens", count.format(b.tokens)), element("span", "unseen", " tokens"), bar);
  return size;
}

function makeFault(f) {
  const p = element("div", "fault" + (f.advice ? " advice" : ""));
  p.dataset.fault = f.n;
  const title = element("p", "fault-title");
  title.append(element("strong", "", (f.advice ? "! " : "✗ ") + f.rule));
  if (f.meaning) title.append(" ", element("span", "", f.meaning));
  p.append(title, element("blockquote", "says", f.says));
  return p;
}

// makeChanges shows receipts: what, which rule; and why, when pointed at, focused or
// clicked, and in an opened message.
function makeChanges(changes, block, open) {
  const list = element("div", "changes");
  for (const c of changes) {
    const box = element("div", "change-box");
    const word = c.action === "insert" && block?.type === "call" ? "stub inserted" : c.word;
    const b = button("change change-" + c.action, "", () => {
      state.why.has(c) ? state.why.delete(c) : state.why.add(c);
      why.hidden = state.why.has(c) === open;
      b.setAttribute("aria-expanded", !why.hidden);
      hideTip();
    });
    b.dataset.change = c.n;
    const sign = element("span", "sign", (actions[c.action] || { sign: "~" }).sign);
    sign.setAttribute("aria-hidden", "true");
    b.append(sign, element("span", "word", word));
    if (c.rule) b.append(element("span", "rule", c.rule));
    if (c.tokens) b.append(element("span", "delta", (c.tokens > 0 ? "+" : "−") + count.format(Math.abs(c.tokens))), element("span", "unseen", " tokens"));
    b.setAttribute("aria-expanded", state.why.has(c) !== open);
    const why = element("div", "why");
    why.append(element("p", "", c.reason));
    const now = (c.action === "edit" || c.action === "archive") && state.side.name === "before" && block?.now;
    if (now && now.text !== block.text) {
      const p = element("p", "now");
      p.append(element("span", "muted", "becomes "), element("span", "text", now.text.length > 300 ? now.text.slice(0, 300) + "…" : now.text));
      why.append(p);
    }
    why.hidden = state.why.has(c) === open;
    b.dataset.tip = c.reason;
    box.append(b, why);
    list.append(box);
  }
  return list;
}

// makeDetails is what an opened block shows below its text.
function makeDetails(b) {
  const list = element("dl", "details");
  const add = (name, value) => list.append(element("dt", "", name), value instanceof Node ? value : element("dd", "", value));
  if (b.path) add("path", b.path);
  if (b.id) add("id", b.id);
  add("tokens", count.format(b.tokens) + " · " + share(b.tokens, state.side.tokens) + " of the conversation");
  const x = b.exchange;
  if (x) {
    const mates = b.n === x.call ? x.results : [x.call];
    for (const m of mates) {
      if (m < 0) continue;
      const dd = element("dd");
      dd.append(button("go", "message " + state.side.blocks[m].message.n, () => goBlock(m)));
      add(b.n === x.call ? "result" : "call", dd);
    }
    if (x.state !== "whole") add("pair", x.state);
    if (x.guessed) add("pair", "guessed: an id is missing");
    if (x.server) add("pair", "executed by the provider");
  }
  if (b.kept) {
    const k = state.doc.kept[b.kept - 1];
    add("kept", k.rule + ": " + k.text);
  }
  return list;
}

function share(n, of) {
  const percent = (100 * n) / Math.max(1, of);
  return (percent < 10 ? percent.toFixed(1) : Math.round(percent)) + " %";
}

// guessRow tells how high a row may be before it is drawn.
function guessRow(message) {
  let h = 44;
  for (const b of message.blocks) h += 30 + Math.min(3, Math.ceil(Math.min(b.text.length, shortText) / 90)) * 18 - 18 + b.faults.length * 84 + (b.changes.length ? 30 : 0);
  return h + message.faults.length * 84 + (message.changes.length ? 30 : 0);
}
