// A server of the TypeScript SDK that knows no sessions, with a resource that changes when it is touched.

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const uri = "note://today";

serveStdio(() => {
  const server = new McpServer(
    { name: "updates", version: "1" },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource("today", uri, {}, async () => ({ contents: [{ uri, text: "a note" }] }));
  server.registerTool("touch", { inputSchema: z.object({}) }, async () => {
    await server.server.sendResourceUpdated({ uri });
    return { content: [{ type: "text", text: "touched" }] };
  });
  return server;
}, { legacy: "reject" });
