// Restate: a workflow waits for a durable promise, which `approve` resolves, and runs the effect as a recorded step.
// On a port of its own this process tells how often each effect ran.
import http from "node:http";
import * as restate from "@restatedev/restate-sdk";

const effects = new Map();

const approval = restate.workflow({
  name: "approval",
  handlers: {
    run: async (ctx, _request) => {
      const decision = await ctx.promise("decision");
      if (decision !== "approve") return "denied";
      return ctx.run("effect", () => {
        effects.set(ctx.key, (effects.get(ctx.key) ?? 0) + 1);
        return "ok";
      });
    },
    approve: async (ctx, decision) => {
      await ctx.promise("decision").resolve(decision);
      return "ok";
    },
  },
});

const [port, effectsPort] = process.argv.slice(2).map(Number);
restate.endpoint().bind(approval).listen(port);

http
  .createServer((request, response) => {
    const key = request.url.slice(1);
    const notOnce = [...effects.values()].filter((count) => count !== 1).length;
    const answer = key ? (effects.get(key) ?? 0) : { effects: effects.size, notOnce };
    response.end(JSON.stringify(answer));
  })
  .listen(effectsPort, "127.0.0.1");
