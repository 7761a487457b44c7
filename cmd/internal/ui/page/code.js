// Code is coloured by a small reader that knows strings, comments, numbers and words: enough for
// the eye, in any language. Whatever it says goes into text nodes.

const longestCode = 60_000; // beyond that it stays plain

const words = new Set(("abstract as async await bool boolean break byte case catch chan char class const continue def default defer del do double elif else end enum except export extends false finally float fn for foreach from func function go goto if impl implements import in int interface is lambda let long loop map match module mut new nil none null number object of or and not override package pass private protected pub public raise range readonly return select self short static str string struct super switch then this throw throws trait true try type typeof undefined union unsigned use using val var void when where while with yield " +
  "fi done esac echo export local " + "select from where insert update delete create table join left inner order group by limit values into set primary key").split(" "));

// tongues are the sorts of comments, by the endings of names and the names of fences.
const tongues = [
  { names: "py python rb ruby sh bash zsh shell console yaml yml toml conf ini pl r make makefile dockerfile tf", line: ["#"], block: [] },
  { names: "sql lua hs elm", line: ["--"], block: [["/*", "*/"]] },
  { names: "html xml svg vue md markdown", line: [], block: [["<" + "!--", "-->"]] },
  { names: "json jsonl", line: [], block: [] },
  { names: "go js mjs cjs jsx ts tsx java c h cc cpp hpp cs rs rust swift kt scala php css scss less dart zig proto javascript typescript golang", line: ["//"], block: [["/*", "*/"]] },
];

// tongueOf finds the sort of a name or of an ending; null: it is no code that is known.
function tongueOf(name) {
  const ending = String(name || "").toLowerCase().split(/[\/\\.]/).pop();
  return tongues.find((t) => (t.set ||= new Set(t.names.split(" "))).has(ending)) || null;
}

// paintCode puts code into an element, in pieces with a class each.
function paintCode(box, text, tongue) {
  if (!tongue || text.length > longestCode) return void box.append(text);
  let from = 0, i = 0;
  const put = (to, className) => {
    if (to > from) box.append(className ? element("span", className, text.slice(from, to)) : text.slice(from, to));
    from = to;
  };
  while (i < text.length) {
    const c = text[i];
    let end = -1, className = "";
    const line = tongue.line.find((s) => text.startsWith(s, i)), block = tongue.block.find(([s]) => text.startsWith(s, i));
    if (block) {
      end = text.indexOf(block[1], i + block[0].length);
      end = end < 0 ? text.length : end + block[1].length;
      className = "c-note";
    } else if (line && (line !== "#" || i === 0 || /\s/.test(text[i - 1]))) {
      end = text.indexOf("\n", i);
      if (end < 0) end = text.length;
      className = "c-note";
    } else if (c === '"' || c === "`" || (c === "'" && !/\w/.test(text[i - 1] || " "))) {
      end = i + 1;
      while (end < text.length && text[end] !== c && (c === "`" || text[end] !== "\n")) end += text[end] === "\\" ? 2 : 1;
      end = Math.min(text.length, end + 1);
      className = "c-text";
    } else if (/[A-Za-z_$]/.test(c)) {
      end = i + 1;
      while (end < text.length && /[\w$]/.test(text[end])) end++;
      const word = text.slice(i, end);
      className = words.has(word) || words.has(word.toLowerCase()) && word === word.toUpperCase() ? "c-word" : text[end] === "(" ? "c-call" : "";
    } else if (/[0-9]/.test(c)) {
      end = i + 1;
      while (end < text.length && /[\w.]/.test(text[end])) end++;
      className = "c-number";
    }
    if (end < 0) {
      i++;
      continue;
    }
    if (className) {
      put(i);
      put(end, className);
    }
    i = end;
  }
  put(text.length);
}

// codeBlock is code in a box of its own, with what it is called on top.
function codeBlock(text, tongue, title, className) {
  const box = element("div", "codebox" + (className ? " " + className : ""));
  if (title) box.append(element("div", "codebox-title", title));
  const pre = element("pre", "code");
  pre.tabIndex = 0;
  pre.setAttribute("aria-label", title || "code");
  pre.setAttribute("role", "group");
  paintCode(pre, text, tongue);
  box.append(pre);
  return box;
}

// diffLines compares two texts line by line: pairs of a sign and a line.
function diffLines(before, after) {
  const a = before === "" ? [] : before.split("\n"), b = after === "" ? [] : after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out = a.slice(0, head).map((l) => [" ", l]);
  const p = a.slice(head, a.length - tail), q = b.slice(head, b.length - tail);
  if (p.length * q.length > 250_000) out.push(...p.map((l) => ["−", l]), ...q.map((l) => ["+", l]));
  else out.push(...longest(p, q));
  out.push(...a.slice(a.length - tail).map((l) => [" ", l]));
  return out;
}

// longest follows the longest common subsequence.
function longest(p, q) {
  const w = q.length + 1, most = new Uint16Array((p.length + 1) * w), out = [];
  for (let i = p.length - 1; i >= 0; i--) {
    for (let j = q.length - 1; j >= 0; j--) most[i * w + j] = p[i] === q[j] ? most[(i + 1) * w + j + 1] + 1 : Math.max(most[(i + 1) * w + j], most[i * w + j + 1]);
  }
  let i = 0, j = 0;
  while (i < p.length || j < q.length) {
    if (i < p.length && j < q.length && p[i] === q[j]) out.push([" ", p[i++]]), j++;
    else if (j >= q.length || (i < p.length && most[(i + 1) * w + j] >= most[i * w + j + 1])) out.push(["−", p[i++]]);
    else out.push(["+", q[j++]]);
  }
  return out;
}

// diffBlock draws lines with their signs.
function diffBlock(lines, title) {
  const box = element("div", "codebox diff");
  if (title) box.append(element("div", "codebox-title", title));
  const pre = element("pre", "code");
  pre.tabIndex = 0;
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", title ? "changes to " + title : "changes");
  const tongue = tongueOf(title);
  for (const [sign, line] of lines) {
    const row = element("span", sign === "+" ? "d-in" : sign === "−" ? "d-out" : sign === "@" ? "d-at" : "d-same");
    row.append(element("span", "d-sign", sign === "@" ? " " : sign), " ");
    if (sign === "@") row.append(line);
    else paintCode(row, line, tongue);
    row.append("\n");
    pre.append(row);
  }
  box.append(pre);
  return box;
}

// patchLines reads a patch, of git or of apply_patch.
function patchLines(text) {
  return text.split("\n").map((l) => (/^(@@|\*\*\* |diff |index |--- |\+\+\+ )/.test(l) ? ["@", l] : l[0] === "+" ? ["+", l.slice(1)] : l[0] === "-" ? ["−", l.slice(1)] : [" ", l.replace(/^ /, "")]));
}
