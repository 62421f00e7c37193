// Counts deadlines down, and closes what has expired under the reader's eyes.
import { close } from "./live.js";

const two = (number) => String(number).padStart(2, "0");

// The same words as the server writes, so that nothing jumps.
export const span = (seconds) => {
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60, rest = seconds % 60;
  if (days > 0) return `${days} d ${two(hours)} h`;
  if (hours > 0) return `${hours} h ${two(minutes)} min`;
  if (minutes > 0) return `${minutes} min ${two(rest)} s`;
  return `${rest} s`;
};

// The server's clock counts, not the reader's: how far apart they were when the page was made is taken off.
const apart = Date.now() - Number(document.body.dataset.now ?? Date.now());

const tick = (time) => {
  const exactly = Date.parse(time.dateTime) - (Date.now() - apart);
  const left = Math.max(0, Math.floor(exactly / 1000));
  const words = span(left);
  if (time.textContent !== words) time.textContent = words;
  time.classList.toggle("soon", left < 300);
  const card = time.closest("[data-action]");
  if (exactly <= 0 && card && !card.classList.contains("stale")) close(card, "Expired: nobody decided in time. It did not run.");
};

export const countDown = () => {
  const times = [...document.querySelectorAll("time[data-countdown]")];
  if (times.length === 0) return;
  const all = () => times.forEach(tick);
  all();
  setInterval(all, 1000);
};
