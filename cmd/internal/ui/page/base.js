// What every page of Pare needs: elements, numbers, colours.

const $ = (id) => document.getElementById(id);
const count = new Intl.NumberFormat("en-US");
const plural = (n, noun) => count.format(n) + " " + noun + (n === 1 ? "" : "s");

// brief writes a number of tokens in at most four signs.
function brief(n) {
  if (n < 1000) return String(n);
  if (n < 9950) return (n / 1000).toFixed(1) + "k";
  if (n < 999500) return Math.round(n / 1000) + "k";
  return (n / 1e6).toFixed(1) + "M";
}

// element makes an element; text becomes a text node, whatever it says.
function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function button(className, text, onclick) {
  const b = element("button", className, text);
  b.type = "button";
  b.addEventListener("click", onclick);
  return b;
}

let repaint = () => {};
const themes = ["auto", "light", "dark"];

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[name];
  $("theme").setAttribute("aria-label", "Theme: " + { auto: "◐ Auto, as the system", light: "○ Light", dark: "● Dark" }[name]);
  try {
    localStorage.setItem("pare-theme", name);
  } catch {
    // a file may not remember
  }
  repaint();
}

function nextTheme() {
  setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]);
}

// startTheme takes the colours that were chosen last. redraw is called when they change: a
// canvas does not follow by itself.
function startTheme(redraw) {
  repaint = redraw;
  let name = "auto";
  try {
    name = localStorage.getItem("pare-theme") || name;
  } catch {
    // a file may not remember
  }
  setTheme(themes.includes(name) ? name : "auto");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}
