# SPDX-License-Identifier: Apache-2.0
"""Ciphers and digests of the suite: published vectors, and that the small cases reach the special paths."""

import hashlib

import numpy as np
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.cryptography import aes, fips_197, md5, sha1


def values_of(name):
    return {argument.name: argument.value for argument in KERNELS[name].case().arguments}


def rows_of(*texts):
    return np.array([list(bytes.fromhex(text)) for text in texts], np.uint8)


@pytest.mark.parametrize(
    ("key", "plaintext", "ciphertext"),
    [
        # FIPS 197, appendices B and C.1.
        ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
        ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ],
)
def test_aes_reproduces_the_vectors_of_the_standard(key, plaintext, ciphertext):
    blocks = np.repeat(rows_of(plaintext), fips_197.BLOCKS_AT_ONCE + 3, axis=0)  # more than one piece
    ciphers = fips_197.encrypted(blocks, bytes.fromhex(key))
    assert (ciphers == rows_of(ciphertext)).all()
    assert np.array_equal(fips_197.decrypted(ciphers, bytes.fromhex(key)), blocks)


def test_aes_expands_the_key_as_the_standard_does():
    # FIPS 197, appendix A.1: the words from w40 on.
    keys = fips_197.round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"))
    assert keys[10].tobytes().hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"
    # Appendix C.1, equivalent inverse cipher: the key schedule of rounds 0 and 1.
    inverse = aes.inverse_round_keys(bytes(range(16)))
    assert inverse[0].tobytes().hex() == "13111d7fe3944a17f307a78b4d2b30c5"
    assert inverse[1].tobytes().hex() == "13aa29be9c8faff6f770f58000f7bf03"


@pytest.mark.parametrize("mix", [fips_197.MIX, fips_197.INVERSE_MIX])
def test_table_entries_of_aes_turned_by_their_row_add_up_to_the_mixed_column(mix):
    column = np.arange(4, dtype=np.uint8) + 0x70
    entries = aes.mixed_table(np.arange(256), mix)[column]
    turned = [int(entry) << 8 * row | int(entry) >> 32 - 8 * row for row, entry in enumerate(entries)]
    word = (turned[0] ^ turned[1] ^ turned[2] ^ turned[3]) & 0xFFFFFFFF
    mixed = fips_197.mixed_columns(np.resize(column, (1, fips_197.BLOCK_BYTES)), mix)
    assert word.to_bytes(4, "little") == mixed[0, :4].tobytes()


def test_the_last_block_of_aes_has_threads_without_a_column():
    assert KERNELS["aes_encrypt"].case().grid[0] * aes.THREADS > values_of("aes_encrypt")["columns"]
    assert values_of("aes_encrypt")["columns"] % aes.THREADS > 0


def test_sha1_reproduces_the_vectors_of_the_standard():
    # The examples to FIPS 180, of one block and of two.
    texts = [b"abc", b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"]
    text = np.frombuffer(texts[0] + b"?" + texts[1], np.uint32)
    words = sha1.digests(text, np.array([0, 1, 15], np.int32), np.array([3, 56], np.int32))
    assert " ".join(f"{word:08x}" for word in words[0]) == "a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d"
    assert " ".join(f"{word:08x}" for word in words[1]) == "84983e44 1c3bd26e baae4aa1 f95129e5 e54670f1"


def test_messages_of_sha1_end_everywhere_in_a_block():
    values = values_of("sha1")
    assert set(values["lengths"] % 64) == set(range(64))  # with and without room for the padding, and cut words
    assert values["lengths"].min() == 0
    assert values["messages"] % sha1.THREADS > 0


def test_md5_reproduces_the_vectors_of_its_specification():
    # RFC 1321, appendix A.5.
    vectors = {b"a": "0cc175b9c0f1b6a831c399e269772661", b"abc": "900150983cd24fb0d6963f7d28e17f72"}
    for text, digest in vectors.items():
        words = md5.digests_of(np.array([int.from_bytes(text + b"\x80", "little")], np.uint64), len(text))
        assert np.concatenate(words).tobytes().hex() == digest


def test_keys_of_md5_are_numbered_from_their_first_character_on():
    keys = md5.marked_keys(np.array([0, 1, 12, 12**3]), 4, 12)
    texts = [int(key).to_bytes(8, "little") for key in keys]
    assert texts == [b"0000\x80\0\0\0", b"1000\x80\0\0\0", b"0100\x80\0\0\0", b"0001\x80\0\0\0"]


def test_md5_finds_the_first_block_s_key_and_the_last_and_misses_a_digest_without_one():
    values, matches = values_of("md5"), KERNELS["md5"].case().expected["matches"]
    characters, length = int(values["characters"]), int(values["length"])
    assert matches[0] < characters * md5.THREADS
    assert matches[2] == characters**length - 1
    assert matches[3] == md5.NO_MATCH
    key = int(md5.marked_keys(matches[1:2], length, characters)[0]).to_bytes(8, "little")[:length]
    assert hashlib.md5(key).digest() == values["digests"][1].tobytes()
    assert values["endings"] % md5.THREADS > 0
