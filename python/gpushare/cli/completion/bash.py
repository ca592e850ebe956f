# SPDX-License-Identifier: Apache-2.0
"""Completion in bash of words with colons, such as ``sim:h100``.

Bash ends words at colons and equals signs, and replaces only what follows the last of them. Click's script passes on
the parts; this one passes on the line, and removes from every proposal what bash keeps.
"""

from __future__ import annotations

import os

from click.shell_completion import BashComplete, CompletionItem, add_completion_class
from click.shell_completion import split_arg_string as words_of

VARIABLE = "_GPUSHARE_COMPLETE"
"""Set by the script of any shell that asks for proposals; the name is click's."""
SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion kind value
    response=$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
%(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r kind value <<< "$completion"
        case $kind in
            dir) compopt -o dirnames 2> /dev/null ;;
            file) compopt -o default 2> /dev/null ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=:,+] ]]; then
        compopt -o nospace 2> /dev/null
    fi
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class BashWithColons(BashComplete):
    """Completes the last word of the whole line."""

    source_template = SCRIPT
    kept = ""
    """The begin of the word that bash leaves as it is."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the incomplete one, without the program, and the incomplete one."""
        line = os.environ["COMP_LINE"]
        words = words_of(line)[1:]
        incomplete = "" if not words or line[-1:].isspace() else words.pop()
        value = incomplete.partition("=")[2] if incomplete.startswith("--") else incomplete
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        self.kept = value[: 1 + max((value.rfind(each) for each in ":=" if each in breaks), default=-1)]
        return words, incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        """The proposal for the script."""
        return f"{item.type},{item.value.removeprefix(self.kept)}"


def register() -> None:
    """Makes click use it."""
    add_completion_class(BashWithColons, "bash")
