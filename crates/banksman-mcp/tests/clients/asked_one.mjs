// The TypeScript SDK's client of era one before a server without sessions that asks before it goes on.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { URL: url, TOKEN } = process.env;
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "asked-one", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { confirm: true } };
});
await client.connect(transport);
const result = await client.callTool({ name: "deploy", arguments: { env: "prod" } });
console.log(JSON.stringify({ asked, text: result.content[0].text }));
await client.close();
