# SPDX-License-Identifier: Apache-2.0
"""The page of the C++ client: its header's comments, by class."""

import re
from collections.abc import Iterator
from pathlib import Path

from table import markdown

CHECKOUT = Path(__file__).parents[2]
HEADER = CHECKOUT / "src/client/include/gpushare/client.hpp"
EXAMPLE = CHECKOUT / "docs/guide/cpp/vector_add.cpp"
CLASS = re.compile(r"^((?:///.*\n)+)(?:class|struct) (\w+)(?: : public ([\w:]+))? \{$", re.MULTILINE)
NOT_SHOWN = re.compile(r"friend |~|\w+\(\w+&&\)|\w+& operator=|using |template |static_assert")


def cpp_client_page() -> str:
    """Introduction, errors, and the other classes with their members."""
    header = HEADER.read_text(encoding="utf-8")
    classes = list(classes_of(header))
    errors = [[f"`{name}`", f"`{base}`", words] for name, base, words, _ in classes if base]
    parts = [TITLE, introduction(header), BUILDING, example()]
    parts += ["## Errors", markdown(["exception", "is a", "meaning"], errors)]
    for name, base, words, members in classes:
        if not base:
            parts += [f"## {name}", words, *([markdown(["member", "meaning"], members)] if members else [])]
    return "\n\n".join(parts)


def introduction(header: str) -> str:
    """The comment at the top, without the licence."""
    lines = header.split("#pragma once")[0].splitlines()[1:]
    return "\n".join(line.removeprefix("//").strip() for line in lines).strip()


def example() -> str:
    """The program, without its licence."""
    return f"```cpp\n{EXAMPLE.read_text(encoding='utf-8').split(chr(10), 1)[1].strip()}\n```"


def classes_of(header: str) -> Iterator[tuple[str, str, str, list[list[str]]]]:
    """Every class that is defined: its name, its base, its comment, and its public members."""
    for found in CLASS.finditer(header):
        body = header[found.end() :].split("\n};")[0].split(" private:")[0].removeprefix("\n public:")
        yield found[2], found[3] or "", joined(found[1]), list(members_of(body, found[2]))


def members_of(body: str, name: str) -> Iterator[list[str]]:
    """The members of a class, as they are declared, and their comments."""
    comment = declared = ""
    for line in map(str.strip, body.splitlines()):
        if line.startswith("///"):
            comment += line + "\n"
            continue
        code, _, behind = line.partition("///<")
        declared = f"{declared} {code.strip()}".strip()
        if NOT_SHOWN.match(declared) and not declared.startswith("template"):
            comment = declared = ""
        elif declared.startswith("template") and declared.endswith(">"):
            declared = ""
        elif declared.endswith((";", "{", "}")) or ") :" in declared:
            if comment or behind:
                yield [f"`{shown(declared, name)}`", joined(comment) or joined(behind)]
            comment = declared = ""


def shown(declared: str, name: str) -> str:
    """A declaration without what follows it."""
    declared = re.sub(r"(?<!=) \{.*", "", re.sub(r"\) :.*", ")", declared)).rstrip(";")
    return re.sub(rf"^explicit (?={name})", "", declared.removesuffix("{}"))


def joined(comment: str) -> str:
    """Its sentences in one line, as prose."""
    words = " ".join(line.strip().lstrip("/<").strip() for line in comment.strip().splitlines())
    return words[:1].upper() + words[1:].removesuffix(".") + "." if words else ""


TITLE = "# The C++ client"

BUILDING = """\
## Build and use

It needs a compiler of C++20 and nlohmann-json (`apt-get install nlohmann-json3-dev`), and Linux:

```sh
cmake -S src/client -B build/client && cmake --build build/client
cmake --install build/client --prefix ~/.local
```

In a project of CMake:

```cmake
find_package(gpushare REQUIRED)
target_link_libraries(program PRIVATE gpushare::client)
```

The library is static; `-DBUILD_SHARED_LIBS=ON` makes a shared one. Client and server are of one release.
This is [docs/guide/cpp](../guide/cpp/vector_add.cpp):"""

PAGES = {"docs/reference/cpp-client.md": cpp_client_page}
