"""`python -m missioncontrol.demo`: play the scenes until told to end."""

from __future__ import annotations

import contextlib
import logging
import threading

import django

from guard.runtime import ChatModel
from missioncontrol.demo.endpoint import scripted_endpoint
from missioncontrol.demo.scenes import Config, play_all

WITH_A_PAST = "healthy"


def main() -> None:
    """Read the configuration, start a model if none is given, and play the scenes."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = Config.of_environment()
    with contextlib.ExitStack() as stack:
        # In parallel: a month takes a while to judge, and somebody is already watching the scenes.
        threading.Thread(target=_record_past, args=(config,), daemon=True).start()
        if config.model_url:
            model = ChatModel(url=config.model_url, name=config.model_name, key=config.model_key)
        else:
            url = stack.enter_context(scripted_endpoint())
            model = ChatModel(url=url, name=config.model_name, provider="openai")
        play_all(config, model)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def _record_past(config: Config) -> None:
    """Give one project a past month, which cannot be reported through the API."""
    # Only for that: the agents themselves use nothing of the server.
    django.setup()
    from missioncontrol import clock
    from missioncontrol.accounts.selectors import find_agent_key
    from missioncontrol.demo.month import has_past, record_month

    at = clock.now()
    key = find_agent_key(config.projects.get(WITH_A_PAST, ""), at=at)
    if key is not None and not has_past(key.project, at=at):
        record_month(key.project, at=at)


if __name__ == "__main__":
    main()
