"""Long sessions in a web application's code, sealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.guard.drawings.drawing import Drawing, Log, fill, pool

KIND = "coding-session"


def drawings(variant: int = 0) -> Iterator[Drawing]:
    """Draw them all."""
    for name, shape, draw in STUCK + HEALTHY:
        log = Log(f"sealed-ts/{name}", KIND, variant)
        yield log.drawn(shape, draw(log))


class App:
    """An application in TypeScript and the agent's deeds in it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.files: dict[str, str] = {}
        for row in pool("sealed_ts")["areas"]:
            area, kind, fields = row.split("|")
            names = self._names(area, kind, fields)
            for file, block in zip(
                ("api", "hooks", "sort", "store", "List", "group"),
                pool("sealed_ts")["modules"],
                strict=True,
            ):
                end = "tsx" if file == "List" else "ts"
                self.files[f"src/{area}/{file}.{end}"] = fill(block, **names)
        self.unread = sorted(self.files)
        log.rng.shuffle(self.unread)
        self.errors: list[str] = []

    def names(self, area: str | None = None) -> dict[str, object]:
        """Give names for a text."""
        rows = {row.split("|")[0]: row for row in pool("sealed_ts")["areas"]}
        return self._names(*rows[area or self.log.rng.choice(sorted(rows))].split("|"))

    def _names(self, area: str, kind: str, fields: str) -> dict[str, object]:
        first, second = self.log.rng.sample(fields.split(","), 2)
        return {
            "area": area,
            "type": kind,
            "a": first,
            "A": first.title(),
            "b": second,
            "file": self.log.rng.choice(("api", "hooks", "store")),
            "line": self.log.number(3, 90),
            "col": self.log.number(3, 40),
        }

    def thought(self, chance: float = 0.6) -> str | None:
        """Give a thought, or none."""
        if self.log.rng.random() > chance:
            return None
        return self.log.deal("sealed_ts.says", **self.names())

    def read(self, path: str | None = None) -> str:
        """Read a file."""
        if path is None:
            path = self.unread.pop() if self.unread else self.log.rng.choice(sorted(self.files))
        shown = "\n".join(
            f"{n:>5}→{line}" for n, line in enumerate(self.files[path].splitlines(), 1)
        )
        self.log.call("read_file", {"absolute_path": f"/app/{path}"}, shown, thought=self.thought())
        return path

    def change(self, path: str, thought: str | None = None) -> None:
        """Change a file."""
        area = path.split("/")[1]
        old = self.log.rng.choice([line for line in self.files[path].splitlines() if len(line) > 8])
        new = self.log.deal("sealed_ts.changes", **self.names(area))
        self.files[path] = self.files[path].replace(old, f"{new}\n{old}", 1)
        args = {"file_path": f"/app/{path}", "old_string": old, "new_string": f"{new}\n{old}"}
        result = f"Successfully modified file: /app/{path} (1 replacements)."
        self.log.call("replace", args, result, thought=thought or self.thought())

    def compile(self) -> None:
        """Run the compiler."""
        tail = (
            f"\n\nFound {len(self.errors)} errors in {len({e.split('(')[0] for e in self.errors})} files."
            if self.errors
            else ""
        )
        out = "\n".join(self.errors) + tail
        self.log.call(
            "run_shell_command",
            {"command": "npx tsc --noEmit"},
            _shell(out or "(empty)", int(bool(out))),
            thought=self.thought(),
        )

    def jest(self, failed: str = "") -> None:
        """Run the unit tests."""
        rows = [
            f"PASS src/{row.split('|')[0]}/store.test.ts ({self.log.number(20, 900)} ms)"
            for row in pool("sealed_ts")["areas"]
        ]
        bad = f"FAIL {failed}\n" if failed else ""
        tests = f"Tests:       {'1 failed, ' if failed else ''}{self.log.number(40, 44)} passed"
        out = (
            "\n".join(rows)
            + f"\n{bad}\nTest Suites: {len(rows)} passed\n{tests}\nTime:        {self.log.number(1000, 9000) / 1000} s"
        )
        self.log.call(
            "run_shell_command",
            {"command": "npx jest"},
            _shell(out, int(bool(failed))),
            thought=self.thought(),
        )

    def add_error(self) -> None:
        """Let the compiler find one more thing."""
        self.errors.append(self.log.deal("sealed_ts.errors", **self.names()))

    def work(self, turns: int) -> None:
        """Work for real."""
        end = len(self.log.turns) + turns
        self.log.user(self.log.deal("sealed_ts.asks", **self.names()))
        for _ in range(4):
            self.add_error()
        while len(self.log.turns) < end:
            for _ in range(self.log.number(1, 3)):
                path = self.read()
            if self.log.rng.random() < 0.8:
                self.change(path)
                if self.errors:
                    self.errors.pop()
                self.compile()
            if self.log.rng.random() < 0.3:
                self.jest()


