"""Print the tests that failed, one a line: `failures.py [--why] report.xml …`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

MOST_LINES = 12
"""Of why one test failed."""


def main(*given: str) -> int:
    """Print the failed tests of the reports; nothing of a run that never got so far."""
    for report in given:
        if report != "--why" and Path(report).is_file():
            for name, why in _failed(report):
                print(name)
                if "--why" in given:
                    print("\n".join(f"    {line}" for line in why))
    return 0


def _failed(report: str) -> Iterator[tuple[str, list[str]]]:
    # Our own pytest wrote it: no hostile XML here.
    for case in ET.parse(report).iter("testcase"):  # noqa: S314
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        if failure is not None:
            lines = (failure.text or failure.get("message") or "").splitlines()
            said = [line for line in lines if line.startswith(("E ", "tests/"))] or lines
            yield f"{case.get('classname')}::{case.get('name')}", said[-MOST_LINES:]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
