"""What every test process needs before Django reads its settings.

Loaded as a pytest plugin (`-p tests.environment`). DATABASE_URL and REDIS_URL are
used as they are; without them the suite runs on SQLite and on a Valkey of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Images of containers often forbid it; but this run starts dozens of Pythons, and each would
# compile all of Django again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

HERE = Path(tempfile.mkdtemp(prefix="mc-tests-"))
atexit.register(shutil.rmtree, HERE, ignore_errors=True)

os.environ["MISSIONCONTROL_DATA"] = str(HERE)
os.environ["MISSIONCONTROL_SECRET_KEY"] = "only for tests"
os.environ["MISSIONCONTROL_PREFIX"] = f"mctest{os.getpid()}"
os.environ["MISSIONCONTROL_HOSTS"] = "testserver"
os.environ["MISSIONCONTROL_OUTBOX"] = str(HERE / "outbox")
for name in ("MISSIONCONTROL_URL", "MISSIONCONTROL_KEY", "MISSIONCONTROL_ROLE"):
    os.environ.pop(name, None)


def _start_valkey() -> str:
    from missioncontrol.up import valkey

    socket_path = HERE / "v.sock"
    server = subprocess.Popen(
        valkey.command(valkey.find_valkey(), socket_path=socket_path), stdout=subprocess.DEVNULL
    )
    atexit.register(server.kill)
    if not valkey.wait_until_answering(socket_path, timeout_s=60):
        raise RuntimeError("the test broker did not start")
    return valkey.url_of(socket_path)


if not os.environ.get("REDIS_URL"):
    os.environ["REDIS_URL"] = _start_valkey()
