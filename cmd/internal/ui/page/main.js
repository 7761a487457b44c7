// state is all there is: what is shown, where, and what the user has opened.
const state = {
  doc: null, side: null, list: null,
  at: 0, // the current message, as a position in the list
  moved: false, // the user has been somewhere
  open: new Set(), all: false, // which messages are open; with all, which are not
  full: new Set(), why: new Set(),
  query: "", hits: [], hit: -1,
  position: new Map(), // number of a message → its position in the list
  long: [], // exchanges that span more than a screen
  over: -1, // the block that is pointed at
};

function say(text) { $("status").textContent = text; }

// go makes a message of the list the current one.
function go(pos, always, quiet) {
  const { list } = state;
  if (list.items.length === 0) return;
  pos = Math.max(0, Math.min(list.items.length - 1, pos));
  const was = state.at;
  state.at = pos;
  state.moved = true;
  list.pinned = pos;
  list.reveal(pos, always);
  for (const i of new Set([was, pos])) {
    const row = list.rows.get(i);
    if (!row) continue;
    row.tabIndex = i === pos ? 0 : -1;
    row.classList.toggle("current", i === pos);
    for (const b of row.querySelectorAll("button")) b.tabIndex = i === pos ? 0 : -1;
  }
  if (!quiet) focusRow();
  lightArcs();
  drawLens();
}

function focusRow() { state.list.rows.get(state.at)?.focus({ preventScroll: true }); }

// reach sees to it that Tab leads into the list while nobody has been there yet: to the
// first message in sight.
function reach() {
  const { list } = state;
  if (state.moved || list.rows.has(state.at) || list.items.length === 0) return;
  state.at = list.seen.first;
  const row = list.rows.get(state.at);
  row.tabIndex = 0;
  for (const b of row.querySelectorAll("button")) b.tabIndex = 0;
}

function step(by) { go(state.moved ? state.at + by : by > 0 && state.list.seen.first === 0 ? 0 : state.list.seen.first); }

// goMessage goes to a message by its number, and takes filters away that hide it.
function goMessage(n, quiet) {
  if (!state.position.has(n)) clearFilters();
  go(state.position.get(n), true, quiet);
}

function goBlock(n) {
  goMessage(state.side.blocks[n].message.n);
  const e = document.querySelector(`.block[data-block="${n}"]`);
  if (!e) return;
  e.classList.add("flash");
  setTimeout(() => e.classList.remove("flash"), 1200);
}

// jump goes to the next message of a sort, round the end.
function jump(is, by, name) {
  const { items } = state.list;
  const n = items.length, from = state.moved ? state.at : by > 0 ? -1 : n;
  for (let i = 1; i <= n; i++) {
    const pos = (((from + i * by) % n) + n) % n;
    if (!is(items[pos])) continue;
    go(pos, true);
    const all = items.filter(is);
    return say(name + ": message " + items[pos].n + ", " + (all.indexOf(items[pos]) + 1) + " of " + all.length);
  }
  say("no " + name);
}

function goMate() {
  for (const b of state.list.items[state.at]?.blocks || []) {
    const x = b.exchange;
    if (!x) continue;
    const mate = b.n === x.call ? x.results[0] : x.call;
    if (mate >= 0) return goBlock(mate);
  }
  say("nothing here is one half of a pair");
}

function isOpen(n) { return state.all !== state.open.has(n); }

// openAll shows all messages in full, or none.
function openAll() {
  const here = state.at;
  state.all = !state.all;
  state.open.clear();
  $("open-all").setAttribute("aria-pressed", state.all);
  const items = state.list.items;
  state.list.items = [];
  state.list.show(items, state.moved ? here : -1);
  if (state.moved) state.list.reveal(here, true);
  say(state.all ? "all messages are open" : "all messages are closed");
}

function openRow(n) {
  const pos = state.position.get(n);
  state.open.has(n) ? state.open.delete(n) : state.open.add(n);
  state.at = pos;
  state.moved = true;
  state.list.pinned = pos;
  state.list.redraw();
  focusRow();
  say("message " + n + (isOpen(n) ? " opened" : " closed"));
}

function showSide(name) {
  const { doc } = state;
  const here = state.list.items[state.at];
  const from = state.side;
  state.side = doc[name];
  state.open.clear();
  for (const radio of document.querySelectorAll("#sides input")) radio.checked = radio.value === name;
  readLong();
  // The same place on the other side, or the nearest that is left.
  let n = 0;
  if (here && from !== state.side) {
    const twin = here.blocks.map((b) => (name === "after" ? b.now : b.was)).find(Boolean);
    n = twin ? twin.message.n : Math.min(here.n, state.side.messages.length - 1);
  }
  makeFilters();
  makeHeadline();
  makeLegend();
  state.list.items = [];
  applyFilter(false);
  if (state.moved && state.position.has(n)) go(state.position.get(n), true, true);
  say("the conversation " + name + " the plan, " + plural(state.side.messages.length, "message"));
}

