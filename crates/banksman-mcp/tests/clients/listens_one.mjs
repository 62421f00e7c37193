// The TypeScript SDK's client of era one, which subscribes to a resource of a server without sessions.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const { URL: url, TOKEN } = process.env;
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "listens-one", version: "1" }, { capabilities: {} });
const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri));
});
await client.connect(transport);
await client.subscribeResource({ uri: "note://today" });
const touch = setInterval(() => client.callTool({ name: "touch", arguments: {} }), 200);
const heard = await updated;
clearInterval(touch);
await client.unsubscribeResource({ uri: "note://today" });
console.log(heard);
await client.close();
