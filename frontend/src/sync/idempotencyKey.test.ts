import { expect, it } from "vitest";
import { newKey } from "./idempotencyKey";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it("makes a UUID", () => {
  expect(newKey()).toMatch(UUID);
});

it("makes one where the origin is not secure", () => {
  const plain: Crypto = Object.create(crypto, {
    randomUUID: { value: undefined },
    getRandomValues: { value: (bytes: Uint8Array) => crypto.getRandomValues(bytes) },
  });

  expect(newKey(plain)).toMatch(UUID);
  expect(newKey(plain)).not.toBe(newKey(plain));
});
