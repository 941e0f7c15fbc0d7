import pytest

from guard.cli import main
from guard.sdk.outbox import Outbox, project_folder


@pytest.fixture
def root(tmp_path):
    return tmp_path / "outbox"


@pytest.fixture
def left(server, root):
    outbox = Outbox(project_folder(root, server.url, "mc_k"), {"key": "run-key", "name": "x"})
    for key in "abc":
        outbox.append({"turn": {"key": key, "role": "assistant", "content": "hi"}})
    outbox.append({"end": "completed"})
    outbox.close()


def outbox(*words, root, server, key="mc_k"):
    return main(["outbox", *words, "--dir", str(root), "--url", server.url, "--key", key])


def test_it_lists_pending_files(left, root, server, capsys):
    assert outbox(root=root, server=server) == 0
    assert "1 files  3 turns" in capsys.readouterr().out


def test_it_delivers_all_pending_files(left, root, server, capsys):
    assert outbox("send", root=root, server=server) == 0
    assert outbox(root=root, server=server) == 0

    assert capsys.readouterr().out.endswith("Nothing is queued.\n")
    (post,) = server.requests_to("POST", "turns/")
    assert [turn["key"] for turn in post.turns] == ["a", "b", "c"]
    assert server.requests_to("PATCH", "run-1/")[0].body == {"status": "completed"}


def test_another_project_s_turns_stay_where_they_are(left, root, server, capsys):
    assert outbox("send", root=root, server=server, key="mc_other") == 0

    assert capsys.readouterr().out.startswith("0 files")
    assert server.requests == []


def test_while_the_server_is_away_pending_files_stay(left, root, server, capsys):
    server.stop()

    assert outbox("send", root=root, server=server) == 1
    assert outbox("list", root=root, server=server) == 0
    assert "3 turns" in capsys.readouterr().out


def test_an_invalid_address_is_reported(root, capsys):
    assert main(["outbox", "send", "--dir", str(root), "--url", "ftp://x", "--key", "k"]) == 2
    assert "no http" in capsys.readouterr().err
