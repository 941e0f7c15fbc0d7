#!/usr/bin/env python
"""Run Mission Control from a checkout; an installed one offers `missioncontrol`."""

import sys

OLDEST = (3, 11)


def start() -> None:
    """Run one command. Any Python 3 reads this file: an old one is told what helps."""
    if sys.version_info < OLDEST:
        sys.exit(
            "mission control: this is Python %d.%d, and it takes 3.11 or newer: start with "
            "`uv run --no-dev manage.py up`, which finds or fetches one." % sys.version_info[:2]
        )
    try:
        from missioncontrol.cli import main

        main()
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] in {"guard", "missioncontrol"}:
            raise
        sys.exit(
            "mission control: %s is not installed for %s: start with `uv run --no-dev manage.py "
            "up`, which installs everything (`pip install uv` first)."
            % (missing.name, sys.executable)
        )


if __name__ == "__main__":
    start()
