# SPDX-License-Identifier: Apache-2.0
"""Fat binaries as compilers make them, for tests: see src/intercept/images/fat_binary.hpp."""

import ctypes
import struct

PTX, ELF = 1, 2
LZ4, ZSTD, ONE_ARCHITECTURE = 0x2000, 0x8000, 0x100000


def entry(code, *, kind=PTX, arch=90, flags=0):
    """An entry with this code, compressed as the flags say."""
    if isinstance(code, str):
        code = code.encode() + b"\0"
    kept = {0: lambda: code, LZ4: lambda: lz4(code), ZSTD: lambda: zstd(code)}[flags & (LZ4 | ZSTD)]()
    padded = kept + b"\0" * (-len(kept) % 8)
    compressed, uncompressed = (len(kept), len(code)) if flags & (LZ4 | ZSTD) else (0, 0)
    head = struct.pack("<HHIQII", kind, 0x0101, 64, len(padded), compressed, 0)
    head += struct.pack("<HHIIIQQQ", 0, 9, arch, 0, 0, flags | 0x11, 0, uncompressed)
    return head + padded


def fat_binary(*entries):
    """All entries behind a header."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def zstd(data):
    """Compressed by the library that decompresses it."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
    size = library.ZSTD_compress(room, len(room), data, len(data), 3)
    return room.raw[:size]


def lz4(data):
    """Compressed by the library that decompresses it."""
    library = ctypes.CDLL("liblz4.so.1")
    room = ctypes.create_string_buffer(library.LZ4_compressBound(len(data)))
    size = library.LZ4_compress_default(data, room, len(data), len(room))
    return room.raw[:size]
