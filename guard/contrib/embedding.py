"""How similar two texts are, by one of several vectorisers that a setting chooses.

`hashing` is the default: words, pairs of neighbouring words and character 4-grams, hashed
into 2^20 buckets, with no vocabulary, no state and no download. The others are static word
vectors, which are optional and read only from this machine: `wordllama` has its weights in
its wheel, `model2vec:PATH` reads a directory. Their benefits and costs on recorded runs are
in docs/measurements.md.
"""

from __future__ import annotations

import functools
import logging
import math
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

from guard.detectors.talk import Similarity
from guard.errors import EmbeddingMissing, PolicyInvalid
from guard.policy import EMBEDDINGS
from guard.raw_texts import head_and_tail

logger = logging.getLogger(__name__)

HASHING = "hashing"
WORDLLAMA = "wordllama"
MODEL2VEC = "model2vec:"
_MAX_LENGTH = 2_000
_MAX_VECTORS = 512
_WORD = re.compile(r"\w+|[^\w\s]{2,}")
# A power of two minus one, used as a mask to get the bucket of a hash.
_BUCKETS = (1 << 20) - 1
# Less than a word's weight: pairs reflect the order, grams forgive spelling.
_PAIR_WEIGHT, _GRAM_WEIGHT = 0.3, 0.35
_GRAM_LENGTH, _MAX_WORD_LENGTH = 4, 40

Vector = dict[int, float]
_MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json")


