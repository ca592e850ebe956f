# SPDX-License-Identifier: Apache-2.0
"""A search of a whole key space for MD5 digests.

Source: R. Rivest, The MD5 message-digest algorithm, RFC 1321, 1992; the search as in MD5Hash of SHOC (A. Danalis et
al., The Scalable Heterogeneous Computing benchmark suite, GPGPU 2010), here for a list of digests. One key lies in the
first block, one is the last of all, and one digest belongs to no key.
"""

from __future__ import annotations

import hashlib

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 384
FIRST_CHARACTER = ord("0")
LENGTH = {"small": 4, "large": 5}
CHARACTERS = {"small": 12, "large": 36}
ROUNDS, MESSAGE_WORDS = 64, 16
START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], np.uint32)
SINES = (np.abs(np.sin(np.arange(1, ROUNDS + 1))) * 2**32).astype(np.uint32)
ROTATIONS = np.array([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21], np.uint32)
KEYS_AT_ONCE = 1 << 15  # fits a core's cache
NO_MATCH = -1


def marked_keys(numbers: np.ndarray, length: int, characters: int) -> np.ndarray:
    """The keys of these numbers as little-endian integers, with a one bit behind them."""
    keys = np.full(numbers.size, 0x80 << 8 * length, np.uint64)
    for place in range(length):
        keys |= (FIRST_CHARACTER + numbers % characters).astype(np.uint64) << np.uint64(8 * place)
        numbers = numbers // characters
    return keys


def _choice(round_: int, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    if round_ < 16:
        return d ^ (b & (c ^ d))
    if round_ < 32:
        return c ^ (d & (b ^ c))
    return b ^ c ^ d if round_ < 48 else c ^ (b | ~d)


def _word_of(round_: int) -> int:
    factor, start = [(1, 0), (5, 1), (3, 5), (7, 0)][round_ // 16]
    return (factor * round_ + start) % MESSAGE_WORDS


def digests_of(keys: np.ndarray, length: int) -> list[np.ndarray]:
    """The four words of the digest of each marked key."""
    words = {0: keys.astype(np.uint32), 1: (keys >> np.uint64(32)).astype(np.uint32), 14: np.uint32(8 * length)}
    a, b, c, d = (np.full(keys.size, word) for word in START)
    for round_ in range(ROUNDS):
        added = a + _choice(round_, b, c, d) + SINES[round_] + words.get(_word_of(round_), np.uint32(0))
        left = ROTATIONS[round_ // 16 * 4 + round_ % 4]
        a, b, c, d = d, b + (added << left | added >> (np.uint32(32) - left)), b, c
    return [word + start for word, start in zip((a, b, c, d), START, strict=True)]


def search(digests: np.ndarray, length: int, characters: int) -> np.ndarray:
    """The reference: the number of the key of each digest."""
    matches = np.full(len(digests), NO_MATCH, np.int32)
    keys = characters**length
    for first in range(0, keys, KEYS_AT_ONCE):
        numbers = np.arange(first, min(first + KEYS_AT_ONCE, keys))
        found = digests_of(marked_keys(numbers, length, characters), length)
        for i, digest in enumerate(digests):
            same = np.flatnonzero(found[0] == digest[0])
            matches[i] = next((numbers[k] for k in same if all(found[w][k] == digest[w] for w in range(4))), matches[i])
    return matches


def _digest(number: int, length: int, characters: int) -> np.ndarray:
    key = marked_keys(np.array([number]), length, characters).tobytes()[:length]
    return np.frombuffer(hashlib.md5(key).digest(), "<u4").astype(np.uint32)


def _build(size: Size, random: np.random.Generator) -> Case:
    length, characters = LENGTH[size], CHARACTERS[size]
    keys, endings = characters**length, characters ** (length - 1)
    numbers = [random.integers(characters * THREADS), random.integers(keys), keys - 1]
    digests = np.array([*(_digest(number, length, characters) for number in numbers), START])
    return Case(
        grid=grid_over((endings,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            Argument("matches", np.full(len(digests), NO_MATCH, np.int32), is_output=True, is_updated=True),
            Argument("digests", digests),
            Argument("count", np.int32(len(digests))),
            Argument("length", np.int32(length)),
            Argument("characters", np.int32(characters)),
            Argument("endings", np.int32(endings)),
        ],
        reference=lambda: {"matches": search(digests, length, characters)},
    )


KERNEL = SuiteKernel("md5", "MD5 of every key of a space: integer-bound, rare writes", _build, {"EffiSha": "MD5Hash"})
