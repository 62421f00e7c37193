// One line to the server for all tabs of this browser: it keeps six to a host at the most, so that a seventh tab would hang.
// Whoever holds the lock listens and tells the others; when that tab goes, the next one goes on.
const NAME = "banksman-live";
// How much of the past a tab that comes late can be told without asking the server again.
const KEPT = 500;
// How long the line may be away before the page says so.
const PATIENCE = 10_000;

// The server lets hear of itself every 15 seconds at the least: a line that is silent for longer is dead, though nobody said so.
const SILENCE = 35_000;

// The server's news behind a place. The browser tries again by itself, unless the server refuses; a line that fell silent is
// dialled anew.
const dial = (since, take, live) => {
  let source, waiting, silent, place = since;
  const heard = () => {
    clearTimeout(silent);
    silent = setTimeout(() => { live(false); open(); }, SILENCE);
  };
  const open = () => {
    source?.close();
    source = new EventSource(`/live?since=${place}`);
    source.onopen = () => { clearTimeout(waiting); waiting = undefined; live(true); };
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) { clearTimeout(silent); live(false); }
      else waiting ??= setTimeout(() => live(false), PATIENCE);
    };
    source.addEventListener("beat", heard);
    source.onmessage = (message) => {
      heard();
      place = Number(message.lastEventId);
      take({ seq: place, news: JSON.parse(message.data) });
    };
    heard();
  };
  open();
  return () => { clearTimeout(waiting); clearTimeout(silent); source.close(); };
};

// The tab that listens for all. It answers those that come later with what they missed.
const lead = (since, channel, take, live) => {
  let from = since, kept = [], isLive = true;
  const hear = (item) => {
    kept.push(item);
    if (kept.length > KEPT) from = kept.shift().seq;
    channel.postMessage({ item });
    take(item);
  };
  const say = (now) => { isLive = now; channel.postMessage({ live: now }); live(now); };
  let hangUp = dial(from, hear, say);
  channel.postMessage({ leads: true });
  return {
    hangUp: () => hangUp(),
    answer: ({ asker, since: place }) => {
      // What it missed is no longer here: the server tells all of it again, and everyone else knows it already.
      if (place < from) {
        hangUp();
        [from, kept] = [place, []];
        hangUp = dial(from, hear, say);
      }
      channel.postMessage({ to: asker, items: kept.filter((item) => item.seq > place), live: isLive });
    },
  };
};

// Hears every piece of news behind a place once, in order, over whichever tab's line.
export const share = (since, hear, live) => {
  let seen = since;
  const take = ({ seq, news }) => { if (seq > seen) { seen = seq; hear(news); } };
  // Browsers give locks to secure pages only; elsewhere each tab has a line of its own.
  if (!navigator.locks) {
    addEventListener("pagehide", dial(seen, take, live));
    return;
  }
  const channel = new BroadcastChannel(NAME), me = crypto.randomUUID();
  let leader = null, isCaughtUp = false;
  // Until what was missed is here, what is new would hide it.
  const ask = () => { isCaughtUp = false; channel.postMessage({ asker: me, since: seen }); };
  channel.onmessage = ({ data }) => {
    if (data.item && isCaughtUp) take(data.item);
    if (data.to === me) { isCaughtUp = true; data.items.forEach(take); }
    if (data.live !== undefined && !leader) live(data.live);
    if (data.leads) ask();
    if (data.asker) leader?.answer(data);
  };
  const leaving = new AbortController();
  addEventListener("pagehide", () => { leaving.abort(); channel.close(); });
  navigator.locks.request(NAME, { signal: leaving.signal }, () => new Promise((release) => {
    leader = lead(seen, channel, take, live);
    leaving.signal.addEventListener("abort", () => { leader.hangUp(); release(); });
  })).catch(() => {});
  ask();
};
