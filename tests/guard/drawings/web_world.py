"""A team with an orchestrator, on the web: what is said, in its usual forms."""

from __future__ import annotations

import json

from tests.guard.drawings.drawing import Log, fill, pool
from tests.guard.drawings.prose import passage, sentence

LEAD = "Orchestrator"


# How many teams say who speaks next, in words that never change.
_ANNOUNCES = 0.6
# How many logs show the browser and the terminal as tools without arguments.
_AS_TOOLS = 0.4


class Team:
    """An orchestrator, a browser, a file reader, a coder, an assistant."""

    def __init__(self, log: Log) -> None:
        self.log = log
        place = log.rng.choice(pool("web")["places"])
        self.task, self.thing, self.query, self.fact = fill(
            log.rng.choice(pool("web")["tasks"]), place=place
        ).split("|")
        slug = place.lower().replace(" ", "").replace("ü", "ue")
        self.fixed = {"place": place, "slug": slug, "Slug": place.replace(" ", "_")}
        self.facts: list[str] = []
        self.announces = log.rng.random() < _ANNOUNCES
        log.tools_report = log.rng.random() < _AS_TOOLS

    def names(self) -> dict[str, object]:
        """Give names for a text; figures and people differ each time."""
        number, rng = self.log.number, self.log.rng
        site, title = fill(rng.choice(pool("web")["sites"]), **self.fixed).split("|")
        return {
            **self.fixed,
            "thing": self.thing,
            "fact": self.fact,
            "query": f"{self.query} {self.fixed['place']}",
            "site": site,
            "title": title,
            "surname": rng.choice(pool("web")["surnames"]),
            "n": number(2, 30),
            "m": number(31, 400),
            "h": number(1, 9),
            "yy": number(10, 99),
            "zz": number(10, 99),
            "aa": number(10, 24),
        }

    def opening(self) -> None:
        """State the task, the facts and the plan."""
        self.log.user(f"{self.task}")
        self.log.say(
            f"Initial plan:\n\nWe are working to address the following user request:\n\n{self.task}\n\n"
            "To answer this request we have assembled the following team:\n\nAssistant: a helpful "
            "assistant with strong language and Python skills.\nComputerTerminal: runs scripts.\n"
            "FileSurfer: handles local files.\nWebSurfer: operates a browser.\n\nHere is an initial "
            f"fact sheet to consider:\n\n{self._fact_sheet()}\n\nHere is the plan to follow:\n\n"
            f"- WebSurfer searches for {self.query}\n- the candidates are listed with their {self.fact}"
            "\n- the Assistant compares them and answers",
            f"{LEAD} (thought)",
        )

    def ledger(
        self,
        reason: str,
        *,
        order: str,
        speaker: str = "WebSurfer",
        progress: bool,
        loop: bool = False,
    ) -> None:
        """Restate the ledger, as before each instruction."""
        entries = {
            "is_request_satisfied": (reason, False),
            "is_in_loop": (self.log.deal("web.looping" if loop else "web.not_looping"), loop),
            "is_progress_being_made": (
                self.log.deal("web.progress" if progress else "web.no_progress"),
                progress,
            ),
            "next_speaker": (self.log.deal("web.speakers"), speaker),
            "instruction_or_question": (self.log.deal("web.speakers"), order),
        }
        body = {name: {"reason": why, "answer": answer} for name, (why, answer) in entries.items()}
        self.log.say(f"Updated Ledger:\n{json.dumps(body, indent=2)}", f"{LEAD} (thought)")

    def instruct(self, order: str, speaker: str = "WebSurfer") -> None:
        """Say who does what next."""
        self.log.say(order, f"{LEAD} (-> {speaker})")
        if self.announces:
            self.log.say(f"Next speaker {speaker}", f"{LEAD} (thought)")

    def page(self, action: str, names: dict[str, object], lines: list[str]) -> None:
        """Let the browser tell what it sees."""
        share = self.log.number(8, 100)
        meta = {
            "meta_tags": {
                "viewport": "width=device-width, initial-scale=1",
                "og:title": names["title"],
            },
            "jsonld": [],
        }
        self.log.report(
            f"{action}\n\nHere is a screenshot of [{names['title']}](https://{names['site']}). The viewport "
            f"shows {share}% of the webpage, and is positioned at the top of the page.\nThe following "
            f"metadata was extracted from the webpage:\n\n{json.dumps(meta, indent=4)}\n\nAutomatic OCR of "
            "the page screenshot has detected the following text:\n\n" + "\n".join(lines),
            "WebSurfer",
        )

    def lines(self, names: dict[str, object]) -> list[str]:
        """Write what stands on a page: prose, and something of the task."""
        own = [
            self.log.deal("web.ocr", **(self.names() | {"site": names["site"]})) for _ in range(2)
        ]
        mixed = own + passage(self.log)
        self.log.rng.shuffle(mixed)
        chrome = self.log.rng.sample(pool("web")["chrome"], 2)
        return [chrome[0], *mixed, chrome[1], "<Image>"]

    def fresh_page(self, names: dict[str, object] | None = None) -> None:
        """Look at a page never seen."""
        names = names or self.names()
        lines = [
            self.log.deal("web.ocr", **(self.names() | {"site": names["site"]})) for _ in range(6)
        ]
        self.page(self.log.deal("web.actions", **names), names, lines)

    def round(self) -> None:
        """Go one round that brings something: ledger, instruction, page."""
        names = self.names()
        order = self.log.deal("web.orders", **names)
        reason = f"{self.log.deal('web.reasons_more', **names)} {sentence(self.log)}"
        self.ledger(reason, order=order, progress=True)
        self.instruct(order)
        self.fresh_page(names)
        self.facts.append(f"{self.log.deal('web.findings', **self.names())} {sentence(self.log)}")

    def restate(self) -> None:
        """Restate every fact known so far, and the plan."""
        self.log.say(
            f"New plan:\n\nWe are working to address the following user request:\n\n{self.task}\n\nHere is "
            f"an updated fact sheet:\n\n{self._fact_sheet()}\n\nHere is the plan to follow:\n\n"
            f"- {self.log.deal('web.orders', **self.names())}\n- the Assistant answers",
            f"{LEAD} (thought)",
        )

    def code(self) -> None:
        """Let the assistant compute something and the terminal run it."""
        names = self.names()
        pairs = ", ".join(
            f'("{self.names()["surname"]}", 18{self.names()["yy"]})' for _ in range(4)
        )
        self.ledger(
            self.log.deal("web.reasons_more", **names),
            order="Sort the candidates.",
            speaker="Assistant",
            progress=True,
        )
        self.instruct(f"Please sort the candidates by their {self.fact}.", "Assistant")
        self.log.say(
            f"```python\ncandidates = [{pairs}]\nfor name, year in sorted(candidates, key=lambda c: c[1]):\n"
            "    print(year, name)\n```",
            "Assistant",
        )
        self.instruct("Please run the script.", "ComputerTerminal")
        rows = "\n".join(f"18{self.names()['yy']} {self.names()['surname']}" for _ in range(4))
        self.log.report(
            f"The script ran, then exited with Unix exit code: 0\nIts output was:\n{rows}",
            "ComputerTerminal",
        )

    def answer(self) -> None:
        """End with an answer."""
        names = self.names()
        self.instruct("Please give the final answer.", "Assistant")
        self.log.say(
            f"The answer is {names['surname']} (18{names['yy']}), according to {names['site']}.",
            "Assistant",
        )
        self.log.say("Request satisfied.", f"{LEAD} (termination condition)")

    def _fact_sheet(self) -> str:
        known = "\n".join(f"- {fact}" for fact in self.facts) or "- None"
        return (
            f"1. GIVEN OR VERIFIED FACTS\n{known}\n\n2. FACTS TO LOOK UP\n- The {self.fact} of each "
            f"{self.thing}\n\n3. FACTS TO DERIVE\n- Which of them fits the question\n\n"
            "4. EDUCATED GUESSES\n- The official site has the list"
        )
