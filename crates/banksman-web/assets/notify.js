// A notification while the page is out of sight: how many wait, and nothing that an agent wrote. Permission is asked for by
// a button, never by itself.
const ON = "banksman-notify";

const allowed = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(ON) !== null;

export const tell = (pending) => {
  if (!allowed() || document.visibilityState === "visible") return;
  const words = pending === 1 ? "One action is waiting" : `${pending} actions are waiting`;
  const note = new Notification("Banksman", { body: words, tag: "banksman", icon: "/assets/icon.svg" });
  note.onclick = () => { window.focus(); note.close(); };
};

const show = (button, state) => {
  button.textContent = allowed() ? "Turn notifications off" : "Turn notifications on";
  state.textContent = !("Notification" in window) ? "This browser has none."
    : Notification.permission === "denied" ? "The browser forbids them for this page." : allowed() ? "They are on." : "They are off.";
};

export const notifySettings = () => {
  const button = document.querySelector("[data-notify]"), state = document.querySelector("[data-notify-state]");
  if (!button || !state) return;
  show(button, state);
  button.addEventListener("click", async () => {
    if (allowed()) localStorage.removeItem(ON);
    else if ("Notification" in window && await Notification.requestPermission() === "granted") localStorage.setItem(ON, "yes");
    show(button, state);
  });
};

export const copying = () => {
  document.querySelectorAll("[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("[data-command]").textContent);
    button.firstChild.textContent = "Copied";
  }));
};
