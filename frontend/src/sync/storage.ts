/**
 * What this browser keeps for a person between visits: the last known state, and
 * taps that could not be sent. Shared by the page and the service worker; cleared
 * when the person signs out. If storage is disabled, nothing is kept.
 */

const NAME = "missioncontrol";
const STORE = "kept";

/** A place for values by name; in tests a plain map. */
export interface KeyValueStorage {
  put: (key: string, value: unknown) => Promise<void>;
  get: <T>(key: string) => Promise<T | null>;
  /** Return every value whose key begins with the prefix. */
  all: <T>(prefix: string) => Promise<T[]>;
  remove: (key: string) => Promise<void>;
  clear: () => Promise<void>;
}

export const storage: KeyValueStorage = {
  put: async (key, value) => {
    await within("readwrite", (store) => store.put(value, key));
  },
  get: async (key) => (await within("readonly", (store) => store.get(key))) ?? null,
  all: async (prefix) => {
    const range = () => IDBKeyRange.bound(prefix, `${prefix}\uffff`);
    return (await within("readonly", (store) => store.getAll(range()))) ?? [];
  },
  remove: async (key) => {
    await within("readwrite", (store) => store.delete(key));
  },
  clear: async () => {
    await within("readwrite", (store) => store.clear());
  },
};

/** Run one request in a transaction of its own; null if this browser stores nothing. */
async function within<T>(
  mode: IDBTransactionMode,
  action: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T | null> {
  try {
    const database = await open();
    try {
      return await settled(action(database.transaction(STORE, mode).objectStore(STORE)));
    } finally {
      database.close();
    }
  } catch {
    return null; // private windows may refuse storage, and a full disk does
  }
}

function open(): Promise<IDBDatabase> {
  const asked = indexedDB.open(NAME, 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
  return settled(asked);
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("storage failed"));
  });
}
