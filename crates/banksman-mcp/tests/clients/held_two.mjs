// The TypeScript SDK's client of era two: it sends a held call again by itself until there is a result.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const requestInit = { headers: { Authorization: `Bearer ${process.env.TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(process.env.URL), { requestInit });
const client = new Client({ name: "held-two", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(transport);
let result = await client.callTool({ name: "send", arguments: { to: "ada" } }, { timeout: 3000 });
while (result.isError) {
  const text = result.content[0].text;
  if (!/^(PENDING|RUNNING)/.test(text)) throw new Error(text);
  const id = text.match(/\((act_\w+)\)/)[1];
  result = await client.callTool({ name: "banksman_wait", arguments: { id, wait_s: 1 } }, { timeout: 3000 });
}
console.log(result.content[0].text);
await client.close();
