"""Labelled runs: which recordings are stuck, and from which turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guard.errors import UnreadableRecording
from guard.formats.fields import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One stuck part of a run, in positions of its file, both ends included.

    Attributes:
        start: The first attempt in vain.
        evident: The third one: from here on, a careful reader is sure.
        end: The last one; None: the stretch lasts to the run's end.
    """

    start: int
    evident: int
    end: int | None

    def holds(self, position: int, *, slack: int) -> bool:
        """Return whether a turn is inside the stretch, give or take `slack` turns."""
        return self.start - slack <= position and (self.end is None or position <= self.end + slack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One recorded run and its label by a reader.

    Attributes:
        run: Its name.
        source: The collection it comes from; runs of one source are alike.
        path: The turn file.
        loop_start: First turn of the main stuck stretch; None: healthy.
        stretches: Every stuck stretch that the label states, in order.
        weak: Turns at which an alarm is arguable: only two attempts in vain.
        kind: The kind of loop; "healthy" for a healthy run.
        rationale: Why the reader says so.
    """

    run: str
    source: str
    path: Path
    loop_start: int | None
    kind: str
    rationale: str
    stretches: tuple[Stretch, ...] = ()
    weak: frozenset[int] = frozenset()

    def stretch_at(self, position: int, *, slack: int) -> Stretch | None:
        """Return the stuck stretch that contains a turn, give or take `slack` turns."""
        return next((one for one in self.parts if one.holds(position, slack=slack)), None)

    def healthy_turns(self, turns: int) -> int:
        """Count the turns in which an alarm would be false: those outside every stuck stretch."""
        # Without slack, which excuses an alarm next to a stretch but removes no healthy turn.
        return sum(self.stretch_at(at, slack=0) is None for at in range(turns))

    @property
    def parts(self) -> tuple[Stretch, ...]:
        """The stuck stretches; if only `loop_start` is known, one from there to the end."""
        if self.stretches or self.loop_start is None:
            return self.stretches
        return (Stretch(start=self.loop_start, evident=self.loop_start, end=None),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Labelled runs in a fixed order, and how many were left out as undecided."""

    runs: tuple[Labelled, ...]
    undecided: int

    @property
    def sources(self) -> tuple[str, ...]:
        """Every source, in alphabetical order."""
        return tuple(sorted({labelled.source for labelled in self.runs}))


def read_corpus(folder: Path) -> Corpus:
    """Read a folder with `index.jsonl` and `runs/`, or a folder of labelled turn files.

    Raises:
        UnreadableRecording: the folder holds no labelled run.
    """
    index, headers = folder / "index.jsonl", list[tuple[Mapping[str, Any], Path]]()
    try:
        if index.is_file():
            for row in map(_object, index.read_text(errors="replace").splitlines()):
                # Only the last part of the path: an index must not name files outside its folder.
                name = Path(str(row.get("run"))).name
                headers.append((row, folder / "runs" / f"{name}.jsonl"))
        else:
            # Sorted: figures must not depend on the order in which a file system lists files.
            for path in sorted(folder.rglob("*.jsonl")):
                with path.open(encoding="utf-8", errors="replace") as lines:
                    headers.append((_object(lines.readline()), path))
    except OSError as error:
        raise UnreadableRecording(str(folder), error.strerror or "cannot be read") from error
    labelled = [(header, path) for header, path in headers if _label(header) is not None]
    if not labelled:
        raise UnreadableRecording(str(folder), "holds no labelled run")
    decided = [_read(header, path) for header, path in labelled]
    runs = tuple(run for run in decided if run is not None)
    return Corpus(runs=runs, undecided=len(decided) - len(runs))


# An unreadable line has no label, so its run is left out.
def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _label(header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Without `looping`, nobody has read the run; null means that its reader could not tell.
    label = header.get("label")
    return label if isinstance(label, dict) and "looping" in label else None


def _read(header: Mapping[str, Any], path: Path) -> Labelled | None:
    """Return a labelled run; None: its reader could not tell."""
    label = _label(header) or {}
    looping, start = label.get("looping"), label.get("loop_start")
    if not isinstance(looping, bool) or (looping and not isinstance(start, int)):
        return None
    listed = [one for one in _list(label.get("stretches")) if isinstance(one, dict)]
    given = [_stretch(one.get("start"), one.get("evident"), one.get("end")) for one in listed]
    # If the label states no stretches: the main one, to the run's end.
    stretches = given or [_stretch(start, label.get("evident_at"), None)]
    return Labelled(
        run=str(header.get("run") or path.stem),
        source=read_text(header.get("source")) or "unnamed",
        path=path,
        loop_start=start if looping else None,
        kind=(read_text(label.get("kind_group")) or read_text(label.get("kind")) or "loop")
        if looping
        else "healthy",
        rationale=read_text(label.get("rationale")) or "",
        stretches=tuple(one for one in stretches if one is not None) if looping else (),
        weak=frozenset(turn for turn in _list(label.get("weak")) if isinstance(turn, int)),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _stretch(start: object, evident: object, end: object) -> Stretch | None:
    if not isinstance(start, int):
        return None
    return Stretch(
        start=start,
        evident=evident if isinstance(evident, int) else start,
        end=end if isinstance(end, int) else None,
    )
