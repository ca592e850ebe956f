# SPDX-License-Identifier: Apache-2.0
"""What a user hands over as a kernel, and the options that go with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import require_no_nul

PTX_HEADER = re.compile(r"\A(?>\s++|//[^\n]*+\n|/\*(?>.*?\*/))*+\.version\b", re.DOTALL)
"""Nothing is tried twice: in a server the text may be anybody's, and no other thread goes on meanwhile."""
QUOTED_HEADER = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)
PTX_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)|\"[^\"\n]*", re.DOTALL)
"""Or a text in quotes, in which none begins."""
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
SOURCE_SUFFIXES = (".cu", ".cuh", ".ptx", ".cubin")
OWN_OPTIONS = ("-arch", "--gpu-architecture", "-dlto", "--dlink-time-opt", "-lto")
ASSEMBLER_OPTIONS = ("-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options")
# By its name for NVRTC: its name for the assembler.
OPTIONS_OF_BOTH = {"-lineinfo": "-lineinfo", "--generate-line-info": "-lineinfo", "-G": "-g", "--device-debug": "-g"}
INCLUDE_FLAGS = ("-I", "--include-path", "-include-path")
PRE_INCLUDE_FLAGS = ("-include", "--pre-include")
OTHERS_WITH_A_WORD = ("-D", "--define-macro", "-U", *PRE_INCLUDE_FLAGS, "-std")


@dataclass(frozen=True)
class KernelSource:
    """The text of a kernel, or its machine code.

    Attributes:
        text: CUDA C++ or PTX.
        file_name: what the compiler's messages call it, without folders.
        folder: where its headers lie; None if it was handed over as text.
        cubin: machine code, where that is all there is.
    """

    text: str
    file_name: str
    folder: Path | None
    cubin: bytes | None = None

    @property
    def content(self) -> bytes:
        """Whatever it is."""
        return self.text.encode() if self.cubin is None else self.cubin

    @property
    def header_options(self) -> tuple[str, ...]:
        """Where the headers beside it are found, if it asks for one: the text alone does not tell."""
        has_some = self.folder is not None and QUOTED_HEADER.search(self.text) is not None
        return (f"-I{self.folder.resolve()}",) if has_some else ()

    @property
    def is_ptx(self) -> bool:
        """Is it PTX, and not CUDA C++?"""
        return _is_ptx(self.text)


def kernel_source(source: str | bytes | Path, name: str) -> KernelSource:
    """The text or the machine code itself, or what is in this file.

    Raises:
        InvalidInput: the file cannot be read.

    >>> kernel_source("__global__ void fill(int* out) {}", "fill").file_name
    'fill.cu'
    """
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        path = Path(source)
        require_no_nul(f"kernel {name!r}: the path {str(path)!r}", str(path))
        try:
            if path.suffix == ".cubin":
                return KernelSource("", path.name, None, path.read_bytes())
            # A comment of PTX may be in any encoding; what is not one, ptxas refuses by its line.
            errors = "replace" if path.suffix == ".ptx" else "strict"
            text = _cleaned(path.read_text(encoding="utf-8", errors=errors))
            require_no_nul(f"{path}: a kernel's source", text)
            return KernelSource(text, path.name, path.resolve().parent)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}: cannot be read as text: {error}") from error
    plain = re.sub(r"\W+", "_", re.sub(r"<.*", "", name).rpartition("::")[2]) or "kernel"
    if isinstance(source, bytes):
        return KernelSource("", f"{plain}.cubin", None, source)
    if not isinstance(source, str):
        raise InvalidInput(f"kernel {name!r}: source must be a text, a path, or a cubin as bytes, got {source!r}")
    source = _cleaned(source)
    require_no_nul(f"kernel {name!r}: source", source)
    return KernelSource(source, plain + (".ptx" if _is_ptx(source) else ".cu"), None)


def _is_ptx(text: str) -> bool:
    return PTX_HEADER.match(text) is not None


def _cleaned(text: str) -> str:
    """Without what editors and compilers leave in texts and the next tool stumbles over; lines stay where they are.

    A byte order mark in front and one NUL behind, as C has it, go. ptxas takes ASCII alone, also in comments.
    """
    text = text.removeprefix("\ufeff").removesuffix("\0")
    if text.isascii() or not _is_ptx(text):
        return text
    return PTX_COMMENT.sub(lambda found: NOT_ASCII.sub(" ", found[0]) if found[0][0] == "/" else found[0], text)


