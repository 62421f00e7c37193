// The TypeScript SDK's client of era one: makes a call that is held for longer than it waits, and fetches the result.
// With PATIENCE_S it is told to wait for so long; without, it waits as it comes.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { DEFAULT_REQUEST_TIMEOUT_MSEC } from "@modelcontextprotocol/sdk/shared/protocol.js";

const { URL: url, TOKEN, TO, PATIENCE_S, HELD_S } = process.env;
if (!PATIENCE_S && DEFAULT_REQUEST_TIMEOUT_MSEC >= HELD_S * 1000) throw new Error("it is not held for long enough");
const options = PATIENCE_S ? { timeout: PATIENCE_S * 1000 } : undefined;
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "held-one", version: "1" });
await client.connect(transport);
const call = (name, args) => client.callTool({ name, arguments: args }, undefined, options);
let result = await call("send", { to: TO });
while (result.isError) {
  const text = result.content[0].text;
  if (!/^(PENDING|RUNNING)/.test(text)) throw new Error(text);
  const id = text.match(/\((act_\w+)\)/)[1];
  result = await call("banksman_wait", PATIENCE_S ? { id, wait_s: 1 } : { id });
}
console.log(result.content[0].text);
await client.close();
