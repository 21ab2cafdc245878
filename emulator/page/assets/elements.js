// Making elements. Text from jobs and records only ever becomes text: nothing here takes HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes and children; strings become text. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element with attributes and children; strings become text. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Replace the children of an element; what has the focus within it keeps it, if something has the same label again. */
export function refill(element, ...children) {
  const label = element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  element.replaceChildren(...children.filter((child) => child !== null));
  if (label === null) return;
  const again = [...element.querySelectorAll("[aria-label]")].find((each) => each.getAttribute("aria-label") === label);
  again?.focus({ preventScroll: true });
}

/** Set an element's text, if it is another. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A table: `columns` are [title, class], `rows` are arrays of cells (text or elements). */
export function table(columns, rows, chosen = () => false) {
  const head = html("tr", {}, ...columns.map(([title, kind]) => html("th", { scope: "col", class: kind }, title)));
  const body = rows.map((cells, index) =>
    html(
      "tr",
      { class: chosen(index) ? "chosen" : null },
      ...cells.map((cell, column) => {
        const kind = columns[column][1];
        const title = kind === "text" && typeof cell === "string" ? cell : null;
        return html("td", { class: kind, title }, cell);
      }),
    ),
  );
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...body));
}

export const element = (identity) => document.getElementById(identity);