def _shell(out: str, code: int) -> str:
    return f"Command: npx\nDirectory: (root)\nOutput: {out}\nError: (none)\nExit Code: {code}\nSignal: 0"


def _begun(log: Log, turns: int) -> App:
    app = App(log)
    app.work(turns)
    return app


# --- stuck ---------------------------------------------------------------------


def type_stall(log: Log) -> str:
    app = _begun(log, 36)
    path = "src/cart/store.ts"
    app.errors = [
        fill(
            "src/cart/store.ts({n},31): error TS2345: Argument of type 'CartLine | undefined' is not assignable to parameter of type 'CartLine'.",
            n=18,
        )
    ]
    app.compile()
    log.stuck_from_here()
    for n in range(12):
        app.change(path, log.deal("sealed_ts.guesses"))
        app.errors = [app.errors[0].replace(app.errors[0].split("(")[1].split(",")[0], str(18 + n))]
        app.compile()
    return "Twelve changes against one compiler error whose line moves with the edits."


def not_exactly_once(log: Log) -> str:
    app = _begun(log, 22)
    log.stuck_from_here()
    for n in range(7):
        args = {
            "file_path": "/app/src/chat/hooks.ts",
            "old_string": "setValue(next)" + ";" * (n % 2),
            "new_string": "startTransition(() => setValue(next))",
        }
        error = "Failed to edit, 0 occurrences found for old_string. No edits made. The exact text in old_string was not found."
        log.call("replace", args, f"Error: {error}", error=error, thought=app.thought(0.9))
        if n % 3 == 2:
            app.read("src/chat/hooks.ts")
    return "A replacement fails seven times, the file being read again now and then."


def dev_server(log: Log) -> str:
    _begun(log, 28)
    log.stuck_from_here()
    for n in range(8):
        port = 3000 + n
        out = f"Error: listen EACCES: permission denied 127.0.0.1:{port}\n    at Server.setupListenHandle [as _listen2] (node:net:{log.number(1500, 1800)}:21)\n    at listenInCluster (node:net:{log.number(1800, 1999)}:12)"
        log.call("run_shell_command", {"command": f"npx vite --port {port}"}, _shell(out, 1))
    return "The server is started on port after port, refused alike."


def snapshot_four(log: Log) -> str:
    app = _begun(log, 34)
    log.stuck_from_here()
    for _ in range(5):
        app.jest("src/map/List.test.tsx")
        log.call(
            "run_shell_command",
            {"command": "npx jest -u src/map"},
            _shell("1 snapshot obsolete, 0 written", 0),
        )
        app.read("src/map/List.tsx")
        log.call("run_shell_command", {"command": "git diff --stat"}, _shell("(empty)", 0))
    return "Test, update, read, diff: four steps five times over, no change."


def announces(log: Log) -> str:
    app = _begun(log, 20)
    log.stuck_from_here()
    for text in _ANNOUNCED:
        log.say(fill(text, **app.names("calendar")))
    return "It announces the same change ten times and makes none."


_ANNOUNCED = (
    "I'm going to update the calendar store so that overlapping slots are rejected.",
    "Let me update the calendar store to reject overlapping slots.",
    "Next I'll change the calendar store so it rejects slots that overlap.",
    "Now I will update the calendar store, rejecting overlapping slots.",
    "I'll now make the calendar store reject overlapping slots.",
    "The next step is updating the calendar store to reject slots that overlap.",
    "Updating the calendar store so that overlapping slots get rejected.",
    "I will go ahead and update the calendar store to reject overlapping slots.",
    "Let me now change the calendar store so overlapping slots are rejected.",
    "So, I'm updating the calendar store: overlapping slots are to be rejected.",
)


def checks_again(log: Log) -> str:
    app = _begun(log, 30)
    app.errors.clear()
    app.compile()
    log.stuck_from_here()
    for n, command in enumerate(_CHECKS):
        log.call(
            "run_shell_command",
            {"command": command},
            _shell(_CLEAN[n % len(_CLEAN)], 0),
            thought=log.deal("verify.claims"),
        )
    return "Clean types and tests are checked by twelve commands, nothing changed between."


