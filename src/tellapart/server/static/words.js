// Texts and elements. Words of the researcher never become markup: a blank line is a paragraph, **bold** is bold, nothing else.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null));
  return made;
}

export function fill(text, values = {}) {
  return String(text).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export function paragraphs(text, values) {
  return fill(text, values)
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) =>
      element("p", {}, paragraph.split("**").map((piece, i) => (i % 2 ? element("strong", {}, piece) : piece)))
    );
}

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
