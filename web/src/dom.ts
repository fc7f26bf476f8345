// Elements without a framework.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

/** An element with attributes, listeners (`onclick`) and children; text is always text. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key.replace(/^on/, ""), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return node;
}

/** A drop-down; `change` is called with the chosen value, at once for the first time. */
export function chooser(
  label: string,
  options: readonly { value: string; label: string }[],
  selected: string,
  change: (value: string) => void,
): HTMLElement {
  const select = element("select", { onchange: () => change(select.value) });
  for (const option of options) {
    select.append(element("option", { value: option.value, selected: option.value === selected }, option.label));
  }
  select.value = selected;
  change(select.value);
  return element("label", { class: "chooser" }, element("span", {}, label), select);
}

/** A titled part of the page that the navigation leads to. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  return element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title` }, title), ...children);
}

/** Stays in sight, and with it what has to be known of everything on the page. */
export function navigation(sections: readonly HTMLElement[], warning?: string): HTMLElement {
  const links = sections.map((section) => element("a", { href: `#${section.id}` }, section.querySelector("h2")?.textContent));
  return element("nav", { "aria-label": "Parts of this page" }, warning !== undefined && element("strong", {}, warning), ...links);
}
