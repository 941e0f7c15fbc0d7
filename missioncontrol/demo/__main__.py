"""`python -m missioncontrol.demo`: play the scenes until told to end."""

from __future__ import annotations

import contextlib
import logging
import threading

from guard.runtime import ChatModel
from missioncontrol.demo.config import Config
from missioncontrol.demo.endpoint import ScriptedEndpoint
from missioncontrol.demo.scenes import Stage, play_all


def main() -> None:
    """Read the configuration, start a model if none is given, play."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = Config.of_environment()
    with contextlib.ExitStack() as stack:
        play_all(Stage(config=config, model=_model(config, stack)))
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def _model(config: Config, stack: contextlib.ExitStack) -> ChatModel:
    if config.model_url:
        return ChatModel(url=config.model_url, name=config.model_name, key=config.model_key)
    url = stack.enter_context(ScriptedEndpoint()).url
    return ChatModel(url=url, name=config.model_name, provider="openai")


if __name__ == "__main__":
    main()
