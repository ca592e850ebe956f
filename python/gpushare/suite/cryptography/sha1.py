# SPDX-License-Identifier: Apache-2.0
"""SHA-1 digests of many independent messages, one per thread.

Source: FIPS 180-4, 2015, section 6.1; shaped like sha1_kernel_direct of ERCBench (D. W. Chang et al., ERCBench: an
open-source benchmark suite for embedded and reconfigurable computing, FPL 2010).
"""

from __future__ import annotations

import hashlib

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.segments import offsets_of
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 64
MESSAGES = {"small": 1_000, "large": 1 << 19}
LENGTHS = {"small": (0, 200), "large": (960, 1_088)}
DIGEST_WORDS = 5


def digests(text: np.ndarray, word_offsets: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The reference: five words for each message."""
    storage = text.view(np.uint8).data
    spans = zip((4 * word_offsets[:-1].astype(np.int64)).tolist(), lengths.tolist(), strict=True)
    found = b"".join(hashlib.sha1(storage[begin : begin + length]).digest() for begin, length in spans)
    return np.frombuffer(found, ">u4").astype(np.uint32).reshape(-1, DIGEST_WORDS)


def _build(size: Size, random: np.random.Generator) -> Case:
    messages = MESSAGES[size]
    lengths = random.integers(*LENGTHS[size], messages, np.int32)
    word_offsets = offsets_of(-(-lengths // 4))
    # The bytes between the messages are random as well: a kernel that hashes one of them is wrong.
    text = np.frombuffer(random.bytes(4 * int(word_offsets[-1])), np.uint32)
    return Case(
        grid=grid_over((messages,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output("digests", (messages, DIGEST_WORDS), np.uint32),
            Argument("text", text),
            Argument("word_offsets", word_offsets),
            Argument("lengths", lengths),
            Argument("messages", np.int32(messages)),
        ],
        reference=lambda: {"digests": digests(text, word_offsets, lengths)},
    )


KERNEL = SuiteKernel("sha1", "SHA-1 digests: integer-bound, 80 rounds in registers", _build, {"SRTF": "SHA1"})
