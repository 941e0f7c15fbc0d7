"""Labelled runs: which recordings are stuck, and from which turn on."""

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
    """One stuck part of a run, in positions of its file, ends included.

    Attributes:
        start: The first vain attempt.
        evident: The third: from here on a careful reader is sure.
        end: The last; None: to the run's end.
    """

    start: int
    evident: int
    end: int | None

    def holds(self, position: int, *, slack: int) -> bool:
        """Return whether a turn lies in it, give or take `slack` turns."""
        return self.start - slack <= position and (self.end is None or position <= self.end + slack)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One recorded run and what a reader said of it.

    Attributes:
        run: Its name.
        source: Where it comes from; runs of one source are alike.
        path: The turn file.
        loop_start: First turn of the main stuck stretch; None: healthy.
        stretches: Every stuck stretch that is told, in order.
        weak: Turns where an alarm is arguable: two vain attempts only.
        kind: What sort of loop it is; "healthy" for a healthy run.
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
        """Return the stuck stretch in which a turn lies, give or take `slack` turns."""
        return next((one for one in self.parts if one.holds(position, slack=slack)), None)

    def healthy_turns(self, turns: int) -> int:
        """Count the turns in which an alarm would be false: those outside every stuck stretch."""
        # Without slack: it forgives an alarm beside a stretch, and takes no healthy turn away.
        return sum(self.stretch_at(at, slack=0) is None for at in range(turns))

    @property
    def parts(self) -> tuple[Stretch, ...]:
        """Its stuck stretches; where only a start is known, all from there on."""
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
    """Read a folder with `index.jsonl` and `runs/`, or one of labelled turn files.

    Raises:
        UnreadableRecording: the folder holds no labelled run.
    """
    index, headers = folder / "index.jsonl", list[tuple[Mapping[str, Any], Path]]()
    try:
        if index.is_file():
            for row in map(_object, index.read_text(errors="replace").splitlines()):
                # A name alone: an index from elsewhere must not read files outside its folder.
                name = Path(str(row.get("run"))).name
                headers.append((row, folder / "runs" / f"{name}.jsonl"))
        else:
            # Sorted: figures must not hang on the order in which a file system lists its files.
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


# A line that cannot be read has no label, so its run is left out.
def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _label(header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Without the word nobody has looked at the run; where it is null, somebody could not tell.
    label = header.get("label")
    return label if isinstance(label, dict) and "looping" in label else None


def _read(header: Mapping[str, Any], path: Path) -> Labelled | None:
    """Return a decided run; None: its reader could not tell."""
    label = _label(header) or {}
    looping, start = label.get("looping"), label.get("loop_start")
    if not isinstance(looping, bool) or (looping and not isinstance(start, int)):
        return None
    listed = [one for one in _list(label.get("stretches")) if isinstance(one, dict)]
    given = [_stretch(one.get("start"), one.get("evident"), one.get("end")) for one in listed]
    # Where no stretch is told: the main one, to the run's end.
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
