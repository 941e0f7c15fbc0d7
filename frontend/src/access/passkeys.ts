/** Create and use a browser's passkeys, in the JSON form of the specification. */

/** Return whether passkeys can be used: a secure page, a host name, and a current browser. */
export function canUsePasskeys(): boolean {
  const isAddress = /^[\d.]+$|:/.test(location.hostname);
  return (
    !isAddress &&
    "PublicKeyCredential" in self &&
    "parseCreationOptionsFromJSON" in PublicKeyCredential
  );
}

/** Let the browser create a passkey, and return what to send to the server. */
export async function createPasskey(asked: Record<string, unknown>): Promise<unknown> {
  const options: PublicKeyCredentialCreationOptionsJSON = plainCopy(asked.publicKey);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return asJson(await navigator.credentials.create({ publicKey }));
}

/** Let the browser use a passkey, and return what to send to the server. */
export async function usePasskey(asked: Record<string, unknown>): Promise<unknown> {
  const options: PublicKeyCredentialRequestOptionsJSON = plainCopy(asked.publicKey);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return asJson(await navigator.credentials.get({ publicKey }));
}

function asJson(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new Error("the browser has none");
  return credential.toJSON();
}

function plainCopy<T>(value: unknown): T {
  return JSON.parse(JSON.stringify(value));
}
