// Single keys move to a control; Enter presses it. They can be turned off, and are off while someone types.
const OFF = "banksman-keys-off";

const cards = () => [...document.querySelectorAll("[data-open]")];

const move = (step) => {
  const all = cards();
  if (all.length === 0) return;
  const here = all.findIndex((link) => link.closest("[data-action]").contains(document.activeElement));
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, here + step));
  all[next].focus();
};

// Within the card that has the focus, or on the page of one action.
const within = (selector) => {
  const card = document.activeElement?.closest("[data-action]");
  return card?.querySelector(selector) ?? (cards().length === 0 ? document.querySelector(selector) : null);
};

const goTo = (selector) => {
  const control = within(selector) ?? within("[data-open]");
  control?.scrollIntoView({ block: "nearest" });
  control?.focus();
  // In a batch it is a choice, which decides nothing by itself.
  if (control?.type === "radio") control.click();
};

const does = {
  j: () => move(1),
  k: () => move(-1),
  o: () => within("[data-open]")?.click(),
  a: () => goTo("[data-approve]"),
  d: () => goTo("[data-deny]"),
  r: () => goTo("[data-respond]"),
  s: () => document.querySelector("[data-submit]")?.focus(),
  e: () => within("[data-edit]")?.click(),
  i: () => location.assign("/"),
  "/": () => document.querySelector("[data-search]")?.focus(),
  "?": () => document.getElementById("help")?.showModal(),
};

const isTyping = (target) => target.matches("input:not([type=radio], [type=checkbox]), textarea, select") || target.isContentEditable;

export const keys = () => {
  const switches = [...document.querySelectorAll("[data-keys-off]")];
  if (switches.length === 0) return;
  const isOff = () => localStorage.getItem(OFF) !== null;
  const show = () => switches.forEach((box) => { box.checked = isOff(); });
  switches.forEach((box) => box.addEventListener("change", () => {
    if (box.checked) localStorage.setItem(OFF, "yes"); else localStorage.removeItem(OFF);
    show();
  }));
  show();
  document.querySelector("[data-help]")?.addEventListener("click", does["?"]);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
    if (isOff() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.getElementById("help")?.open) return;
    const act = does[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });
};

// A decision is made by a button, not by Enter in a field beside it.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches?.('form[action="/decide"] input')) event.preventDefault();
});
