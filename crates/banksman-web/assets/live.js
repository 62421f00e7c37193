// What the server's news mean for the page. A card that is no longer what it shows loses its buttons and says why, in a line that was
// there from the start; new actions are announced over the page. Nothing under a finger moves.
import { share } from "./line.js";
import { tell } from "./notify.js";

const words = {
  authorised: "Approved", denied: "Denied", expired: "Expired: nobody decided in time", cancelled: "Withdrawn",
  blocked: "Blocked", executing: "Running", succeeded: "It ran", failed: "It failed", unknown: "No outcome came",
  lapsed: "Lapsed", revoked: "Taken back",
};

export const close = (card, why) => {
  card.classList.add("stale");
  card.querySelectorAll("button, input, textarea, select").forEach((control) => { control.disabled = true; });
  card.querySelectorAll("[data-changed]").forEach((line) => { line.textContent = why; });
};

const announce = (text) => {
  const pill = document.getElementById("live");
  pill.querySelector("[data-live-words]").textContent = text;
  pill.hidden = false;
};

const count = (pending) => {
  document.querySelectorAll("[data-count]").forEach((badge) => { badge.textContent = String(pending); });
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = pending > 0 ? `(${pending}) ${title}` : title;
};

const hear = (news, fresh) => {
  count(news.pending);
  if (news.kind === "proposed" && news.status === "pending") tell(news.pending);
  const card = news.action && document.querySelector(`[data-action="${CSS.escape(news.action)}"]`);
  if (card) {
    if (card.classList.contains("stale")) return;
    const by = news.by ? ` by ${news.by}` : "";
    if (news.status !== "pending" && card.querySelector("button, input, [data-changed]")) close(card, `${words[news.status] ?? news.status}${by}, just now.`);
    else if (String(news.version) !== card.dataset.version) close(card, `Edited${by}: it is now version ${news.version}. Load the page again to see it.`);
    else if (news.kind === "decided") card.querySelectorAll("[data-changed]").forEach((line) => { line.textContent = `Approved${by}; more people are needed.`; });
  } else if (news.kind === "proposed" && news.status === "pending" && document.querySelector("[data-search]")) {
    fresh.add(news.action);
    announce(fresh.size === 1 ? "One new action" : `${fresh.size} new actions`);
  }
};

// Over the page, as what is new: nothing moves.
const sayWhether = (isLive) => {
  document.getElementById("line").hidden = isLive;
};

export const listen = (since) => {
  const fresh = new Set();
  share(Number(since), (news) => hear(news, fresh), sayWhether);
  // A page that answers a form says where it is read again. Loading it as it came would send the form once more, and a
  // decision that was refused might then take effect.
  const { here } = document.body.dataset;
  if (here) history.replaceState(null, "", here);
  const again = () => { if (here) location.replace(here); else location.reload(); };
  document.querySelectorAll("[data-reload]").forEach((button) => button.addEventListener("click", again));
  // A page that comes back from the browser's memory has heard nothing meanwhile.
  addEventListener("pageshow", (event) => { if (event.persisted) again(); });
};
