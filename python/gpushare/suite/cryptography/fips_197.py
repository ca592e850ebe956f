# SPDX-License-Identifier: Apache-2.0
"""AES-128 step by step as FIPS 197 writes it, on many blocks at once: rows of 16 bytes, column after column.

>>> block = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8)
>>> encrypted(block[np.newaxis], bytes(range(16))).tobytes().hex()
'69c4e0d86a7b0430d8cdb78070b4c55a'
"""

from __future__ import annotations

from functools import reduce

import numpy as np

ROUNDS = 10
BLOCK_BYTES = 16
BLOCKS_AT_ONCE = 1 << 14  # fits a core's cache
MIX, INVERSE_MIX = (2, 3, 1, 1), (14, 11, 13, 9)
"""Multiples of the bytes below that a byte gets, its own first; columns wrap around."""


def times_two(byte: int) -> int:
    """The product with x in the field of 256 elements, modulo x^8 + x^4 + x^3 + x + 1."""
    return (byte << 1 ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def multiples(factor: int) -> np.ndarray:
    """The product of every byte with the factor.

    >>> hex(multiples(0x13)[0x57])
    '0xfe'
    """
    table, doubled = [0] * 256, list(range(256))
    for bit in range(8):
        if factor >> bit & 1:
            table = [sum_ ^ term for sum_, term in zip(table, doubled, strict=True)]
        doubled = [times_two(byte) for byte in doubled]
    return np.array(table, np.uint8)


def _substitution() -> np.ndarray:
    powers = [1]  # of 3, which generates the field
    for _ in range(254):
        powers.append(powers[-1] ^ times_two(powers[-1]))
    inverse = [0] * 256
    for exponent, power in enumerate(powers):
        inverse[power] = powers[-exponent % 255]
    # The byte and its rotations by 1 to 4; 0x101 repeats it, so that a shift is a rotation.
    spread = [reduce(int.__xor__, (byte * 0x101 >> 8 - turn for turn in range(5))) for byte in inverse]
    return np.array([word & 0xFF ^ 0x63 for word in spread], np.uint8)


SUBSTITUTION = _substitution()
INVERSE_SUBSTITUTION = np.argsort(SUBSTITUTION).astype(np.uint8)
PRODUCTS = {factor: multiples(factor) for factor in {*MIX, *INVERSE_MIX}}
ROW_SHIFT = np.array([(4 * (column + row) + row) % BLOCK_BYTES for column in range(4) for row in range(4)])
INVERSE_ROW_SHIFT = np.argsort(ROW_SHIFT)


def round_keys(key: bytes) -> np.ndarray:
    """The key of each round, 16 bytes each."""
    words = [np.frombuffer(key, np.uint8)[4 * i : 4 * i + 4] for i in range(4)]
    constant = 1
    for i in range(4, 4 * (ROUNDS + 1)):
        change: np.ndarray = words[-1]
        if i % 4 == 0:
            change = SUBSTITUTION[np.roll(change, -1)] ^ np.array([constant, 0, 0, 0], np.uint8)
            constant = times_two(constant)
        words.append(words[-4] ^ change)
    return np.concatenate(words).reshape(ROUNDS + 1, BLOCK_BYTES)


def mixed_columns(blocks: np.ndarray, mix: tuple[int, ...]) -> np.ndarray:
    """Every column multiplied by the circulant matrix of `mix`."""
    columns = blocks.reshape(-1, 4, 4)
    terms = (np.take(PRODUCTS[factor], np.roll(columns, -below, axis=2)) for below, factor in enumerate(mix))
    return reduce(np.bitwise_xor, terms).reshape(blocks.shape)


def _moved(blocks: np.ndarray, sources: np.ndarray) -> np.ndarray:
    return np.take(blocks, sources, axis=1)


def _encrypted(blocks: np.ndarray, keys: np.ndarray) -> np.ndarray:
    blocks = blocks ^ keys[0]
    for key in keys[1:-1]:
        blocks = mixed_columns(_moved(np.take(SUBSTITUTION, blocks), ROW_SHIFT), MIX) ^ key
    return _moved(np.take(SUBSTITUTION, blocks), ROW_SHIFT) ^ keys[-1]


def _decrypted(blocks: np.ndarray, keys: np.ndarray) -> np.ndarray:
    blocks = np.take(INVERSE_SUBSTITUTION, _moved(blocks ^ keys[-1], INVERSE_ROW_SHIFT))
    for key in keys[-2:0:-1]:
        blocks = np.take(INVERSE_SUBSTITUTION, _moved(mixed_columns(blocks ^ key, INVERSE_MIX), INVERSE_ROW_SHIFT))
    return blocks ^ keys[0]


def encrypted(blocks: np.ndarray, key: bytes) -> np.ndarray:
    """The cipher of each block."""
    keys = round_keys(key)
    pieces = range(0, len(blocks), BLOCKS_AT_ONCE)
    return np.concatenate([_encrypted(blocks[first : first + BLOCKS_AT_ONCE], keys) for first in pieces])


def decrypted(blocks: np.ndarray, key: bytes) -> np.ndarray:
    """The inverse cipher of each block."""
    keys = round_keys(key)
    pieces = range(0, len(blocks), BLOCKS_AT_ONCE)
    return np.concatenate([_decrypted(blocks[first : first + BLOCKS_AT_ONCE], keys) for first in pieces])
