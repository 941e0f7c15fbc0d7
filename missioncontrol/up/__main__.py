"""Start Mission Control: `python -m missioncontrol.up`."""

import os
import sys

from missioncontrol.up.command import main

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "missioncontrol.settings")
sys.exit(main(sys.argv[1:]))
