# SPDX-License-Identifier: Apache-2.0
"""Sources of kernels as the user gives them, and compile options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpushare._core import InvalidInput
from gpushare.checks import require, require_no_nul

PTX_HEADER = re.compile(r"\A(?>\s++|//[^\n]*+\n|/\*(?>.*?\*/))*+\.version\b", re.DOTALL)
"""Possessive groups prevent backtracking: on a server the text is untrusted, and matching holds the GIL."""
QUOTED_HEADER = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)
PTX_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)|\"[^\"\n]*", re.DOTALL)
"""Comments, or a quoted text, in which no comment begins."""
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
SOURCE_SUFFIXES = (".cu", ".cuh", ".ptx", ".cubin")
OWN_OPTIONS = ("-arch", "--gpu-architecture", "-dlto", "--dlink-time-opt", "-lto")
ASSEMBLER_OPTIONS = ("-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options")
# Options of both, by name: NVRTC's name to the assembler's.
OPTIONS_OF_BOTH = {"-lineinfo": "-lineinfo", "--generate-line-info": "-lineinfo", "-G": "-g", "--device-debug": "-g"}
INCLUDE_FLAGS = ("-I", "--include-path", "-include-path")
PRE_INCLUDE_FLAGS = ("-include", "--pre-include")
OTHERS_WITH_A_WORD = ("-D", "--define-macro", "-U", *PRE_INCLUDE_FLAGS, "-std")


@dataclass(frozen=True)
class KernelSource:
    """The text of a kernel, or its machine code.

    Attributes:
        text: CUDA C++ or PTX.
        file_name: file name in the compiler's messages, without folders.
        folder: folder of its headers; None if it was given as text.
        cubin: machine code, where there is no text.
    """

    text: str
    file_name: str
    folder: Path | None
    cubin: bytes | None = None

    @property
    def content(self) -> bytes:
        """The text or the machine code."""
        return self.text.encode() if self.cubin is None else self.cubin

    @property
    def header_options(self) -> tuple[str, ...]:
        """The include option for headers beside the source, if it includes one in quotes."""
        if self.folder is None or QUOTED_HEADER.search(self.text) is None:
            return ()
        return (f"-I{self.folder.resolve()}",)

    @property
    def is_ptx(self) -> bool:
        """Whether it is PTX rather than CUDA C++."""
        return _is_ptx(self.text)


def kernel_source(source: str | bytes | Path, name: str) -> KernelSource:
    """The source from a text, machine code, or the path of a file.

    Raises:
        InvalidInput: the file cannot be read, or bytes are no machine code but text.

    >>> kernel_source("__global__ void fill(int* out) {}", "fill").file_name
    'fill.cu'
    """
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        path = Path(source)
        require_no_nul(f"kernel {name!r}: the path {str(path)!r}", str(path))
        try:
            if path.suffix == ".cubin":
                return KernelSource("", path.name, None, path.read_bytes())
            # Comments of PTX may be in any encoding; ptxas refuses other undecodable text by line.
            errors = "replace" if path.suffix == ".ptx" else "strict"
            text = _cleaned(path.read_text(encoding="utf-8", errors=errors))
            require_no_nul(f"{path}: a kernel's source", text)
            return KernelSource(text, path.name, path.resolve().parent)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}: cannot be read as text: {error}") from error
    plain = re.sub(r"\W+", "_", re.sub(r"<.*", "", name).rpartition("::")[2]) or "kernel"
    if isinstance(source, bytes):
        require(
            not _is_text(source), f"kernel {name!r}: bytes are machine code, and these are text: use source.decode()"
        )
        return KernelSource("", f"{plain}.cubin", None, source)
    if not isinstance(source, str):
        raise InvalidInput(f"kernel {name!r}: source must be a text, a path, or a cubin as bytes, got {source!r}")
    source = _cleaned(source)
    require_no_nul(f"kernel {name!r}: source", source)
    return KernelSource(source, plain + (".ptx" if _is_ptx(source) else ".cu"), None)


def _is_ptx(text: str) -> bool:
    return PTX_HEADER.match(text) is not None


def _cleaned(text: str) -> str:
    """Removes characters that editors and compilers add and the next tool refuses; line numbers do not change.

    These are a byte order mark at the start and one NUL at the end, as in C. ptxas takes ASCII only, also in comments.
    """
    text = text.removeprefix("\ufeff").removesuffix("\0")
    if text.isascii() or not _is_ptx(text):
        return text
    return PTX_COMMENT.sub(lambda found: NOT_ASCII.sub(" ", found[0]) if found[0][0] == "/" else found[0], text)


def _is_text(content: bytes) -> bool:
    """Whether these bytes may be a source, which some compilers return with a NUL at the end."""
    return len(content) > 0 and not content.startswith(b"\x7fELF") and b"\0" not in content[:-1]


def _is_path(source: str) -> bool:
    return "\n" not in source and source.endswith(SOURCE_SUFFIXES)


@dataclass(frozen=True)
class CompileOptions:
    """Options by the tool that takes them."""

    nvrtc: tuple[str, ...]
    assembler: tuple[str, ...]
    """In nvJitLink's form; :mod:`gpushare.kernels.assembler` converts them for ptxas."""
    include_folders: tuple[Path, ...]
    """Search path of the user's headers, in order."""


def compile_options(options: Sequence[str], source: KernelSource) -> CompileOptions:
    """Sorts options by tool; relative paths become absolute, since the compiler runs in another folder.

    Raises:
        InvalidInput: an option that gpushare sets, or one that does not apply to PTX.

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
            raise InvalidInput(f"option {option!r} is set by gpushare; choose with compile(arch='sm_90')")
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
    """The options with absolute paths, for a compiler that runs in another folder; each with its value.

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
    """An absolute path if the file exists; else the name, which the compiler searches in the header folders."""
    path = Path(header).absolute()
    return str(path) if path.is_file() else header


def _joined(options: Sequence[str]) -> list[str]:
    """``-I x`` and ``-Ix`` as ``-I=x``; the same for other options with a value."""
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
