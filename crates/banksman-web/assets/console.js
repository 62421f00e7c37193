// The pages work without any of this. It makes them live: countdowns, news, keys.
import { countDown } from "./countdown.js";
import { listen } from "./live.js";
import { keys } from "./keys.js";
import { notifySettings, copying } from "./notify.js";
import { passkeys } from "./passkey.js";

document.documentElement.classList.add("scripts");
countDown();
keys();
notifySettings();
copying();
passkeys();
if (document.body.dataset.newest !== undefined) listen(document.body.dataset.newest);