@functools.lru_cache(maxsize=256)
def vectorise(text: str) -> Vector:
    """Return a text as a sparse unit vector; that of an empty text is empty.

    Only the head and tail of long texts count, so that the cost is bounded. The
    vector is cached and shared: do not change it.
    """
    weights: Vector = {}
    before = 0
    for word in _WORD.findall(head_and_tail(text, head=600, tail=300).lower()):
        bucket, grams = _hash_word(word)
        weights[bucket] = weights.get(bucket, 0.0) + 1.0
        for gram in grams:
            weights[gram] = weights.get(gram, 0.0) + _GRAM_WEIGHT
        # Multiplied, because otherwise two words would make the same pair in either order.
        if before:
            pair = (before * 31 + bucket) & _BUCKETS
            weights[pair] = weights.get(pair, 0.0) + _PAIR_WEIGHT
        before = bucket
    # For an empty text there is nothing to divide, so a length of 0 is harmless.
    length = math.sqrt(sum([weight * weight for weight in weights.values()], 0.0))
    return {bucket: weight / length for bucket, weight in weights.items()}


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two unit vectors, in [0, 1].

    >>> a, b = vectorise("the config file is missing"), vectorise("the config file is missing")
    >>> round(cosine(a, b), 6), cosine(vectorise("alpha"), vectorise(""))
    (1.0, 0.0)
    """
    # Over the shorter vector: a bucket missing there adds nothing.
    if len(one) > len(other):
        one, other = other, one
    get = other.get
    return min(1.0, sum([weight * get(bucket, 0.0) for bucket, weight in one.items()], 0.0))


# Cached by word, because words recur far more often than texts.
@functools.lru_cache(maxsize=16384)
def _hash_word(word: str) -> tuple[int, tuple[int, ...]]:
    short = word[:_MAX_WORD_LENGTH]
    grams = (
        short[start : start + _GRAM_LENGTH] for start in range(0, len(short) - _GRAM_LENGTH + 1, 2)
    )
    return _bucket(word), tuple(_bucket("#" + gram) for gram in grams)


def _bucket(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass")) & _BUCKETS


def check_installed(rules: Mapping[str, Any], path: str = "") -> None:
    """Refuse a policy with an embedding that is not on this machine.

    Nothing is loaded: it only checks that the package and the files exist.

    Args:
        rules: A policy as plain values, including its tables for tools and task types.
        path: Their place in the whole policy.

    Raises:
        PolicyInvalid: An embedding is missing; the text says what.
    """
    for name, value in rules.items():
        here = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            check_installed(value, here)
        elif name == "embedding" and isinstance(value, str) and (missing := _missing_part(value)):
            wanted = f"one that is installed where it is read ({missing})"
            raise PolicyInvalid(here, wanted, value)


def _model_directory(name: str) -> Path:
    return Path(name.removeprefix(MODEL2VEC)).expanduser()


def _missing_part(name: str) -> str:
    """Return what an embedding lacks on this machine; "": nothing."""
    if name.startswith(MODEL2VEC):
        # A name that is no directory would be searched on a hub, but nothing may be downloaded.
        directory = _model_directory(name)
        if not all((directory / file).is_file() for file in _MODEL_FILES):
            return f"{directory} holds no model2vec model ({', '.join(_MODEL_FILES)})"
    package = name.partition(":")[0]
    installed = package == HASHING or find_spec(package) is not None
    return "" if installed else f"{package} is not installed"


def similarity_by(name: str) -> Similarity:
    """Return the similarity that a setting names, or the default if it is not available.

    A missing package is logged once, as a warning: the run is still judged.

    >>> similarity_by("hashing")("the same words", "the same words") > 0.999
    True
    """
    try:
        return load_similarity(name)
    # Even an installed package may lack its own dependencies.
    except (EmbeddingMissing, ImportError) as missing:
        _warn_once(str(missing))
        return _hashed_similarity


@functools.lru_cache(maxsize=8)
def load_similarity(name: str) -> Similarity:
    """Load a vectoriser; a model is loaded once per process.

    Raises:
        EmbeddingMissing: its package or its files are not here.
    """
    if name == HASHING:
        return _hashed_similarity
    if name != WORDLLAMA and not name.startswith(MODEL2VEC):
        raise EmbeddingMissing(f"there is no embedding {name!r}; known: {EMBEDDINGS}")
    if missing := _missing_part(name):
        raise EmbeddingMissing(missing)
    if name == WORDLLAMA:
        import wordllama

        # The wheel has the tokenizer, but its loader looks only in a cache directory.
        shipped = Path(wordllama.__file__).parent
        try:
            model = wordllama.WordLlama.load(cache_dir=shipped, disable_download=True)
        except OSError as error:
            raise EmbeddingMissing(f"wordllama has no weights here: {error}") from None
        return _cosine_similarity(lambda text: model.embed([_make_encodable(text)], norm=True)[0])
    import model2vec

    static = model2vec.StaticModel.from_pretrained(_model_directory(name), force_download=False)

    # Normalised here: not every model stores unit vectors, and an empty text has none.
    def embed(text: str) -> Any:
        vector = static.encode([_make_encodable(text)], use_multiprocessing=False)[0]
        return vector / (float(vector @ vector) ** 0.5 or 1.0)

    return _cosine_similarity(embed)


def _hashed_similarity(one: str, other: str) -> float:
    return cosine(vectorise(one), vectorise(other))


# Cached, so that it is logged once: this is called for each policy that is read.
@functools.lru_cache(maxsize=32)
def _warn_once(missing: str) -> None:
    logger.warning("%s; hashing stands in", missing)


def _cosine_similarity(embed: Callable[[str], Any]) -> Similarity:
    """Return a similarity by unit vectors of the texts; the last few vectors are cached."""
    kept = functools.lru_cache(maxsize=_MAX_VECTORS)(embed)

    def similarity(one: str, other: str) -> float:
        # Models round, so the cosine of a text with itself can be slightly above 1.
        product = float(kept(one[:_MAX_LENGTH]) @ kept(other[:_MAX_LENGTH]))
        return min(1.0, max(0.0, product))

    return similarity


def _make_encodable(text: str) -> str:
    """Replace lone surrogates, which the tokenizers cannot encode."""
    return text.encode("utf-8", "replace").decode() or " "
