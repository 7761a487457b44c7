// Search and filters decide which messages the list has.

// text of a message for the search, made once.
function searchable(m) {
  return (m.search ??= lower(m.blocks.map((b) => [b.tool, b.id, b.text].filter(Boolean).join("\n")).join("\n")));
}

// applyFilter shows what the filters leave. keep stays at the current message, and
// scroll brings it into sight.
function applyFilter(keep = true, scroll = true) {
  const { side } = state;
  const focused = $("list").contains(document.activeElement);
  const role = $("by-role").value, tool = $("by-tool").value, thread = $("by-thread").value;
  const onlyFaults = pressed("only-faults"), onlyChanges = pressed("only-changes");
  const now = keep ? state.list.items[state.at]?.n ?? 0 : 0;
  const items = side.messages.filter((m) =>
    (!role || m.who === role) &&
    (!tool || m.blocks.some((b) => b.tool === tool)) &&
    (!thread || side.other || m.thread === thread) &&
    (!onlyFaults || faulty(m)) &&
    (!onlyChanges || changed(m)));
  state.position = new Map(items.map((m, i) => [m.n, i]));
  // The nearest message that is still there.
  let at = items.findIndex((m) => m.n >= now);
  state.at = at < 0 ? Math.max(0, items.length - 1) : at;
  state.list.show(items, state.moved ? state.at : -1);
  $("nothing").hidden = items.length > 0;
  runSearch();
  if (keep && scroll && state.moved && items.length) state.list.reveal(state.at);
  if (focused) focusRow();
  makeAside();
  drawStrips();
  const filtered = items.length < side.messages.length;
  say(filtered ? count.format(items.length) + " of " + plural(side.messages.length, "message") : plural(items.length, "message"));
}

function pressed(id) { return $(id).getAttribute("aria-pressed") === "true"; }

// runSearch finds the messages that hold the text.
function runSearch() {
  const q = state.query;
  state.hits = [];
  if (q) for (const m of state.list.items) if (searchable(m).includes(q)) state.hits.push(m.n);
  state.hit = -1;
  showHits();
}

function showHits() {
  const n = state.hits.length;
  $("find-count").textContent = !state.query ? "" : n === 0 ? "none" : state.hit < 0 ? count.format(n) : count.format(state.hit + 1) + "/" + count.format(n);
  $("find-next").disabled = $("find-prev").disabled = n === 0;
}

function search(text) {
  const q = lower(text.trim());
  if (q === state.query) return;
  state.query = q;
  runSearch();
  state.list.redraw();
  drawStrips();
  if (!q) return say("");
  say(state.hits.length ? plural(state.hits.length, "message") + " with “" + text.trim() + "”" : "nothing found for “" + text.trim() + "”");
  if (state.hits.length) stepHit(1, true);
}

// stepHit goes to the next match, or the previous one; fresh begins at the current
// message.
function stepHit(by, fresh) {
  const n = state.hits.length;
  if (n === 0) return;
  const now = state.list.items[state.at]?.n ?? 0;
  if (state.hit < 0 || fresh) {
    const next = state.hits.findIndex((m) => m >= now);
    state.hit = by > 0 ? Math.max(0, next) : (next <= 0 ? n : next) - 1;
  } else state.hit = (state.hit + by + n) % n;
  showHits();
  goMessage(state.hits[state.hit], true);
  if (!fresh) say("match " + (state.hit + 1) + " of " + n + ", message " + state.hits[state.hit]);
}

// paintHits colours what was found in the rows that are drawn. The text itself is not
// touched.
function paintHits() {
  if (!globalThis.Highlight || !CSS.highlights) return;
  CSS.highlights.delete("found");
  const q = state.query;
  if (!q) return;
  const ranges = [];
  for (const e of state.list.list.querySelectorAll(".body, .tool, .details dd")) {
    // What is coloured, or drawn as Markdown, is in pieces.
    const pieces = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let node = pieces.nextNode(); node; node = pieces.nextNode()) {
      const text = lower(node.data);
      for (let i = text.indexOf(q); i >= 0 && ranges.length < 2000; i = text.indexOf(q, i + q.length)) {
        const r = new Range();
        r.setStart(node, i);
        r.setEnd(node, i + q.length);
        ranges.push(r);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function makeFilters() {
  const { side, doc } = state;
  const roles = [...new Set(side.messages.map((m) => m.who))];
  fillPick($("by-role"), "all", roles.map((r) => [r, r]));
  const tools = new Map();
  for (const b of side.blocks) if (b.tool && b.type === "call") tools.set(b.tool, (tools.get(b.tool) || 0) + 1);
  fillPick($("by-tool"), "all", [...tools].sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([t, n]) => [t, t + " (" + n + ")"]));
  const threads = [...new Set(side.messages.map((m) => m.thread).filter(Boolean))];
  if (doc.others.length) fillPick($("by-thread"), (doc.thread || "main") + " (sent)", doc.others.map((o) => [o.name, o.name + " (" + (o.what || "not sent") + ")"]));
  else fillPick($("by-thread"), "all", threads.map((t) => [t, t]));
  $("by-thread-label").hidden = threads.length < 2 && !doc.others.length;
  const toggle = (id, word, n) => {
    const b = $(id);
    b.textContent = word + " " + count.format(n);
    b.disabled = n === 0;
    if (n === 0) b.setAttribute("aria-pressed", "false");
  };
  toggle("only-faults", "✗ Faults", side.faults.length);
  $("only-changes").hidden = !doc.after;
  toggle("only-changes", "✎ Changes", side.messages.filter(changed).length ? doc.changes.length : 0);
  $("sides").hidden = !doc.after || Boolean(side.other);
}

function fillPick(pick, all, options) {
  const was = pick.value;
  pick.replaceChildren(new Option(all, ""), ...options.map(([value, text]) => new Option(text, value)));
  pick.value = options.some(([v]) => v === was) ? was : "";
}
