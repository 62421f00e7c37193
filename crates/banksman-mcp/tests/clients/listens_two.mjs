// The TypeScript SDK's client of era two, which subscribes to a resource of a server with sessions.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { URL: url, TOKEN } = process.env;
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client({ name: "listens-two", version: "1" }, { versionNegotiation: { mode: "auto" } });
const updated = new Promise((resolve) => {
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri));
});
await client.connect(transport);
const { resources } = await client.listResources();
const uri = resources[0].uri;
const subscription = await client.listen({ resourceSubscriptions: [uri] });
const toggle = () => client.callTool({ name: "toggle-subscriber-updates", arguments: {} });
await toggle();
const heard = (await updated) === uri;
// While it goes on telling, it does not end with its input.
await toggle();
await subscription.close();
const era = client.getNegotiatedProtocolVersion?.();
console.log(JSON.stringify({ era, honored: subscription.honoredFilter.resourceSubscriptions?.length, heard }));
await client.close();
