"""A model that is asked with a message of a kind that its host made, our adapter loaded."""

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage

import guard.adapters.langchain  # noqa: F401 - it hears of each chain in this process
from tests.agents.frameworks.play import tell


class Note(BaseMessage):  # type: ignore[misc]  # their types are not installed
    """What no part of LangChain has a word for."""

    type: str = "note"


tell(answer=FakeListChatModel(responses=["yes"]).invoke([Note(content="x")]).content)
