#!/usr/bin/env python
"""Run Mission Control from a checkout; an installed one offers `missioncontrol`."""

from missioncontrol.cli import main

if __name__ == "__main__":
    main()
