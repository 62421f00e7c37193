// An identity provider by other hands (npm oidc-provider), on this machine, with two people in it.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const PEOPLE = {
  olga: { preferred_username: "olga", groups: ["finance-team"] },
  sven: { preferred_username: "sven", groups: ["strangers"] },
};

const listening = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

export const freePort = async () => {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
};

export const startProvider = async (redirect) => {
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listening(server)}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "banksman", client_secret: "a secret of the tests", token_endpoint_auth_method: "client_secret_post", redirect_uris: [redirect] }],
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    // Claims belong to the ID token, which is all that Banksman reads.
    conformIdTokenClaims: false,
    findAccount: (_, id) => (PEOPLE[id] ? { accountId: id, claims: () => ({ sub: `subject-${id}`, ...PEOPLE[id] }) } : undefined),
    pkce: { required: () => true },
    cookies: { keys: ["only for tests"] },
    features: { devInteractions: { enabled: true } },
  });
  server.on("request", provider.callback());
  return { issuer, stop: () => server.close() };
};
