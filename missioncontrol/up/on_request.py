"""Start and end what an owner turns on in the browser: demo agents, HTTPS for phones.

A process of its own serves phones, beside the one on loopback: nobody's request or socket there
is interrupted when it opens or closes.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass

from missioncontrol import clock, extras
from missioncontrol.extras import DemoAsked, PhoneStatus
from missioncontrol.up import addresses, processes
from missioncontrol.up.data_dir import DataDir
from missioncontrol.up.errors import CannotStart
from missioncontrol.up.options import EVERYWHERE, LOOPBACK, Options
from missioncontrol.up.supervisor import Supervisor


@dataclass(slots=True, kw_only=True)
class OnRequest:
    """What is started on request, and what of it runs now.

    `https_port`: 0 finds a free one. `serves_phones`: HTTPS was on from the start.
    """

    supervisor: Supervisor
    data: DataDir
    asked: Options
    url: str
    https_port: int
    serves_phones: bool
    _demo: DemoAsked | None = None
    _phone_url: str = ""

    def tend(self) -> None:
        """Start what is asked for by now, end what is not any more."""
        asked = extras.demo_asked(self.data.path)
        if asked != self._demo:
            if self._demo is not None:
                # Its keys are another demo's: agents of the former one must not go on.
                self.supervisor.end("demo")
            self._demo = asked
            if asked is not None:
                model = self.asked.demo_model
                demo = processes.demo(self.data, url=self.url, keys=asked.keys, model_url=model)
                self.supervisor.start(demo)
        if not self.serves_phones:
            wanted, runs = extras.phone_asked(self.data.path), self.supervisor.has("phone")
            if wanted and not runs:
                self._open()
            elif runs and not wanted:
                self.supervisor.end("phone")
            elif runs and not extras.phone_status(self.data.path).url:
                port = int(self._phone_url.rsplit(":", 1)[1])
                # Told only once it answers: a phone that comes sooner sees a refused connection.
                with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
                    extras.note_phone(self.data.path, PhoneStatus(url=self._phone_url))

    def _open(self) -> None:
        """Serve HTTPS on every address of this machine; what stands in the way is noted."""
        from missioncontrol.up import tls

        try:
            reserved = addresses.listen(EVERYWHERE, self.https_port, option="--https-port")
        except CannotStart as error:
            # Else every tick would try again, and the problem be told anew each time.
            extras.ask_for_phone(self.data.path, on=False)
            extras.note_phone(self.data.path, PhoneStatus(problem=str(error)))
            return
        # Taken to learn its number, and let go: web opens the address itself.
        with reserved:
            port = reserved.getsockname()[1]
            at = addresses.lan_address() or LOOPBACK
            self._phone_url = addresses.url_of(reserved, at, scheme="https")
        names = addresses.certified_names(self.asked.host)
        served = tls.ensure(self.data.path, names=names, at=clock.now())
        extras.note_phone(self.data.path, PhoneStatus())
        self.supervisor.start(processes.phone_web(self.data, served, port))
