// What a call does, by the names of its arguments: an edit is shown as a difference, a command as
// a terminal, a file with its path. The names are those that agents use.

const names = {
  path: ["file_path", "path", "filePath", "filename", "absolute_path", "target_file", "notebook_path", "file"],
  command: ["command", "cmd", "script"],
  before: ["old_string", "oldString", "old_str", "oldText", "search"],
  after: ["new_string", "newString", "new_str", "newText", "replace"],
  content: ["content", "file_text", "contents"],
  patch: ["patch", "diff", "input"],
};

// deed is what a call does; null: nothing that is known.
function deed(b) {
  if (b.deed !== undefined) return b.deed;
  return (b.deed = b.type === "call" ? readDeed(b.text) : null);
}

function readDeed(text) {
  let value = null;
  if (text.includes("*** Begin Patch") && !/^\s*[{[]/.test(text)) return { patch: text };
  if (text.length < 2_000_000) {
    try {
      value = JSON.parse(text);
    } catch {
      return null;
    }
  }
  if (!value || typeof value !== "object" || Array.isArray(value)) return null;
  const get = (sort) => names[sort].map((n) => value[n]).find((v) => v !== undefined && v !== null);
  const string = (v) => (typeof v === "string" ? v : undefined);
  const d = { path: string(get("path")), rest: value };
  const command = get("command");
  if (Array.isArray(command)) d.command = command.join(" ");
  else d.command = string(command);
  // Editors of Anthropic's kind have a command that is a word.
  if (/^(view|create|str_replace|insert|undo_edit)$/.test(d.command || "")) d.command = undefined;
  const edits = Array.isArray(value.edits) ? value.edits : [value];
  d.edits = edits.map((e) => {
    const pick = (sort) => names[sort].map((n) => e?.[n]).find((v) => typeof v === "string");
    return [pick("before"), pick("after")];
  }).filter(([x, y]) => x !== undefined && y !== undefined);
  if (d.path && !d.edits.length) d.content = string(get("content"));
  const patch = string(get("patch"));
  if (patch && /^(\*\*\* Begin Patch|diff |--- |@@)/m.test(patch)) d.patch = patch;
  return d.path || d.command || d.patch ? d : null;
}

// clean takes the colours of a terminal out.
function clean(text) { return text.replace(/\u001b\[[0-9;?]*[ -\/]*[@-~]|\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)/g, ""); }

// deedLine says in one line what a call does; "": its arguments say it.
function deedLine(b) {
  const d = deed(b);
  if (!d) return "";
  if (d.command) return "$ " + d.command;
  if (d.patch) return (d.patch.match(/^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/m)?.[1] || d.path || "patch") + "   " + weight(patchLines(d.patch));
  if (d.edits.length) return (d.path || "") + "   " + weight(d.edits.flatMap(([x, y]) => diffLines(x, y)));
  if (d.content !== undefined) return d.path + "   " + plural(d.content.split("\n").length, "line");
  return "";
}

function weight(lines) {
  const n = (sign) => lines.filter(([s]) => s === sign).length;
  return "+" + n("+") + " −" + n("−");
}

// terminal is a command or what it printed.
function terminal(text, prompt) {
  const box = element("div", "codebox terminal"), pre = element("pre", "code");
  pre.tabIndex = 0;
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", prompt ? "command" : "output");
  if (prompt) pre.append(element("span", "prompt", "$ "));
  pre.append(clean(text));
  box.append(pre);
  return box;
}

// showCall draws what a call does; false: it is shown as its arguments.
function showCall(body, b, cut) {
  const d = deed(b);
  if (!d) return false;
  const shown = new Set(Object.values(names).flat().concat("edits"));
  if (d.command) {
    if (typeof d.rest.description === "string") body.append(element("p", "muted", d.rest.description));
    body.append(terminal(cut(d.command), true));
  } else if (d.patch) body.append(diffBlock(patchLines(cut(d.patch)), d.path || ""));
  else if (d.edits.length) for (const [x, y] of d.edits) body.append(diffBlock(diffLines(cut(x), cut(y)), d.path || ""));
  else if (d.content !== undefined) body.append(codeBlock(cut(d.content), tongueOf(d.path), d.path, "file"));
  else body.append(element("p", "path", d.path));
  const rest = Object.entries(d.rest || {}).filter(([k]) => !shown.has(k) && k !== "description");
  if (rest.length) {
    const line = rest.map(([k, v]) => k + ": " + (typeof v === "string" ? v : JSON.stringify(v))).join("   ");
    body.append(element("p", "muted args", line.slice(0, 2000)));
  }
  return true;
}

// showResult draws what a tool said, in the manner of what was asked for.
function showResult(body, b, text) {
  const call = b.exchange && b.exchange.call >= 0 ? state.side.blocks[b.exchange.call] : null;
  const d = call ? deed(call) : null;
  if (d?.command) return void body.append(terminal(text, false));
  if (d?.path && !d.edits?.length && d.content === undefined && !d.patch) {
    // Some agents number the lines of a file.
    const plain = /^\s*\d+[→\t]/.test(text) ? text.replace(/^\s*\d+[→\t]/gm, "") : text;
    return void body.append(codeBlock(plain, tongueOf(d.path), d.path, "file"));
  }
  if (/^(diff --git |--- \S+\n\+\+\+ )/.test(text)) return void body.append(diffBlock(patchLines(text), ""));
  if (/^\s*[{[]/.test(text) && text.length < longestCode) return void body.append(codeBlock(pretty(text), tongues[3], ""));
  body.append(element("div", "text full code", clean(text) || "(empty)"));
}

// showPictures puts the small pictures of a block below its words.
function showPictures(body, b) {
  if (!b.pictures?.length) return;
  const row = element("div", "pictures");
  for (const [i, src] of b.pictures.entries()) {
    if (!src.startsWith("data:image/jpeg;base64,")) continue; // those that Pare has drawn
    const img = element("img");
    img.setAttribute("src", src);
    img.alt = "picture " + (i + 1) + " of " + (b.tool || b.kind);
    img.addEventListener("load", () => state.list.soon());
    row.append(img);
  }
  body.append(row);
}
