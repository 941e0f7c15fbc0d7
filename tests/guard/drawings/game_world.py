"""A household, a cave and a shop to play in; the rules are real."""

from __future__ import annotations

from tests.guard.drawings.drawing import Log, pool


class House:
    """A text household: places that hold things, some of them closed."""

    def __init__(self, log: Log, form: str = "act") -> None:
        self.log, self.form = log, form
        self.places: dict[str, list[str]] = {}
        self.closed: set[str] = set()
        for row in pool("game")["places"]:
            name, count, state = row.split("|")
            for n in range(1, int(count) + 1):
                self.places[f"{name} {n}"] = []
                if state == "closed":
                    self.closed.add(f"{name} {n}")
        self.goal = log.rng.choice(pool("game")["objects"])
        others = [thing for thing in pool("game")["objects"] if thing != self.goal]
        for thing in others:
            for n in range(1, log.number(1, 3) + 1):
                self.places[log.rng.choice(sorted(self.places))].append(f"{thing} {n}")
        self.hidden = log.rng.choice([p for p in self.places if p.split()[0] == "drawer"])
        self.places[self.hidden].append(f"{self.goal} 1")

    def open_game(self) -> None:
        """State where one is and what is to be done."""
        seen = ", ".join(f"a {place}" for place in sorted(self.places))
        self.log.user(
            f"You are in the middle of a room. Looking quickly around you, you see {seen}.\n"
            f"Your task is to: put a clean {self.goal} in countertop."
        )

    def act(self, action: str, seen: str, thought: str | None = None) -> None:
        """Play a move in the form of this log."""
        if self.form == "act":
            self.log.call("act", {"action": action}, seen, thought=thought)
        elif self.form == "step":
            self.log.call("env.step", {"command": action, "think": thought or ""}, seen)
        else:
            intro = f"Thought: {thought}\n" if thought else ""
            self.log.say(f"{intro}Action: {action}\nObservation: {seen}")

    def visit(self, place: str, thought: str | None = None) -> bool:
        """Go there and look in; True: the thing is there."""
        if place in self.closed:
            self.act(f"go to {place}", f"The {place} is closed.", thought)
            self.closed.discard(place)
            self.act(
                f"open {place}",
                f"You open the {place}. The {place} is open. In it, you see {self._list(place)}.",
            )
        else:
            self.act(f"go to {place}", f"On the {place}, you see {self._list(place)}.", thought)
        return f"{self.goal} 1" in self.places[place]

    def search(self, most: int = 60) -> None:
        """Look into place after place until the thing is found."""
        places = sorted(self.places, key=lambda place: (place.split()[0], int(place.split()[1])))
        for place in places[:most]:
            thought = (
                self.log.deal("game.thoughts", thing=self.goal)
                if self.log.rng.random() < 0.4
                else None
            )
            if self.visit(place, thought):
                return

    def finish(self) -> None:
        """Take, clean and place the thing."""
        thing = f"{self.goal} 1"
        self.act(
            f"take {thing} from {self.hidden}", f"You pick up the {thing} from the {self.hidden}."
        )
        self.act("go to sinkbasin 1", f"On the sinkbasin 1, you see {self._list('sinkbasin 1')}.")
        self.act(f"clean {thing} with sinkbasin 1", f"You clean the {thing} using the sinkbasin 1.")
        self.act(
            "go to countertop 1", f"On the countertop 1, you see {self._list('countertop 1')}."
        )
        self.act(f"put {thing} in/on countertop 1", f"You put the {thing} in/on the countertop 1.")

    def _list(self, place: str) -> str:
        things = self.places[place]
        return ", and ".join(f"a {thing}" for thing in things) or "nothing"


class Cave:
    """Rooms on a grid; walking is seeing."""

    def __init__(self, log: Log, width: int = 4) -> None:
        self.log, self.width = log, width
        rooms = list(pool("game")["rooms"])
        log.rng.shuffle(rooms)
        self.rooms = rooms[: width * width]
        self.at, self.turns, self.score = 0, 0, 0

    def go(self, way: str, thought: str | None = None) -> None:
        """Walk one step, or into a wall."""
        row, column = divmod(self.at, self.width)
        row += {"north": -1, "south": 1}.get(way, 0)
        column += {"west": -1, "east": 1}.get(way, 0)
        self.turns += 1
        if 0 <= row < self.width and 0 <= column < self.width:
            self.at = row * self.width + column
            name, text = self.rooms[self.at].split("|")
            seen = f"{name}\n{text}"
        else:
            seen = "You can't go that way."
        self.log.call(
            "game_command",
            {"input": way},
            f"{seen}\n\nScore: {self.score} Moves: {self.turns}",
            thought=thought,
        )

    def do(self, command: str, answer: str) -> None:
        """Do something that scores."""
        self.turns += 1
        self.score += 5
        self.log.call(
            "game_command",
            {"input": command},
            f"{answer}\n\nScore: {self.score} Moves: {self.turns}",
        )
