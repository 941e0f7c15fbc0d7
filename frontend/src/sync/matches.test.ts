import { describe, expect, it } from "vitest";
import { aTurn } from "../fixtures/rows";
import { filterOf, matches, type Filter } from "../format/turnFilter";
import type { FoundTurns } from "../wire/types";
import { Matches } from "./matches.svelte";

const EVERYTHING = filterOf(new URLSearchParams());
const WORDS: Filter = { ...EVERYTHING, q: "rare" };
const FLAGGED: Filter = { ...EVERYTHING, flagged: true };

const found = (from: number, to: number, ...seqs: number[]): FoundTurns => ({
  run: "run-1",
  count: seqs.length,
  ranges: seqs.map((seq) => [seq, seq]),
  searched_from: from,
  searched_to: to,
});

/** A server that answers each question in turn, or not at all. */
function answering(...answers: (FoundTurns | Error)[]) {
  const asked: string[] = [];
  const made = new Matches("run-1", async (path) => {
    asked.push(path);
    const answer = await Promise.resolve(answers.shift());
    if (answer instanceof Error || !answer) throw answer ?? new Error("no answer");
    return answer;
  });
  return { made, asked };
}
const seqsOf = ({ ranges }: Matches) =>
  ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));

describe("a search", () => {
  it("goes back from the newest until all was looked at", async () => {
    const { made, asked } = answering(found(10, 19, 12), found(0, 9, 3, 8));

    await made.ask(WORDS);

    expect([seqsOf(made), made.from, made.busy]).toEqual([[3, 8, 12], 0, false]);
    expect(asked).toEqual([
      "runs/run-1/turns/found/?q=rare",
      "runs/run-1/turns/found/?q=rare&before_seq=10",
    ]);
  });

  it("asked again keeps what it found below, while it looks there anew", async () => {
    const seen: number[][] = [];
    const answers = [found(10, 19, 12), found(0, 9, 3, 8), found(15, 25, 21), found(0, 14, 3, 12)];
    const made = new Matches("run-1", async () => {
      seen.push(seqsOf(made));
      return await Promise.resolve(answers.shift() ?? found(0, 0));
    });
    await made.ask(WORDS);

    await made.ask(WORDS);

    expect(seen.slice(2)).toEqual([
      [3, 8, 12],
      [3, 8, 12, 21],
    ]);
    expect(seqsOf(made)).toEqual([3, 12, 21]);
  });

  it("that fails on its way keeps what was found, and goes on from there", async () => {
    const { made, asked } = answering(found(10, 19, 12), new Error("lost"), found(0, 9, 3));

    await made.ask(WORDS);
    expect([seqsOf(made), made.from, made.failed]).toEqual([[12], 10, true]);
    await made.goOn();

    expect([seqsOf(made), made.from, made.failed]).toEqual([[3, 12], 0, false]);
    expect(asked.at(-1)).toContain("before_seq=10");
  });

  it("that never had an answer begins anew", async () => {
    const { made, asked } = answering(new Error("lost"), found(0, 9, 3));

    await made.ask(WORDS);
    await made.goOn();

    expect([seqsOf(made), asked.at(-1)]).toEqual([[3], "runs/run-1/turns/found/?q=rare"]);
  });

  it("whose repetition failed is repeated from its beginning", async () => {
    const { made, asked } = answering(found(0, 9, 3), new Error("lost"), found(0, 12, 3, 11));
    await made.ask(WORDS);
    await made.ask(WORDS);
    expect([seqsOf(made), made.failed]).toEqual([[3], true]);

    await made.goOn();

    expect([seqsOf(made), asked.at(-1)]).toEqual([[3, 11], "runs/run-1/turns/found/?q=rare"]);
  });

  it("stops after many rounds and says how far it got", async () => {
    const { made } = answering(
      ...Array.from({ length: 60 }, (_, i) => found(1_000 - i, 1_000 - i)),
    );

    await made.ask(WORDS);
    expect([made.from, made.busy]).toEqual([961, false]);
    await made.goOn();

    expect(made.from).toBe(941);
  });

  it("leaves the old answer in place until the new question's comes", async () => {
    const { made } = answering(found(0, 9, 3), found(0, 9, 5));
    await made.ask(WORDS);

    const asking = made.ask({ ...WORDS, q: "other" });
    expect(seqsOf(made)).toEqual([3]);
    await asking;

    expect(seqsOf(made)).toEqual([5]);
  });

  it("that was overtaken by another changes nothing", async () => {
    const { made } = answering(found(0, 9, 3), found(0, 9, 5));

    await Promise.all([made.ask(WORDS), made.ask({ ...WORDS, q: "other" })]);
    made.clear();

    expect([made.count, made.from]).toEqual([0, 0]);
  });
});

describe("what is heard live", () => {
  const tripped = (seq: number) => aTurn({ seq, detector: "same_error" });
  const test = (turn: ReturnType<typeof aTurn>) => matches(turn, FLAGGED);

  it("comes after what was found", async () => {
    const { made } = answering(found(0, 9, 3));
    await made.ask(FLAGGED);

    made.receive([tripped(11), aTurn({ seq: 10, detector: null })], test);

    expect(seqsOf(made)).toEqual([3, 11]);
  });

  it("stands at its place when an older turn trips after a newer one", async () => {
    const { made } = answering(found(0, 9, 3, 8));
    await made.ask(FLAGGED);

    made.receive([aTurn({ seq: 10, detector: null }), tripped(12)], test);
    made.receive([tripped(10), tripped(12), tripped(5)], test);

    expect(seqsOf(made)).toEqual([3, 5, 8, 10, 12]);
  });

  it("before the answer is not lost by it", async () => {
    const { made } = answering(found(0, 9, 3));

    const asking = made.ask(FLAGGED);
    made.receive([tripped(9), tripped(10)], test);
    await asking;

    expect(seqsOf(made)).toEqual([3, 9, 10]);
  });

  it("is not mixed into the answer to another question", async () => {
    const { made } = answering(found(0, 9, 3), found(0, 9, 5));
    await made.ask(WORDS);

    const asking = made.ask(FLAGGED);
    made.receive([tripped(10)], test);
    expect(seqsOf(made)).toEqual([3]);
    await asking;

    expect(seqsOf(made)).toEqual([5, 10]);
  });
});