def _is_path(source: str) -> bool:
    return "\n" not in source and source.endswith(SOURCE_SUFFIXES)


@dataclass(frozen=True)
class CompileOptions:
    """Options by who takes them."""

    nvrtc: tuple[str, ...]
    assembler: tuple[str, ...]
    """As nvJitLink takes them; :mod:`gpushare.kernels.assembler` knows what they are for ptxas."""
    include_folders: tuple[Path, ...]
    """Where the user's headers are looked for, in this order."""


def compile_options(options: Sequence[str], source: KernelSource) -> CompileOptions:
    """Sorts them; relative folders and files become absolute, since the compiler runs elsewhere.

    Raises:
        InvalidInput: an option that gpushare sets itself, or one that PTX has no use for.

    >>> source = KernelSource("__global__ void k() {}", "k.cu", None)
    >>> compile_options(["-std=c++20", "-maxrregcount=32", "-I", "/opt/include"], source).nvrtc
    ('-std=c++20', '-I/opt/include')
    """
    if (
        not isinstance(options, Sequence)
        or isinstance(options, str)
        or not all(isinstance(option, str) for option in options)
    ):
        raise InvalidInput(f"options must be a list of texts, got {options!r}")
    for option in options:
        require_no_nul(f"option {option!r}", option)
    if source.cubin is not None and len(options) > 0:
        raise InvalidInput(f"option {options[0]!r} is for a compiler, but {source.file_name} has been compiled")
    nvrtc: list[str] = []
    assembler: list[str] = []
    folders = [source.folder] if source.folder else []
    for option in with_absolute_paths(options):
        flag, _, value = option.partition("=")
        if flag in OWN_OPTIONS:
            raise InvalidInput(f"option {option!r} is gpushare's own to set; choose with compile(arch='sm_90')")
        if flag in ASSEMBLER_OPTIONS:
            assembler.append(f"-{flag.lstrip('-').replace('ptxas-options', 'Xptxas')}={value}")
        elif source.is_ptx and flag not in OPTIONS_OF_BOTH:
            raise InvalidInput(f"option {option!r} is for CUDA C++, but {source.file_name} is PTX")
        elif flag in INCLUDE_FLAGS:
            folders.append(Path(value))
        else:
            nvrtc.append(option)
            assembler += [OPTIONS_OF_BOTH[flag]] if flag in OPTIONS_OF_BOTH else []
    return CompileOptions((*nvrtc, *(f"-I{folder}" for folder in folders)), tuple(assembler), tuple(folders))


def with_absolute_paths(options: Sequence[str]) -> list[str]:
    """The same options, for a compiler that runs elsewhere; each with its value.

    >>> with_absolute_paths(["-std=c++20", "-I", "/opt/include"])
    ['-std=c++20', '-I=/opt/include']
    """
    absolute = []
    for option in _joined(options):
        flag, _, value = option.partition("=")
        if flag in INCLUDE_FLAGS:
            option = f"{flag}={Path(value).absolute()}"
        elif flag in PRE_INCLUDE_FLAGS:
            option = f"{flag}={_pre_included(value)}"
        absolute.append(option)
    return absolute


def _pre_included(header: str) -> str:
    """As a file it becomes absolute; else it is one that the compiler finds in the folders of the headers."""
    path = Path(header).absolute()
    return str(path) if path.is_file() else header


def _joined(options: Sequence[str]) -> list[str]:
    """``-I x`` and ``-Ix`` as ``-I=x``; the same for the others that take a word."""
    joined: list[str] = []
    words = iter(options)
    for word in words:
        if word in (*INCLUDE_FLAGS, *ASSEMBLER_OPTIONS, *OTHERS_WITH_A_WORD):
            value = next(words, None)
            if value is None:
                raise InvalidInput(f"option {word!r} lacks its value")
            joined.append(f"{word}{value}" if word in ("-D", "-U") else f"{word}={value}")
        elif word.startswith("-I") and not word.startswith("-I="):
            joined.append(f"-I={word[2:]}")
        else:
            joined.append(word)
    return joined
