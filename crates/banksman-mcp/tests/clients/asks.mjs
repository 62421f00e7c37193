// A server of the TypeScript SDK that knows no sessions, and asks before it goes on.

import { McpServer, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const confirmation = z.object({ confirm: z.boolean() });

serveStdio(() => {
  const server = new McpServer({ name: "asks", version: "1" });
  server.registerTool("deploy", { inputSchema: z.object({ env: z.string() }) }, async ({ env }, ctx) => {
    const confirmed = acceptedContent(ctx.mcpReq.inputResponses, "confirm", confirmation);
    if (confirmed?.confirm !== true) {
      const confirm = inputRequired.elicit({ message: `Deploy to ${env}?`, requestedSchema: confirmation });
      return inputRequired({ inputRequests: { confirm } });
    }
    return { content: [{ type: "text", text: `deployed to ${env}` }] };
  });
  return server;
}, { legacy: "reject" });
