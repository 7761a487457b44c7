// Long texts are cut: nobody reads a megabyte in a list, and no browser should have
// to lay it out before somebody asks.

const shortText = 400;
const longText = 6000;

// pretty indents JSON without reading it: numbers and escapes stay as they are.
function pretty(json) {
  let out = "", depth = 0, quoted = false;
  const line = () => "\n" + "  ".repeat(depth);
  for (let i = 0; i < json.length; i++) {
    const c = json[i];
    if (quoted) {
      out += c;
      if (c === "\\") out += json[++i] ?? "";
      else if (c === '"') quoted = false;
    } else if (c === '"') {
      quoted = true;
      out += c;
    } else if (c === "{" || c === "[") {
      const close = c === "{" ? "}" : "]";
      let j = i + 1;
      while (json[j] === " " || json[j] === "\n") j++;
      if (json[j] === close) {
        out += c + close;
        i = j;
      } else {
        depth++;
        out += c + line();
      }
    } else if (c === "}" || c === "]") {
      depth = Math.max(0, depth - 1);
      out += line() + c;
    } else if (c === ",") {
      out += c + line();
    } else if (c === ":") {
      out += ": ";
    } else if (c !== " " && c !== "\n" && c !== "\t" && c !== "\r") {
      out += c;
    }
  }
  return out;
}

// args is what the arguments of a call say, in one line: the values of its first
// members, which are the path, the command, the pattern.
function args(block) {
  if (block.line !== undefined) return block.line;
  let line = block.text;
  if (line.length < 200_000) {
    try {
      const value = JSON.parse(line);
      if (value && typeof value === "object" && !Array.isArray(value)) {
        line = Object.entries(value).map(([k, v]) => k + ": " + (typeof v === "string" ? v : JSON.stringify(v))).join("   ");
      }
    } catch {
      // shown as it stands
    }
  }
  return (block.line = line);
}

// excerpt is the part of a text that a closed row shows: its beginning, or where the
// search has found something.
function excerpt(text, found) {
  let from = 0;
  if (found) {
    const at = lower(text).indexOf(found);
    if (at > shortText / 2) from = at - 60;
  }
  let cut = text.slice(from, from + shortText);
  if (from > 0) cut = "…" + cut;
  if (from + shortText < text.length) cut += "…";
  return cut.replace(/\n{2,}/g, "\n").trim();
}

// lower folds case for the search, without changing where things stand: letters that
// change their length stay as they are.
function lower(text) {
  const folded = text.toLowerCase();
  return folded.length === text.length ? folded : text.replace(/[A-Z]/g, (c) => c.toLowerCase());
}
