# SPDX-License-Identifier: Apache-2.0
"""AES-128 in both directions, one column of a state per thread, 1 KB per block.

Source: FIPS 197, 2001, with the tables of J. Daemen, V. Rijmen, AES proposal: Rijndael, 1999, section 5.2.1, and its
equivalent inverse cipher; shaped like aesEncrypt128 and aesDecrypt128 of ERCBench (D. W. Chang et al., ERCBench: an
open-source benchmark suite for embedded and reconfigurable computing, FPL 2010). The reference takes the steps of the
standard one by one, without those tables.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpushare.suite.case import Argument, Case, grid_over, output
from gpushare.suite.cryptography import fips_197
from gpushare.suite.suite_kernel import Size, SuiteKernel

THREADS = 256
STATES = {"small": 1_001, "large": 1 << 22}


def mixed_table(substitution: np.ndarray, mix: tuple[int, ...]) -> np.ndarray:
    """The contribution of each substituted byte of the first row to the four bytes of the mixed column."""
    rows = [fips_197.PRODUCTS[mix[-row % 4]][substitution].astype(np.uint32) << np.uint32(8 * row) for row in range(4)]
    return np.bitwise_or.reduce(rows)


def inverse_round_keys(key: bytes) -> np.ndarray:
    """The round keys of the equivalent inverse cipher: it mixes columns before it adds the key, so mix the keys too."""
    keys = fips_197.round_keys(key)[::-1].copy()
    keys[1:-1] = fips_197.mixed_columns(keys[1:-1], fips_197.INVERSE_MIX)
    return keys


def _random_states(size: Size, random: np.random.Generator) -> tuple[bytes, np.ndarray]:
    key = random.bytes(fips_197.BLOCK_BYTES)
    states = np.frombuffer(random.bytes(fips_197.BLOCK_BYTES * STATES[size]), np.uint8)
    return key, states.reshape(-1, fips_197.BLOCK_BYTES)


def _words(rows: np.ndarray) -> np.ndarray:
    return rows.view(np.uint32).ravel()


def _case(
    result: str, states: Argument, key_and_tables: list[Argument], reference: Callable[[], dict[str, np.ndarray]]
) -> Case:
    columns = states.value.size
    return Case(
        grid=grid_over((columns,), (THREADS,)),
        block=(THREADS, 1, 1),
        arguments=[
            output(result, columns, np.uint32),
            states,
            *key_and_tables,
            Argument("columns", np.int32(columns)),
        ],
        reference=reference,
    )


def _key_and_tables(round_keys: np.ndarray, substitution: np.ndarray, mix: tuple[int, ...]) -> list[Argument]:
    return [
        Argument("round_keys", _words(round_keys)),
        Argument("mixed_table", mixed_table(substitution, mix)),
        Argument("substituted_table", substitution),
    ]


def _build_encryption(size: Size, random: np.random.Generator) -> Case:
    key, states = _random_states(size, random)
    return _case(
        "ciphertext",
        Argument("plaintext", _words(states)),
        _key_and_tables(fips_197.round_keys(key), fips_197.SUBSTITUTION, fips_197.MIX),
        lambda: {"ciphertext": _words(fips_197.encrypted(states, key))},
    )


def _build_decryption(size: Size, random: np.random.Generator) -> Case:
    key, states = _random_states(size, random)
    return _case(
        "plaintext",
        Argument("ciphertext", _words(states)),
        _key_and_tables(inverse_round_keys(key), fips_197.INVERSE_SUBSTITUTION, fips_197.INVERSE_MIX),
        lambda: {"plaintext": _words(fips_197.decrypted(states, key))},
    )


ENCRYPT = SuiteKernel(
    "aes_encrypt", "AES-128 cipher: tables in shared memory, a barrier a round", _build_encryption, {"SRTF": "AES-e"}
)
DECRYPT = SuiteKernel(
    "aes_decrypt", "AES-128 inverse cipher: tables in shared memory", _build_decryption, {"SRTF": "AES-d"}
)
