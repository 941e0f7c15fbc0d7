"""Adapters of frameworks, where the frameworks are not."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys

import pytest

from guard import Usage
from guard.adapters import usage
from guard.adapters.usage import langchain_usage, litellm_usage

NEEDED = {
    "guard.adapters.claude_agent_sdk": ("claude_agent_sdk", "claude-agent-sdk"),
    "guard.adapters.crewai": ("crewai", "crewai"),
    "guard.adapters.langchain": ("langchain", "langchain"),
    "guard.adapters.litellm": ("litellm", "litellm"),
    "guard.adapters.openai_agents": ("agents", "openai-agents"),
}

IMPORTED = """
import importlib, json, sys
for module in {modules}:
    sys.modules[module] = None
raised = {{}}
for name in {adapters}:
    try:
        importlib.import_module(name)
    except ImportError as missing:
        raised[name] = [type(missing).__name__, str(missing)]
print(json.dumps(raised))
"""


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_an_adapter_without_its_framework_says_so_in_one_sentence():
    code = IMPORTED.format(modules=[module for module, _ in NEEDED.values()], adapters=list(NEEDED))
    kinds = json.loads(in_a_fresh_process(code))

    for adapter, (_, package) in NEEDED.items():
        kind, sentence = kinds[adapter]
        assert kind == "FrameworkMissing"
        assert sentence.startswith(f"{adapter} needs the package {package}: ")
        assert "\n" not in sentence


def test_guard_brings_in_no_framework():
    code = "import guard, guard.adapters, sys; from guard import *; print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in in_a_fresh_process(code).split()}

    assert loaded.isdisjoint(
        {"agents", "claude_agent_sdk", "crewai", "langchain", "langgraph", "litellm", "openai"}
    )


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({}, Usage(input=10_500, output=42)),
        ({"cache_read": 9_000}, Usage(input=1_500, cache_read=9_000, output=42)),
        (
            {
                "cache_creation": 0,
                "ephemeral_5m_input_tokens": 200,
                "ephemeral_1h_input_tokens": 50,
            },
            Usage(input=10_250, cache_write_5m=200, cache_write_1h=50, output=42),
        ),
        (
            {"cache_creation": 250, "ephemeral_1h_input_tokens": 50},
            Usage(input=10_250, cache_write_5m=200, cache_write_1h=50, output=42),
        ),
    ],
)
def test_langchain_counts_what_was_cached_inside_its_input(details, expected):
    usage = {"input_tokens": 10_500, "output_tokens": 42, "input_token_details": details}

    assert langchain_usage(usage) == expected


def test_litellm_counts_what_was_written_to_a_cache_inside_its_prompt():
    tiers = {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 50}
    details = {"cached_tokens": 9_000, "cache_creation_tokens": 250}
    details |= {"cache_creation_token_details": tiers}
    usage = {"prompt_tokens": 10_500, "completion_tokens": 42, "prompt_tokens_details": details}

    expected = Usage(
        input=1_250, cache_read=9_000, cache_write_5m=200, cache_write_1h=50, output=42
    )
    assert litellm_usage(usage) == expected


def test_a_model_without_counts_has_no_usage():
    assert langchain_usage(None) is None


def test_the_examples_of_the_counts_hold():
    assert doctest.testmod(usage).failed == 0
