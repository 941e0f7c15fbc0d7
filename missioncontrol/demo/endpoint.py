"""A small OpenAI-compatible endpoint on loopback, and the personas that it plays.

Each decides only from the conversation it is sent, so a correction works because the model
reads it.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NPM_MINDED = (
    "You are a developer who has worked with npm for ten years. A project's version stands in "
    "package.json; that is where you look. If somebody names another file, read that one. "
    "Answer with the version and nothing else."
)
WRITER = (
    "You are the writer of release notes. Before anything is written, the date format must be "
    "settled, and you never settle it yourself: hand the matter over to the reviewer. If somebody "
    "else decides, write RELEASE.md that way and say that it is settled."
)
REVIEWER = (
    "You are the reviewer of release notes. You never choose a format yourself: hand the matter "
    "over to the writer. If somebody else decides, write RELEASE.md that way and say that it is "
    "settled."
)
LIBRARIAN = (
    "You are a careful librarian of source code. List the files, read the modules, and after every "
    "third one write what the three are for to a file of their own under notes/. At the end "
    "write SUMMARY.md and say how many modules you read."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, with its result as the model read it, once there is one."""

    tool: str
    args: Mapping[str, Any]
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as a persona sees it."""

    system: str
    goal: str
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()

    def done(self, tool: str) -> Iterator[Call]:
        """The calls of one tool that have a result, oldest first."""
        return (call for call in self.calls if call.tool == tool and call.result is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A persona's reply: a text with or without a tool call."""

    text: str
    tool: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    after_s: float = 1.2
    """How long it "thinks", so that a person can follow."""


def read_conversation(messages: Sequence[Mapping[str, Any]]) -> Conversation:
    """Read the `messages` of a chat completion request."""
    # From the messages alone, as with a real model: a persona keeps no state between calls.
    results = {m["tool_call_id"]: m.get("content") for m in messages if m["role"] == "tool"}
    asked_texts = [str(m.get("content") or "") for m in messages if m["role"] == "user"]
    asked = [call for m in messages for call in m.get("tool_calls") or ()]
    return Conversation(
        system=next((str(m["content"]) for m in messages if m["role"] == "system"), ""),
        goal=asked_texts[0] if asked_texts else "",
        notes=tuple(asked_texts[1:]),
        calls=tuple(
            Call(
                tool=call["function"]["name"],
                args=json.loads(call["function"].get("arguments") or "{}"),
                result=results.get(call["id"]),
            )
            for call in asked
        ),
    )


def reply_to(conversation: Conversation) -> Reply:
    """Answer as the persona whose instructions the conversation has."""
    # By its instructions, because a model is not told a name.
    for instructions, persona in PERSONAS.items():
        if conversation.system == instructions:
            return persona(conversation)
    return Reply(text="I have no part in this demo.")


WRONG = "package.json"
# Whole names, not parts of a path or of a longer word.
FILE_NAME = re.compile(r"(?<![\w./-])[\w./-]*\w\.(?:toml|json|cfg|py|md|txt|ya?ml)\b")
VERSION = re.compile(r"""^version\s*=\s*["']([^"']+)["']""", re.MULTILINE)


def npm_minded(conversation: Conversation) -> Reply:
    """Read package.json over and over, unless another file is named."""
    texts = [call.result or "" for call in conversation.done("read_file")]
    version = next((found[1] for text in texts if (found := VERSION.search(text))), None)
    if version:
        return Reply(text=f"This project is version {version}.")
    # An answer that names package.json again is no correction.
    read = {WRONG, *(str(call.args.get("path")) for call in conversation.calls)}
    texts_read = (*conversation.notes, *(call.result or "" for call in conversation.calls))
    names = (name for text in texts_read for name in FILE_NAME.findall(text))
    named = next((name for name in names if name not in read), None)
    if named:
        return Reply(text=f"Then I read {named}.", tool="read_file", args={"path": named})
    return Reply(text="The version stands in package.json.", tool="read_file", args={"path": WRONG})


# The end of the tool's own answer; any other answer came from somebody who decided.
HANDED_OVER = "has it now"

PASSING_ON = {
    "reviewer": "Please decide the date format of the release notes, then I write them.",
    "writer": "The format is yours to choose as their writer; tell me when you have.",
}


def undecided(other: str) -> Callable[[Conversation], Reply]:
    """Return a persona that hands the matter over until somebody else decides it."""

    def persona(conversation: Conversation) -> Reply:
        # Find what a third party said: instead of a hand-over, or directly to this agent.
        answers = [call.result or "" for call in conversation.done("hand_over")]
        # The tool itself answers in fixed words; somebody who stepped in says something else.
        decided = [answer for answer in answers if not answer.endswith(HANDED_OVER)]
        notes = [
            note for note in conversation.notes if not note.startswith(("writer: ", "reviewer: "))
        ]
        decision = next(iter([*decided, *notes]), None)
        if decision is None:
            args = {"to": other, "note": PASSING_ON[other]}
            return Reply(text=f"The {other} should decide.", tool="hand_over", args=args)
        changes = next((call.result or "" for call in conversation.done("read_file")), None)
        if changes is None:
            args = {"path": "CHANGES.txt"}
            return Reply(text="So it is decided.", tool="read_file", args=args)
        # A decision that names no format means ISO.
        american = bool(AMERICAN.search(decision))
        if not list(conversation.done("write_file")):
            if american:
                changes = ISO_DATE.sub(r"\2/\3/\1", changes)
            else:
                changes = US_DATE.sub(r"\3-\1-\2", changes)
            args = {"path": "RELEASE.md", "text": f"# Release notes\n\n{changes}"}
            return Reply(text="Then I write them.", tool="write_file", args=args)
        style = "US" if american else "ISO"
        return Reply(text=f"Settled: {style} dates. RELEASE.md is written.")

    return persona


