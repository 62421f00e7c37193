// Forms that a passkey answers: asks it, puts the answer into the form, and sends the form.
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const toText = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const known = (form) => form.dataset.passkeys.split(" ").filter(Boolean).map((id) => ({ type: "public-key", id: toBytes(id) }));

const create = async (form) => {
  const { challenge, rp, user, name } = form.dataset;
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: toBytes(challenge),
      rp: { id: rp, name: "Banksman" },
      user: { id: new TextEncoder().encode(user), name, displayName: name },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: known(form),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
    },
  });
  return { client_data: toText(made.response.clientDataJSON), attestation: toText(made.response.attestationObject) };
};

const get = async (form) => {
  const { challenge, rp } = form.dataset;
  const got = await navigator.credentials.get({
    publicKey: { challenge: toBytes(challenge), rpId: rp, allowCredentials: known(form), userVerification: "required" },
  });
  const { clientDataJSON, authenticatorData, signature } = got.response;
  return { passkey: toText(got.rawId), client_data: toText(clientDataJSON), authenticator_data: toText(authenticatorData), signature: toText(signature) };
};

// What browsers say is for programmers.
const words = {
  NotAllowedError: "Nothing was signed: it was cancelled, took too long, or there is no passkey for this here.",
  InvalidStateError: "This passkey is set up already.",
  SecurityError: "Passkeys do not work at this address.",
};

export const passkeys = () => {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = form.querySelector("[data-passkey-problem]");
      problem.hidden = true;
      try {
        const answer = await (form.dataset.passkey === "create" ? create(form) : get(form));
        for (const [name, value] of Object.entries(answer)) form.elements.namedItem(name).value = value;
        form.submit();
      } catch (error) {
        problem.textContent = words[error.name] ?? `The browser could not ask your passkey (${error.name}).`;
        problem.hidden = false;
      }
    });
  }
};
