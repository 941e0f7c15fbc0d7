"""A forwarder ends with the agent that called it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WATCHER = """
import os, sys
from guard.hooks.watcher import exit_when_unread
exit_when_unread()
print("watching", flush=True)
sys.stdin.read()
sys.exit(3)
"""


@pytest.fixture
def watcher():
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    yield process
    process.kill()
    process.stdin.close()
    process.stdout.close()
    process.wait(60)


def test_it_ends_when_nobody_reads_its_answer_any_more(watcher):
    assert watcher.stdout.readline() == b"watching\n"

    watcher.stdout.close()

    assert watcher.wait(60) == 0


def test_it_continues_while_somebody_reads(watcher):
    assert watcher.stdout.readline() == b"watching\n"

    watcher.stdin.close()

    assert watcher.wait(60) == 3
