# SPDX-License-Identifier: Apache-2.0
"""Reads a cubin: its kernels, architecture, parameters, variables and resource usage.

A cubin is an ELF file. Data about kernels beyond ELF is in sections ``.nv.info``, as attributes that NVIDIA does not
document; those used here are the ones that cuobjdump prints by name. The file is untrusted: an offset beyond its end,
or an unexpected value, makes it invalid. Reading takes time in proportion to its size, because on a server any client
can send one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gpushare._core import InvalidInput
from gpushare.kernels.resource_usage import ResourceUsage

MAGIC = b"\x7fELF"
CLASS_64, LITTLE_ENDIAN = 2, 1
EXECUTABLE, CUDA = 2, 190
ABI_VERSION_AT = 8
NEW_ABI = 8
"""From this ABI version on (CUDA 13) the architecture is the second byte of the header's flags."""
HEADER = struct.Struct("<HHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOL_TABLE = 2
NO_BITS = 8
OBJECT = 1
FUNCTION = 2
KERNEL = 0x10
"""Flag in a symbol's ``other``: the symbol can be launched."""
MOST_SECTIONS = 1 << 16
MOST_SYMBOLS = 1 << 18
MOST_ATTRIBUTES = 1 << 18
"""Size limit of a section."""
MOST_NAMES_PER_BYTE = 4
"""Size limit of the file's names: names may share their ends, so their total is not bounded by the file's size."""

VARIABLES = (".nv.global", ".nv.global.init")
CONSTANTS = (".nv.constant3",)
"""Sections of variables that a source declares outside of its kernels."""
COMPILERS_OWN = ("$", "__")
"""Prefixes of names that the compiler puts among the initial values, such as format strings of printf()."""

DESCRIPTIONS = (".nv.info", ".nv.shared.", ".strtab")
"""Sections that are looked up by name, so duplicates are refused: it is not known which of two CUDA would take."""
NO_VALUE, BYTE, HALF, SIZED = 1, 2, 3, 4
"""Formats of attributes: four bytes, of which the last two are the value or, for SIZED, the number of bytes that
follow."""
PARAMETER = 0x17
LARGE_PARAMETER = 0x45
PARAMETER_BYTES = 0x19
REGISTERS = 0x2F
FRAME_BYTES = 0x11
STACK_BYTES = 0x12
BARRIERS = 0x4C
RESERVED_SHARED_FROM = 90
RESERVED_SHARED_BYTES = 1024
"""Part of the shared memory per block in a cubin that the system reserves, from sm_90 on."""


@dataclass(frozen=True)
class CubinParameter:
    """The place of an argument."""

    offset: int
    size: int


@dataclass(frozen=True)
class CubinVariable:
    """A variable that all kernels of the file share."""

    symbol: str
    size: int
    is_constant: bool


@dataclass(frozen=True)
class _Symbol:
    name: str
    is_kernel: bool
    is_object: bool
    section: int
    size: int


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int


class Cubin:
    """The contents of a cubin.

    Args:
        content: bytes of the file. Bytes after its end are ignored.
        file_name: name for messages.
    """

    def __init__(self, content: bytes, file_name: str) -> None:
        self._content = content
        self._file_name = file_name
        self._named_bytes = 0
        sections = self._numbered = self._read_sections()
        self._sections = {each.name: each for each in sections}
        described = [each.name for each in sections if each.name.startswith(DESCRIPTIONS)]
        self._require(len(described) == len(set(described)), "two sections of one name")
        tables = [each for each in sections if each.kind == SYMBOL_TABLE]
        self._require(len(tables) <= 1, "two tables of symbols")
        self._symbols = [symbol for table in tables for symbol in self._read_symbols(table)]

    @property
    def architecture(self) -> int:
        """The architecture, 90 for sm_90."""
        flags = self._header[6]
        return (flags >> 8 if self._content[ABI_VERSION_AT] >= NEW_ABI else flags) & 0xFF

    @cached_property
    def kernels(self) -> list[str]:
        """The symbols of the kernels."""
        return [each.name for each in self._symbols if each.is_kernel]

    @cached_property
    def variables(self) -> list[CubinVariable]:
        """The variables that kernels can write or the host can set."""
        kinds = {
            number: section.name in CONSTANTS
            for number, section in enumerate(self._numbered)
            if section.name in (*VARIABLES, *CONSTANTS)
        }
        return [
            CubinVariable(each.name, each.size, kinds[each.section])
            for each in self._symbols
            if each.is_object and each.section in kinds and each.size > 0 and not each.name.startswith(COMPILERS_OWN)
        ]

    def parameters(self, kernel: str) -> list[CubinParameter]:
        """The kernel's parameters in their order."""
        found: dict[int, CubinParameter] = {}
        total = 0
        for attribute, value in self._attributes(f".nv.info.{kernel}"):
            if attribute == PARAMETER_BYTES:
                (total,) = self._unpacked("<H", value)
            elif attribute == PARAMETER:
                _, ordinal, offset, packed = self._unpacked("<IHHI", value)
                self._require(ordinal not in found, f"parameters of {kernel!r}")
                found[ordinal] = CubinParameter(offset, packed >> 18)
            elif attribute == LARGE_PARAMETER:
                _, ordinal, offset, size, _ = self._unpacked("<IHHHH", value)
                self._require(ordinal not in found, f"parameters of {kernel!r}")
                found[ordinal] = CubinParameter(offset, size)
        parameters = [found[ordinal] for ordinal in sorted(found)]
        ends = [each.offset + each.size for each in parameters]
        self._require(
            sorted(found) == list(range(len(found))) and max(ends, default=0) == total, f"parameters of {kernel!r}"
        )
        return parameters

    def usage(self, kernel: str) -> ResourceUsage:
        """Resource usage; spills count as none, since a cubin does not contain them."""
        shared = self._sections.get(f".nv.shared.{kernel}")
        shared_bytes = shared.size if shared else 0
        if shared_bytes and self.architecture >= RESERVED_SHARED_FROM:
            shared_bytes = max(shared_bytes - RESERVED_SHARED_BYTES, 0)
        barriers = [value[0] for attribute, value in self._attributes(f".nv.info.{kernel}") if attribute == BARRIERS]
        local = max(self._of_symbol(FRAME_BYTES, kernel), self._of_symbol(STACK_BYTES, kernel))
        return ResourceUsage(self._of_symbol(REGISTERS, kernel), shared_bytes, local, 0, 0, max(barriers, default=0))

    def _of_symbol(self, wanted: int, kernel: str) -> int:
        return self._of_symbols.get((wanted, kernel), 0)

    @cached_property
    def _of_symbols(self) -> dict[tuple[int, str], int]:
        """Values of the attributes, by attribute and symbol."""
        found = {}
        for attribute, value in self._attributes(".nv.info"):
            if attribute in (REGISTERS, FRAME_BYTES, STACK_BYTES):
                symbol, number = self._unpacked("<II", value)
                self._require(symbol < len(self._symbols), "attributes of a symbol")
                found[attribute, self._symbols[symbol].name] = number
        return found

    def _attributes(self, section: str) -> Iterator[tuple[int, bytes]]:
        if section not in self._sections:
            return
        place = self._sections[section]
        at, end = place.offset, place.offset + place.size
        for _ in range(MOST_ATTRIBUTES):
            if at >= end:
                return
            form, attribute, size = self._unpacked("<BBH", self._bytes(at, 4))
            self._require(NO_VALUE <= form <= SIZED, f"an attribute in {section}")
            length = size if form == SIZED else 0
            self._require(at + 4 + length <= end, f"an attribute in {section}")
            yield attribute, self._bytes(at + 4, length) if form == SIZED else struct.pack("<H", size)
            at += 4 + length
        self._require(False, f"too many attributes in {section}")

    @cached_property
    def _header(self) -> tuple[int, ...]:
        self._require(self._content[:4] == MAGIC and self._content[4:6] == bytes([CLASS_64, LITTLE_ENDIAN]), "header")
        header = self._unpacked(HEADER.format, self._bytes(16, HEADER.size))
        self._require(header[1] == CUDA and header[10] == SECTION.size, "header")
        if header[0] != EXECUTABLE:
            raise InvalidInput(
                f"{self._file_name}: relocatable code has to be linked first, as by nvcc -cubin -rdc=false"
            )
        return header

    def _read_sections(self) -> list[_Section]:
        count, names = self._header[11], self._header[12]
        self._require(0 < count < MOST_SECTIONS and names < count, "sections")
        rows = [
            self._unpacked(SECTION.format, self._bytes(self._header[5] + number * SECTION.size, SECTION.size))
            for number in range(count)
        ]
        text = self._bytes(rows[names][4], rows[names][5])
        sections = [_Section(self._text(text, row[0]), row[1], row[4], row[5]) for row in rows]
        for each in sections:
            self._require(each.kind in (0, NO_BITS) or self._is_inside(each.offset, each.size), "it ends too early")
        return sections

    def _read_symbols(self, table: _Section) -> Iterator[_Symbol]:
        names = self._sections.get(".strtab")
        few_enough = table.size % SYMBOL.size == 0 and table.size // SYMBOL.size <= MOST_SYMBOLS
        self._require(names is not None and few_enough, "symbols")
        assert names is not None
        text = self._bytes(names.offset, names.size)
        for row in SYMBOL.iter_unpack(self._bytes(table.offset, table.size)):
            kind = row[1] & 0xF
            is_kernel = kind == FUNCTION and bool(row[2] & KERNEL)
            yield _Symbol(self._text(text, row[0]), is_kernel, kind == OBJECT, row[3], row[5])

    def _is_inside(self, offset: int, size: int) -> bool:
        return offset + size <= len(self._content)

    def _bytes(self, offset: int, size: int) -> bytes:
        self._require(self._is_inside(offset, size), "it ends too early")
        return self._content[offset : offset + size]

    def _unpacked(self, form: str, content: bytes) -> tuple[int, ...]:
        self._require(len(content) >= struct.calcsize(form), "an attribute is too short")
        return struct.unpack_from(form, content)

    def _text(self, table: bytes, offset: int) -> str:
        end = table.find(b"\0", offset)
        self._named_bytes += end - offset
        few_enough = self._named_bytes <= MOST_NAMES_PER_BYTE * len(self._content)
        self._require(offset < len(table) and end >= 0 and few_enough, "names")
        return table[offset:end].decode("ascii", "backslashreplace")

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise InvalidInput(f"{self._file_name} is no cubin, or a damaged one ({what})")