AMERICAN = re.compile(r"\b(?:US|USA|American|month first)\b")
US_DATE = re.compile(r"\b(\d\d)/(\d\d)/(\d{4})\b")
ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


NOTE_FILES = 3
# Possessive: a file of only blanks must not be searched again and again.
DOCSTRING = re.compile(r'^[rRuU]?"""\s*+(.+)', re.MULTILINE)


def librarian(conversation: Conversation) -> Reply:
    """Read a library module by module and write down the purpose of each."""
    listing = next((call.result or "" for call in conversation.done("list_files")), None)
    if listing is None:
        return _slow("First, what is there?", "list_files", {})
    read = {str(c.args["path"]): c.result or "" for c in conversation.done("read_file")}
    noted = {str(c.args["path"]) for c in conversation.done("write_file")}
    modules = [name for name in listing.split() if name.endswith(".py")]
    groups = [modules[start : start + NOTE_FILES] for start in range(0, len(modules), NOTE_FILES)]
    for group in groups:
        for name in group:
            if name not in read:
                return _slow(f"Now {name}.", "read_file", {"path": name})
        path = f"notes/{'-'.join(_stem(name) for name in group)}.md"
        if path not in noted:
            text = "".join(f"- {name}: {_purpose(read[name])}\n" for name in group)
            args = {"path": path, "text": text}
            return _slow("These three belong together.", "write_file", args)
    if "SUMMARY.md" not in noted:
        lines = "".join(f"{_stem(name)}: {_purpose(text)}\n" for name, text in read.items())
        text = f"# {len(modules)} modules\n\n{lines}"
        return _slow("Now the summary.", "write_file", {"path": "SUMMARY.md", "text": text})
    return Reply(text=f"I read {len(modules)} modules; what they are for stands in SUMMARY.md.")


def _slow(text: str, tool: str, args: Mapping[str, Any]) -> Reply:
    return Reply(text=text, tool=tool, args=args, after_s=4.0)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".py")


def _purpose(source: str) -> str:
    found = DOCSTRING.search(source)
    return found[1].partition('"""')[0].rstrip() if found else "says nothing of itself"


PERSONAS: dict[str, Callable[[Conversation], Reply]] = {
    NPM_MINDED: npm_minded,
    WRITER: undecided("reviewer"),
    REVIEWER: undecided("writer"),
    LIBRARIAN: librarian,
}


# A rough average for English: only for the display, not for a bill.
CHARS_PER_TOKEN = 4
CACHED_BLOCK = 128
# OpenAI caches prompts from 1,024 tokens on, in steps of 128.
CACHED_FROM = 1024


@contextmanager
def scripted_endpoint(*, pace: float = 1.0) -> Iterator[str]:
    """Serve `/v1/chat/completions` and yield its URL; with `pace` 0 it answers at once."""
    handler = type("PacedHandler", (_Handler,), {"pace": pace})
    # Port 0: any free one.
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        # Checks ten times a second whether it should end.
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    # Keeps connections open, as a real endpoint does.
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: 40 ms each otherwise
    pace: float

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Log nothing: the runs are on the board."""

    def do_POST(self) -> None:
        """Answer a chat completion request."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._respond(404, {"error": {"message": "not here", "type": "invalid_request_error"}})
            return
        try:
            body = json.loads(raw)
            reply = reply_to(read_conversation(body["messages"]))
        except (ValueError, KeyError, TypeError) as error:
            self._respond(400, {"error": {"message": repr(error), "type": "invalid_request_error"}})
            return
        # The "thinking" time, so that a person can follow what the agents do.
        time.sleep(reply.after_s * self.pace)
        self._respond(200, completion(body, reply))

    def _respond(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def completion(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """Return a chat completion in OpenAI's format, including usage."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool:
        function = {"name": reply.tool, "arguments": json.dumps(reply.args)}
        call = {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    reason = "tool_calls" if reply.tool else "stop"
    # Count tokens by length; what was sent before is cached.
    prompt, answered = _tokens([body["messages"], body.get("tools")]), _tokens(message)
    # Without the last call and its result, which are new to the model.
    before = _tokens([body["messages"][:-2], body.get("tools")])
    cached = before // CACHED_BLOCK * CACHED_BLOCK if before >= CACHED_FROM else 0
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": answered,
            "total_tokens": prompt + answered,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _tokens(written: Any) -> int:
    return len(json.dumps(written)) // CHARS_PER_TOKEN
