"""An agent that loops while its server is away, and what the server is told of it later."""

from guard import Session, Stopped
from guard.sdk.outbox import project_folder
from guard.sdk.rules import FILE
from tests.installations import wait_for

RULES = {
    "policy": {},
    "project_policy": {},
    "mode": "pause",
    "project_mode": "pause",
    "unanswered": "stop",
    "hold_limit": 60,
    "allowlist": [],
    "policy_version": 1,
}


def fail_once(session, path="setings.py"):
    """One turn of a loop: ask, and fail the same way if let."""
    go = session.before("read_file", {"path": path})
    if go.run:
        session.after(go, error=f"{path}: no such file")
    return go


def fail_often(session, times):
    """Fail in a loop; gives how often it was let before it was stopped."""
    for n in range(times):
        try:
            fail_once(session)
        except Stopped as stopped:
            return n, str(stopped)
    return times, ""


def store_rules(server, session_options, **rules):
    """Have a session of the project see its rules, as one does that ran before."""
    server.rules = {**RULES, **rules}
    with Session("before", **session_options):
        wait_for((project_folder(session_options["outbox"], server.url, "mc_k") / FILE).exists)
    server.requests.clear()


def reported_to(server):
    """Every observation of a turn that the server was told, in order: (key, phase)."""
    posts = server.requests_to("POST", "turns/")
    return [(turn["key"], turn.get("phase")) for post in posts for turn in post.turns]


def outbox_files(outbox):
    return list(outbox.rglob("*.jsonl"))
