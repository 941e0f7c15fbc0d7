/** A browser's passkeys: made and shown in the JSON form of the specification. */

/** Passkeys need a secure page, a host that is a name, and a browser of today. */
export function canUsePasskeys(): boolean {
  const isAddress = /^[\d.]+$|:/.test(location.hostname);
  return (
    !isAddress &&
    "PublicKeyCredential" in self &&
    "parseCreationOptionsFromJSON" in PublicKeyCredential
  );
}

/** Have the browser make one; what it made is sent to the server. */
export async function makePasskey(asked: Record<string, unknown>): Promise<unknown> {
  const options: PublicKeyCredentialCreationOptionsJSON = plain(asked.publicKey);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return asJson(await navigator.credentials.create({ publicKey }));
}

/** Have the browser show one; its answer is sent to the server. */
export async function showPasskey(asked: Record<string, unknown>): Promise<unknown> {
  const options: PublicKeyCredentialRequestOptionsJSON = plain(asked.publicKey);
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return asJson(await navigator.credentials.get({ publicKey }));
}

function asJson(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new Error("the browser has none");
  return credential.toJSON();
}

function plain<T>(value: unknown): T {
  return JSON.parse(JSON.stringify(value));
}