// showThread shows a talk of the session that is not sent, or the one that is.
function showThread(name) {
  const { doc } = state;
  state.side = doc.others.find((o) => o.name === name) || doc.before;
  state.open.clear();
  Object.assign(state, { at: 0, moved: false });
  readLong();
  makeFilters();
  makeHeadline();
  makeLegend();
  state.list.items = [];
  applyFilter(false);
  if (state.side.other) say("the thread " + name + ", " + (state.side.what || "which is not sent") + ": " + plural(state.side.messages.length, "message"));
}

// readLong keeps the exchanges whose halves may be on different screens.
function readLong() {
  const { side } = state;
  state.long = [];
  for (const x of side.exchanges) {
    if (x.call < 0 || !x.results.length) continue;
    const from = side.blocks[x.call].message.n, to = side.blocks[x.results.at(-1)].message.n;
    if (Math.abs(to - from) > 1) state.long.push({ exchange: x, from: Math.min(from, to), to: Math.max(from, to) });
  }
}

function clearFilters() {
  for (const id of ["by-role", "by-tool", "by-thread"]) $(id).value = "";
  for (const id of ["only-faults", "only-changes"]) $(id).setAttribute("aria-pressed", "false");
  if (state.side.other) return showThread("");
  applyFilter();
}

function listen() {
  listenToKeys();
  $("theme").addEventListener("click", nextTheme);
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  $("clear").addEventListener("click", () => {
    $("find").value = "";
    search("");
    clearFilters();
  });
  for (const id of ["by-role", "by-tool"]) $(id).addEventListener("change", () => applyFilter());
  $("by-thread").addEventListener("change", () => (state.doc.others.length ? showThread($("by-thread").value) : applyFilter()));
  for (const id of ["only-faults", "only-changes"]) {
    $(id).addEventListener("click", () => {
      $(id).setAttribute("aria-pressed", !pressed(id));
      applyFilter();
    });
  }
  for (const radio of document.querySelectorAll("#sides input")) radio.addEventListener("change", () => showSide(radio.value));
  let typing = 0;
  $("find").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => search($("find").value), 150);
  });
  $("find-next").addEventListener("click", () => stepHit(1));
  $("find-prev").addEventListener("click", () => stepHit(-1));
  const list = $("list");
  list.addEventListener("focusin", (e) => {
    const row = e.target.closest(".message");
    if (row && row.index !== state.at) go(row.index, false, true);
  });
  list.addEventListener("pointerover", (e) => {
    const block = e.target.closest(".block");
    state.over = block ? Number(block.dataset.block) : -1;
    lightArcs();
  });
  list.addEventListener("pointerleave", () => {
    state.over = -1;
    lightArcs();
  });
  $("back").hidden = !state.doc.back;
  $("back").addEventListener("click", () => location.assign("../"));
  $("open-all").addEventListener("click", openAll);
  const tip = (e) => {
    const b = e.target.closest?.("[data-tip]");
    if (!b || b.getAttribute("aria-expanded") === "true") return hideTip();
    const box = b.getBoundingClientRect();
    showTip(b.dataset.tip, box.left + box.width / 2, box.bottom);
  };
  document.addEventListener("pointerover", (e) => !e.target.closest(".track") && tip(e));
  document.addEventListener("focusin", tip);
  addEventListener("scroll", hideTip, { passive: true });
  addEventListener("resize", () => drawStrips());
  // Beside the conversation the overview is always open; above it, on request.
  const narrow = matchMedia("(max-width: 64rem)");
  const fold = () => ($("overview").open = !narrow.matches);
  narrow.addEventListener("change", fold);
  fold();
  const stick = document.querySelector(".stick");
  new ResizeObserver(() => document.documentElement.style.setProperty("--stick", stick.offsetHeight + "px")).observe(stick);
}

// follow listens to the server that the page came from, if it did.
function follow(version) {
  document.documentElement.dataset.live = "on";
  const events = new EventSource("events?seen=" + encodeURIComponent(version));
  events.addEventListener("change", async () => {
    const data = await (await fetch("data.json")).json();
    if (data.problem) return say("the file cannot be read at the moment: " + data.problem);
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
    show(data, true);
    if (atEnd) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    say("the file has changed: " + plural(state.side.messages.length, "message"));
  });
  events.addEventListener("error", () => say("the server is gone; this is the last that was read"));
}

// show brings up a conversation, the first one or a newer state of the same.
function show(data, again) {
  const name = again && data.after ? state.side.name : "before";
  state.doc = data; // the names of models are looked up while it is read
  state.doc = read(data);
  state.side = state.doc[name];
  state.full.clear();
  state.why.clear();
  readLong();
  makeFilters();
  makeHeadline();
  makeLegend();
  makeStrips();
  applyFilter(again, false);
}

function start() {
  startTheme(() => { if (state.doc) drawStrips(); });
  state.list = new List($("canvas"), $("list"), {
    make: makeRow, guess: guessRow,
    drawn: (changed) => {
      if (changed) {
        drawArcs();
        paintHits();
      }
      drawLens();
      reach();
    },
  });
  const data = $("data");
  show(JSON.parse(data.textContent));
  const version = data.dataset.version;
  data.remove();
  listen();
  if (version) follow(version);
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.ready = Math.round(performance.now());
  }));
}

start();