_CHECKS = (
    "npx tsc --noEmit",
    "npx tsc --noEmit -p tsconfig.json",
    "npm run typecheck",
    "npx jest src/cart",
    "npx jest src/cart --silent",
    "npx jest --testPathPattern cart",
    "npm test -- src/cart",
    "npx tsc -p . --noEmit --pretty false",
    "node -e \"require('./dist/cart/store.js'); console.log('ok')\"",
    "npx jest src/cart --runInBand",
    "npx jest -t 'CartLine'",
    "npm run typecheck --silent && echo clean",
)
_CLEAN = (
    "(empty)",
    "> app@2.4.0 typecheck\n> tsc --noEmit",
    "Tests: 6 passed, 6 total",
    "ok",
    "clean",
)


def reads_round(log: Log) -> str:
    app = _begun(log, 40)
    paths = sorted(app.files)[:5]
    for path in paths:
        app.read(path)
    log.stuck_from_here()
    for _ in range(4):
        for path in paths:
            app.read(path)
    return "Five files are read in turn, four rounds, nothing is changed."


STUCK: list[tuple[str, str, Callable[[Log], str]]] = [
    ("type-stall", "edit-test stall", type_stall),
    ("not-exactly-once", "same error", not_exactly_once),
    ("dev-server", "same error, varying arguments", dev_server),
    ("snapshot-four", "k-cycle", snapshot_four),
    ("announces", "reworded monologue", announces),
    ("checks-again", "same verification in new words", checks_again),
    ("reads-round", "k-cycle", reads_round),
]


# --- healthy -------------------------------------------------------------------


def session(log: Log, requests: int = 6, turns: int = 22) -> str:
    app = App(log)
    for _ in range(requests):
        app.work(log.number(turns - 8, turns + 8))
        app.jest()
        log.say(log.deal("sealed_ts.says", **app.names()))
    return "Several requests, each worked off with reading, changes and checks."


def types_fall(log: Log) -> str:
    app = App(log)
    log.user("tsc is red after the upgrade, please fix it file by file.")
    for _ in range(24):
        app.add_error()
    app.compile()
    while app.errors:
        path = "src/" + app.errors[-1].split("(")[0].split("/", 1)[1]
        app.change(path if path in app.files else "src/cart/store.ts")
        app.errors.pop()
        app.compile()
    return "Twenty-four compiler errors, one less after each change."


def deploy_watch(log: Log) -> str:
    app = _begun(log, 12)
    steps = [
        "Queued",
        "Cloning",
        "Installing dependencies",
        "Building",
        "Uploading",
        "Assigning domains",
        "Ready",
    ]
    for n, step in enumerate(steps):
        for _ in range(log.number(1, 3)):
            log.call(
                "run_shell_command",
                {"command": "sleep 20 && vercel inspect app-x7f --timeout 5s"},
                _shell(f"status ● {step}\nduration {20 * n + log.number(1, 19)}s", 0),
            )
    app.work(8)
    return "A deployment is looked at until it is ready."


def codemods(log: Log) -> str:
    app = App(log)
    log.user("Run the codemod on every package, one after the other.")
    for path in sorted(app.files)[:20]:
        log.call(
            "run_shell_command",
            {"command": f"npx jscodeshift -t rename-props.ts {path} --silent"},
            _shell("(empty)", 0),
        )
    app.jest()
    return "A codemod over twenty files, silent each time."


def asks_person(log: Log) -> str:
    app = App(log)
    for _ in range(6):
        app.work(4)
        log.say("Shall I go on with the next page?")
        log.user("yes")
    return "It asks the same question after each page; the person says yes."


def status_between(log: Log) -> str:
    app = _begun(log, 6)
    for n in range(14):
        path = log.rng.choice(sorted(app.files))
        app.change(path)
        log.call(
            "run_shell_command",
            {"command": "git status --short | head -5"},
            _shell(f" M {path}", 0),
        )
        if n % 4 == 3:
            log.call(
                "run_shell_command",
                {"command": f"git commit -aqm 'step {n}'"},
                _shell("(empty)", 0),
            )
    return "The state of the repository after each of fourteen changes."


def compile_green(log: Log) -> str:
    app = App(log)
    app.errors.clear()
    log.user("Rename the props in all lists, compile after each file.")
    for path in sorted(app.files)[:22]:
        app.change(path)
        app.compile()
    return "Twenty-two changes, the compiler silent after each."


HEALTHY: list[tuple[str, str, Callable[[Log], str]]] = [
    ("session-1", "long session", session),
    ("session-2", "long session", lambda log: session(log, 10, 26)),
    ("session-3", "long session", lambda log: session(log, 3, 18)),
    ("types-fall", "same test after real edits", types_fall),
    ("deploy-watch", "poll that moves", deploy_watch),
    ("codemods", "batch with identical acknowledgements", codemods),
    ("asks-person", "the person answers alike", asks_person),
    ("status-between", "git status between steps", status_between),
    ("compile-green", "same test after real edits", compile_green),
]
