import json
import os
import signal
import subprocess
import sys

import pytest

from guard.sdk import outbox as boxes
from guard.sdk.outbox import Outbox, count_pending, outbox_root, ownerless_files, project_folder
from guard.sdk.outbox_file import MAX_LINE_BYTES, encode_record

OPENING = {"key": "run-key", "name": "fix-auth"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "project"


@pytest.fixture
def outbox(folder):
    made = Outbox(folder, OPENING)
    yield made
    made.close()


def a_turn(key, **fields):
    return {"turn": {"key": key, "role": "assistant", "content": "hi", **fields}}


def keys(records):
    return [record["turn"]["key"] for record in records if "turn" in record]


def files(folder):
    return list(folder.glob("*.jsonl"))


def drained(source):
    found = []
    while source.has_pending:
        batch = source.next_batch()
        found += batch.records
        source.mark_delivered(batch)
    return found


def test_records_come_back_in_order_after_the_runs_opening(outbox):
    for key in "abc":
        assert outbox.append(a_turn(key))

    found = drained(outbox)

    assert found[0] == {"open": OPENING}
    assert keys(found) == ["a", "b", "c"]


def test_its_file_is_private_and_removed_once_delivered(outbox, folder):
    outbox.append(a_turn("a"))
    (file,) = files(folder)

    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    drained(outbox)
    assert files(folder) == []


def test_records_added_during_a_delivery_are_the_next_batch(outbox):
    outbox.append(a_turn("a"))
    batch = outbox.next_batch()
    outbox.append(a_turn("b"))
    outbox.mark_delivered(batch)

    assert keys(outbox.next_batch().records) == ["b"]


def test_secrets_are_masked(outbox, folder):
    outbox.append(a_turn("a", args={"api_key": "opaque", "cmd": "export TOKEN=hunter22"}))

    text = files(folder)[0].read_text()
    assert "opaque" not in text
    assert "hunter22" not in text


def test_a_full_outbox_drops_the_newest_turns_and_counts_them(folder, caplog):
    outbox = Outbox(folder, OPENING, max_turns=3)
    kept = [outbox.append(a_turn(str(n))) for n in range(8)]
    outbox.append({"end": "completed"})
    outbox.report_dropped()

    found = drained(outbox)
    assert kept == [True] * 3 + [False] * 5
    assert keys(found) == ["0", "1", "2"]
    assert outbox.dropped == 5
    assert [record["dropped"] for record in found if "dropped" in record][-1] == 5
    assert {"end": "completed"} in found
    assert len(caplog.records) == 1


def test_it_never_grows_beyond_its_maximum_size(folder):
    outbox = Outbox(folder, OPENING, max_bytes=boxes.RESERVED_BYTES + 20_000)
    for n in range(100):
        outbox.append(a_turn(str(n), content="word " * 200))

    assert files(folder)[0].stat().st_size <= boxes.RESERVED_BYTES + 20_000
    assert outbox.dropped > 0
    drained(outbox)


def test_a_line_is_limited_whatever_a_turn_contains():
    record = a_turn("a", args={f"f{n}": "x" * 5000 for n in range(2000)}, result="y" * 10**6)

    line = encode_record(record)

    assert len(line) <= MAX_LINE_BYTES
    assert json.loads(line)["turn"]["key"] == "a"


def test_an_unwritable_folder_is_logged_once_and_breaks_nothing(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    outbox = Outbox(tmp_path / "file" / "project", OPENING)

    assert [outbox.append(a_turn(key)) for key in "ab"] == [False, False]
    assert outbox.dropped == 2
    assert len(caplog.records) == 1


def test_a_full_disk_is_logged_once_and_later_turns_are_kept(outbox, monkeypatch, caplog):
    outbox.append(a_turn("a"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, line: write(fd, line[: len(line) // 2]))
    assert [outbox.append(a_turn(key)) for key in "bc"] == [False, False]
    monkeypatch.undo()
    outbox.append(a_turn("d"))

    assert keys(drained(outbox)) == ["a", "d"]
    assert len(caplog.records) == 1


def test_a_torn_line_is_skipped(folder):
    folder.mkdir()
    line = encode_record(a_turn("b")).decode()
    whole = encode_record({"open": OPENING}).decode() + encode_record(a_turn("a")).decode()
    (folder / "1.jsonl").write_text(whole + line[: len(line) // 2])

    (left,) = ownerless_files(folder)

    assert keys(drained(left)) == ["a"]
    left.remove()


def test_a_file_whose_owner_lives_is_not_taken(outbox, folder):
    outbox.append(a_turn("a"))

    assert list(ownerless_files(folder)) == []


def test_two_sessions_that_share_a_folder_do_not_mix(folder):
    one, two = Outbox(folder, OPENING), Outbox(folder, {**OPENING, "key": "other"})
    for n in range(20):
        one.append(a_turn(f"one-{n}"))
        two.append(a_turn(f"two-{n}"))

    assert keys(drained(one)) == [f"one-{n}" for n in range(20)]
    assert keys(drained(two)) == [f"two-{n}" for n in range(20)]


HOST = """
import sys, time
from pathlib import Path
from guard.sdk.outbox import Outbox
outbox = Outbox(Path(sys.argv[1]), {"key": sys.argv[2], "name": "host"})
for n in range(10 ** 9):
    outbox.append({"turn": {"key": f"{sys.argv[2]}-{n}", "role": "assistant", "content": "hi"}})
    if n == 50:
        print("many", flush=True)
    if n > 50:
        time.sleep(0.0005)  # is killed long before its outbox is full
"""


def a_host(folder, name):
    return subprocess.Popen(
        [sys.executable, "-c", HOST, str(folder), name], stdout=subprocess.PIPE, text=True
    )


def test_files_of_killed_processes_are_complete_and_in_order(folder):
    hosts = [a_host(folder, name) for name in ("one", "two")]
    try:
        assert [host.stdout.readline() for host in hosts] == ["many\n"] * 2
    finally:
        for host in hosts:
            host.send_signal(signal.SIGKILL)
            host.wait()
            host.stdout.close()

    for left in ownerless_files(folder):
        found = drained(left)
        name = found[0]["open"]["key"]
        assert len(found) > 50
        assert keys(found) == [f"{name}-{n}" for n in range(len(found) - 1)]
        left.remove()
    assert files(folder) == []


def test_pending_files_are_counted(outbox, folder):
    outbox.append(a_turn("a"))
    outbox.append({"end": "failed"})

    waiting = count_pending(folder)
    assert (waiting.files, waiting.turns) == (1, 1)


def test_a_full_project_folder_takes_no_new_file(folder, monkeypatch):
    folder.mkdir()
    (folder / "0.jsonl").write_text("x" * 100)
    monkeypatch.setattr(boxes, "MAX_FOLDER_BYTES", 100)

    assert not Outbox(folder, OPENING).append(a_turn("a"))


@pytest.mark.parametrize(
    ("folder", "variable", "expected"),
    [(False, "/x", None), (None, "off", None), ("/a", "/x", "/a"), (None, "/x", "/x")],
)
def test_the_outbox_folder_can_be_set(monkeypatch, folder, variable, expected):
    monkeypatch.setenv(boxes.OUTBOX_VARIABLE, variable)

    root = outbox_root(folder)
    assert (root and str(root)) == expected


def test_the_default_outbox_folder_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv(boxes.OUTBOX_VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert outbox_root(None) == tmp_path / "missioncontrol" / "outbox"


def test_a_projects_folder_name_does_not_reveal_its_key(tmp_path):
    one = project_folder(tmp_path, "http://x:1/", "mc_secret")

    assert one == project_folder(tmp_path, "http://x:1", "mc_secret")
    assert one != project_folder(tmp_path, "http://x:1", "mc_other")
    assert "mc_secret" not in str(one)


def test_a_call_is_kept_as_it_was_proposed_whatever_its_host_does_to_the_arguments(outbox):
    args = {"files": ["a.py"]}
    outbox.append(a_turn("a", phase="proposed", args=args))
    args["files"].append("b.py")
    outbox.append(a_turn("a", phase="done", args=args, result="ok"))

    kept = [record["turn"] for record in drained(outbox) if "turn" in record]

    assert [turn["args"] for turn in kept] == [{"files": ["a.py"]}] * 2
    assert kept[1]["result"] == "ok"


def test_a_completion_with_other_arguments_is_kept_with_those(outbox):
    outbox.append(a_turn("a", phase="proposed", args={"file": "a.py"}))
    outbox.append(a_turn("a", phase="done", args={"file": "b.py", "key": "sk-abcdefghijklmnop1"}))

    kept = [record["turn"] for record in drained(outbox) if "turn" in record]

    assert [turn["args"]["file"] for turn in kept] == ["a.py", "b.py"]
    assert kept[1]["args"]["key"] == "[masked]"


@pytest.mark.parametrize("field", ["agent", "tool", "model", "content", "result", "error", "files"])
def test_a_secret_is_masked_in_every_field_of_a_turn(outbox, folder, field):
    secret = "sk-abcdefghijklmnop1"
    outbox.append(a_turn("a", **{field: [secret] if field == "files" else secret}))

    assert secret not in files(folder)[0].read_text()
