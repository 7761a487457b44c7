// What is shown, with the numbers and links that drawing needs. A side is the
// conversation before or after the plan.

// actions are what a plan does: the word and the sign for it.
const actions = {
  drop: { word: "dropped", sign: "✕" },
  edit: { word: "edited", sign: "✎" },
  archive: { word: "archived", sign: "✎" },
  insert: { word: "inserted", sign: "+" },
  move: { word: "moved", sign: "↕" },
  rename: { word: "renamed", sign: "≔" },
  merge: { word: "merged", sign: "⋃" },
};

// kinds are what fills the window, in the order of the legend.
const kinds = {
  head: { word: "system prompt and tools" },
  unseen: { word: "system prompt and tools, not in the file" },
  system: { word: "system" },
  user: { word: "user" },
  assistant: { word: "assistant" },
  thinking: { word: "thinking" },
  call: { word: "calls" },
  result: { word: "results" },
  media: { word: "pictures and files" },
  compaction: { word: "compaction" },
  other: { word: "other" },
  marks: { word: "message overhead" },
};

// whoSpeaks is the role, but for results: to people that is the tool, whoever has to send them.
function whoSpeaks(m) {
  return m.role === "user" && m.blocks.length && m.blocks.every((b) => b.kind === "result" || b.kind === "server result") ? "tool" : m.role;
}

// kindOf sorts a block by what it is and, for texts, by who speaks.
function kindOf(block, role) {
  switch (block.kind) {
    case "call": case "server call": return "call";
    case "result": case "server result": return "result";
    case "thinking": case "media": case "compaction": return block.kind;
    case "text": return role in kinds ? role : role === "tool" ? "result" : "other";
  }
  return "other";
}

// edited says in one word what an edit did to a block.
function edited(block, now) {
  if (!now) return "edited";
  const text = now.text;
  if (text.length >= block.text.length) return "edited";
  if (text.includes("[pare: ")) return "cleared";
  return block.text.startsWith(text.slice(0, 40)) ? "shortened" : "edited";
}

// read turns the data into what is drawn.
function read(data) {
  const doc = { ...data, changes: data.changes || [], kept: data.kept || [] };
  doc.before = readSide(doc.before, "before");
  doc.after = doc.after ? readSide(doc.after, "after", doc.before) : null;
  doc.others = (doc.others || []).map((o) => Object.assign(readSide(o, o.name), { other: true }));
  for (const [i, c] of doc.changes.entries()) {
    c.n = i;
    const now = c.block >= 0 && doc.after ? doc.before.blocks[c.block].now : null;
    c.word = (c.action === "edit" || c.action === "archive") && c.block >= 0 ? edited(doc.before.blocks[c.block], now) : (actions[c.action] || { word: c.action }).word;
    place(doc.before, c, c.message, c.block);
  }
  if (doc.after) placeAfter(doc);
  for (const b of doc.others.flatMap((o) => o.blocks)) b.fates = [];
  for (const b of doc.before.blocks) b.fates = fates(b.changes, b.message.changes);
  for (const b of doc.after?.blocks || []) b.fates = b.was ? fates(b.changes, b.was.message.changes.filter((c) => c.action !== "drop")) : ["insert"];
  return doc;
}

// fates are what becomes of a block: by changes of its own, and by those that take or
// move its whole message. What is inserted beside it does not change it.
function fates(own, whole) {
  const of = [...own.filter((c) => c.action !== "insert"), ...whole.filter((c) => c.action === "drop" || c.action === "move" || c.action === "merge")];
  return [...new Set(of.map((c) => c.action))];
}

function place(side, change, message, block) {
  if (block >= 0) side.blocks[block].changes.push(change);
  else if (message >= 0) side.messages[message].changes.push(change);
  else side.changes.push(change);
}

// placeAfter shows each change at what came of it; what was dropped is gone.
function placeAfter(doc) {
  for (const b of doc.after.blocks) {
    const added = b.change ? doc.changes[b.change - 1] : null;
    if (!b.was) {
      b.changes.push(added || { action: "insert", word: "inserted", rule: "", reason: "it came with the changes around it", tokens: b.tokens, n: -1 });
      continue;
    }
    b.changes = b.was.changes.filter((c) => c.action !== "drop" && c.action !== "insert");
    const first = b.was.message.blocks[0] === b.was;
    if (first) b.message.changes.push(...b.was.message.changes.filter((c) => c.action !== "insert"));
  }
  doc.after.changes = doc.before.changes.filter((c) => c.action !== "insert");
}

function readSide(side, name, before) {
  side.name = name;
  side.head ||= [];
  side.exchanges ||= [];
  side.faults ||= [];
  side.changes = [];
  side.blocks = [];
  const taken = (kind) => side.head.reduce((n, p) => n + (p.kind === kind ? p.tokens : 0), 0);
  side.heads = { head: taken("head"), unseen: taken("unseen"), marks: taken("marks") };
  let sum = side.heads.head + side.heads.unseen;
  for (const [i, m] of side.messages.entries()) {
    Object.assign(m, { n: i, who: whoSpeaks(m), changes: [], faults: [], start: sum, first: side.blocks.length });
    for (const b of m.blocks) {
      Object.assign(b, { n: side.blocks.length, message: m, type: kindOf(b, m.role), changes: [], faults: [], exchange: null, start: sum });
      if (before && b.from) {
        b.was = before.blocks[b.from - 1];
        b.was.now = b;
        if (b.same) b.text = b.was.text;
      }
      b.text ||= "";
      sum += b.tokens;
      side.blocks.push(b);
    }
    m.tokens = sum - m.start;
  }
  side.tokens = sum + side.heads.marks; // what is around the messages stands behind them
  for (const [i, x] of side.exchanges.entries()) {
    x.n = i;
    x.broken = !(x.state === "whole" || x.state === "open");
    for (const b of [x.call, ...x.results]) if (b >= 0) side.blocks[b].exchange = x;
    if (x.call >= 0) for (const r of x.results) side.blocks[r].tool ||= side.blocks[x.call].tool;
  }
  for (const [i, f] of side.faults.entries()) {
    f.n = i;
    if (f.block >= 0) side.blocks[f.block].faults.push(f);
    else if (f.message >= 0) side.messages[f.message].faults.push(f);
  }
  readTurns(side);
  side.most = side.blocks.reduce((n, b) => Math.max(n, b.tokens), 1);
  return side;
}

const faulty = (m) => m.faults.length > 0 || m.blocks.some((b) => b.faults.length > 0);
const changed = (m) => m.changes.length > 0 || m.blocks.some((b) => b.changes.length > 0);
