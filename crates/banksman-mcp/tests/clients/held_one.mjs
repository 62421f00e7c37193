// The TypeScript SDK's client of era one: makes a call that is held, gives up waiting, and fetches the result.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const requestInit = { headers: { Authorization: `Bearer ${process.env.TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(process.env.URL), { requestInit });
const client = new Client({ name: "held-one", version: "1" });
await client.connect(transport);
const call = (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout: 3000 });
let result = await call("send", { to: "ada" });
while (result.isError) {
  const text = result.content[0].text;
  if (!/^(PENDING|RUNNING)/.test(text)) throw new Error(text);
  const id = text.match(/\((act_\w+)\)/)[1];
  result = await call("banksman_wait", { id, wait_s: 1 });
}
console.log(result.content[0].text);
await client.close();
