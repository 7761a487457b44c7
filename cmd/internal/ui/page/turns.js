// A turn begins where a person speaks, and ends where the next one begins.

const day = (ms) => new Date(ms).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clock = (ms, seconds) => new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) });
const dollars = (d) => "$" + (d === 0 ? "0" : d < 0.01 ? d.toFixed(4) : d < 100 ? d.toFixed(2) : count.format(Math.round(d)));

// lasting says how long something took.
function lasting(ms) {
  if (ms < 10_000) return (ms / 1000).toFixed(1) + " s";
  if (ms < 100_000) return Math.round(ms / 1000) + " s";
  if (ms < 90 * 60_000) return Math.round(ms / 60_000) + " min";
  if (ms < 48 * 3_600_000) return Math.floor(ms / 3_600_000) + " h " + Math.round((ms % 3_600_000) / 60_000) + " min";
  return Math.round(ms / 86_400_000) + " days";
}

// wordsOf is what a person says in a message; "": only programs speak in it.
function wordsOf(m) {
  if (m.role !== "user" || m.summary) return "";
  for (const b of m.blocks) {
    if (b.kind !== "text") continue;
    const text = b.text.slice(0, 4000).replace(/<(system-reminder|environment_context|ide_[a-z_]+)>[\s\S]*?(<\/\1>|$)/g, "").trim();
    if (!text || /^(<[a-z][\w-]*>|Caveat:|# AGENTS\.md|\[Request interrupted|This session is being continued)/.test(text)) continue;
    return text.replace(/\s+/g, " ").slice(0, 200);
  }
  return "";
}

// readTurns finds the turns of a side, with what each took and cost.
function readTurns(side) {
  side.turns = [];
  let turn = null, before = 0;
  const sums = { replies: 0, input: 0, read: 0, written: 0, output: 0, dollars: 0, unpriced: 0, models: new Map() };
  for (const m of side.messages) {
    const words = wordsOf(m);
    if (words) side.turns.push((turn = { n: side.turns.length + 1, message: m.n, words, start: m.time || 0, end: m.time || 0, calls: 0, tokens: 0, dollars: 0, replies: 0, messages: 0, models: new Set() }));
    m.turn = turn;
    m.begins = Boolean(words);
    if (m.time && before) m.since = m.time - before;
    if (m.time) before = m.time;
    if (turn) {
      turn.messages++;
      turn.tokens += m.tokens;
      turn.calls += m.blocks.filter((b) => b.type === "call").length;
      if (m.time) turn.end = m.time;
      if (m.model) turn.models.add(m.model);
    }
    if (!m.usage) continue;
    const { input = 0, read = 0, written = 0, output = 0 } = m.usage;
    sums.replies++;
    sums.input += input;
    sums.read += read;
    sums.written += written;
    sums.output += output;
    sums.dollars += m.dollars || 0;
    if (!m.dollars) sums.unpriced++;
    const name = m.model || state.doc?.model || "";
    const of = sums.models.get(name) || { replies: 0, dollars: 0 };
    sums.models.set(name, { replies: of.replies + 1, dollars: of.dollars + (m.dollars || 0) });
    if (turn) {
      turn.dollars += m.dollars || 0;
      turn.replies++;
    }
  }
  side.spent = sums.replies ? sums : null;
  const times = side.messages.map((m) => m.time).filter(Boolean);
  side.from = times.length ? Math.min(...[times[0], times.at(-1)]) : 0;
  side.to = times.length ? Math.max(...[times[0], times.at(-1)]) : 0;
}

// turnFacts are what a turn took, for its row and its entry.
function turnFacts(t) {
  return [t.end > t.start ? lasting(t.end - t.start) : "", t.calls ? plural(t.calls, "call") : "", t.dollars ? dollars(t.dollars) : ""].filter(Boolean);
}

// makeTurns lists what the person said, to jump by.
function makeTurns() {
  const { turns } = state.side;
  if (turns.length < 2) return null;
  const list = element("ol", "places turns");
  list.setAttribute("role", "list");
  for (const t of turns.slice(0, 500)) {
    const b = button("place", "", () => goMessage(t.message));
    const what = element("span", "what");
    what.append(element("span", "words", t.words.length > 90 ? t.words.slice(0, 89) + "…" : t.words));
    const facts = [t.start ? clock(t.start) : "", ...turnFacts(t)].filter(Boolean);
    if (facts.length) what.append(" ", element("small", "muted", facts.join(" · ")));
    b.append(element("span", "where", t.n), what);
    const li = element("li");
    li.append(b);
    list.append(li);
  }
  const s = section("Turns " + count.format(turns.length), list);
  if (turns.length > 500) s.append(element("p", "muted", "and " + count.format(turns.length - 500) + " more"));
  return s;
}

// makeSpent says what the API has counted and billed.
function makeSpent() {
  const { spent } = state.side;
  if (!spent) return null;
  const list = element("dl", "details");
  const add = (name, value) => list.append(element("dt", "", name), element("dd", "", value));
  if (spent.dollars) add("money", dollars(spent.dollars) + (spent.unpriced ? ", without " + plural(spent.unpriced, "reply").replace("replys", "replies") + " whose price is not known" : ""));
  add("replies", count.format(spent.replies));
  add("from the cache", brief(spent.read) + " tokens");
  add("into the cache", brief(spent.written) + " tokens");
  add("plain input", brief(spent.input) + " tokens");
  add("output", brief(spent.output) + " tokens");
  if (spent.models.size > 1) for (const [name, m] of spent.models) add(name || "no model", plural(m.replies, "reply").replace("replys", "replies") + (m.dollars ? ", " + dollars(m.dollars) : ""));
  return section("What the API counted", list);
}
