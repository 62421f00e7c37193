// The TypeScript SDK's client of era two before a server with sessions that samples, elicits, and says how far it is.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { URL: url, TOKEN } = process.env;
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } };
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
const client = new Client(
  { name: "asked-two", version: "1" },
  { versionNegotiation: { mode: "auto" }, capabilities: { sampling: {}, elicitation: {} } },
);
client.setRequestHandler("sampling/createMessage", async () => ({
  model: "m", role: "assistant", content: { type: "text", text: "sampled" },
}));
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(transport);
const texts = async (name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, options);
  return JSON.stringify(result.content.map((part) => part.text));
};
const said = [
  await texts("trigger-sampling-request", { prompt: "x", maxTokens: 5 }),
  await texts("trigger-elicitation-request", {}),
];
let progress = 0;
const onprogress = () => { progress += 1; };
await texts("trigger-long-running-operation", { duration: 1, steps: 4 }, { onprogress });
console.log(JSON.stringify({ era: client.getNegotiatedProtocolVersion?.(), said, progress }));
await client.close();
