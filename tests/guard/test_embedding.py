"""What makes vectors of texts: one setting, nothing downloaded, nothing required."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.contrib import embedding
from guard.contrib.embedding import (
    check_installed,
    cosine,
    load_similarity,
    similarity_by,
    vectorise,
)
from guard.engine import Engine
from guard.errors import EmbeddingMissing, PolicyInvalid
from guard.policy import Policy
from guard.replay import read_policy

ONE, OTHER = "check the config file for the setting", "check the configuration file for it"


@pytest.fixture(autouse=True)
def nothing_loaded():
    """Forget what other tests loaded."""
    embedding.load_similarity.cache_clear()
    embedding._warn_once.cache_clear()
    yield
    embedding.load_similarity.cache_clear()


def test_hashing_is_the_default_and_the_cosine_as_before():
    assert Policy().talk.embedding == "hashing"
    assert similarity_by("hashing")(ONE, OTHER) == cosine(vectorise(ONE), vectorise(OTHER))


@pytest.mark.parametrize("name", ["gpt", "", "model2vec:", "model2vec: ", "Hashing"])
def test_an_unknown_embedding_is_a_wrong_policy(name):
    with pytest.raises(PolicyInvalid, match=r"talk\.embedding"):
        Policy.from_mapping({"talk": {"embedding": name}})


def test_a_model_that_is_not_here_is_said_once_and_hashing_stands_in(caplog, tmp_path):
    name = f"model2vec:{tmp_path}/none"
    policy = Policy.from_mapping({"talk": {"embedding": name}})

    with caplog.at_level(logging.WARNING):
        Engine(policy)
        Engine(policy)

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "holds no model2vec model" in caplog.text
    assert similarity_by(name)(ONE, OTHER) == similarity_by("hashing")(ONE, OTHER)


def test_a_directory_that_is_none_is_never_asked_of_a_hub(monkeypatch):
    hub = types.ModuleType("model2vec")
    monkeypatch.setitem(sys.modules, "model2vec", hub)  # has no StaticModel: using it would fail

    with pytest.raises(EmbeddingMissing, match="holds no model2vec model"):
        load_similarity("model2vec:minishlab/potion-base-8M")


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)

    with pytest.raises(EmbeddingMissing, match="wordllama is not installed"):
        load_similarity("wordllama")


@pytest.mark.parametrize(
    "package", ["wordllama", "model2vec"]
)  # the extras; the default install has neither
def test_an_installed_model_compares_by_meaning(package, tmp_path):
    pytest.importorskip(package, reason=f"the extra {package} is not installed")
    likeness = load_similarity("wordllama" if package == "wordllama" else _saved_model(tmp_path))

    assert likeness(ONE, ONE) == pytest.approx(1.0, abs=1e-3)
    assert 0.0 <= likeness(ONE, OTHER) <= 1.0
    assert likeness("\ud800", "") <= 1.0
    assert math.isclose(likeness(ONE, OTHER), likeness(OTHER, ONE), abs_tol=1e-6)


def _saved_model(directory) -> str:
    """Make a tiny model2vec model: real files, no download."""
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = sorted({*ONE.split(), *OTHER.split(), "[UNK]"})
    vocabulary = {word: place for place, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(7).normal(size=(len(words), 8)).astype("float32")
    StaticModel(vectors, tokenizer).save_pretrained(directory)
    return f"model2vec:{directory}"


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"talk": {"embedding": "wordllama"}}, "talk.embedding"),
        (
            {"task_type": {"x": {"talk": {"embedding": "model2vec:/no/where"}}}},
            "task_type.x.talk.embedding",
        ),
    ],
)
def test_a_policy_whose_embedding_is_missing_is_refused(monkeypatch, rules, field):
    monkeypatch.setitem(sys.modules, "wordllama", None)

    with pytest.raises(PolicyInvalid, match="installed where it is read") as refused:
        check_installed(rules)

    assert refused.value.field == field


def test_a_policy_file_whose_embedding_is_missing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    file = tmp_path / "policy.toml"
    file.write_text('[talk]\nembedding = "wordllama"\n')

    with pytest.raises(PolicyInvalid, match="wordllama is not installed"):
        read_policy(file)


def test_a_policy_whose_embedding_is_here_is_taken():
    check_installed({"talk": {"embedding": "wordllama", "similarity": 0.9}})
    check_installed({"talk": {"embedding": "hashing"}})


@given(st.text(max_size=400), st.text(max_size=400))
def test_likeness_is_bounded_and_mutual(one, other):
    likeness = cosine(vectorise(one), vectorise(other))

    assert 0.0 <= likeness <= 1.0
    assert math.isclose(likeness, cosine(vectorise(other), vectorise(one)))


@given(st.text(min_size=1, max_size=400))
def test_a_text_is_like_itself(text):
    vector = vectorise(text)

    assert not vector or math.isclose(cosine(vector, vector), 1.0)


def test_a_reworded_sentence_is_more_alike_than_another():
    first = vectorise("Let me check the config file for the database setting.")
    reworded = vectorise("Let me check the config file again for the database setting.")
    other = vectorise("The tests pass now, so I will open a pull request.")

    assert cosine(first, reworded) >= 0.86
    assert cosine(first, other) < 0.4


def test_the_order_of_words_counts():
    likeness = cosine(vectorise("dog bites man"), vectorise("man bites dog"))

    assert 0.5 < likeness < 1.0


def test_a_long_text_counts_by_head_and_tail():
    assert vectorise("word " * 100_000) == vectorise("word " * 50_000)
    assert vectorise("start " + "x " * 9000 + "end") != vectorise("start " + "x " * 9000 + "!")


def test_it_is_the_same_in_every_process():
    code = (
        "from guard.contrib.embedding import vectorise; print(sorted(vectorise('a b c').items()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(runs) == 1
