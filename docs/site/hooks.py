# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs: the site has README, DESIGN and the notebooks, and links as GitHub follows them."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[2]
FROM_THE_TOP = {"README.md": "index.md", "DESIGN.md": "design.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
MADE_BY = re.compile(r"\A<!-- Generated [^\n]*-->\n")
LABEL = re.compile(r"^(```\w+) .*")
"""Which tests run an example stands behind its language, where GitHub ignores it."""
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def notebooks() -> list[Path]:
    """One for each task, and then those of the papers."""
    folder = CHECKOUT / "notebooks"
    return [*sorted(folder.glob("*.ipynb")), *sorted(folder.glob("papers/*.ipynb"))]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Papers and results need no line each in the navigation."""
    for title, folder in (("Papers", "papers"), ("Results", "results")):
        pages = sorted(
            path.relative_to(CHECKOUT / "docs").as_posix() for path in (CHECKOUT / "docs" / folder).rglob("*.md")
        )
        pages.sort(key=lambda page: (page.count("/"), not page.endswith("index.md")))
        if pages:
            config.nav.append({title: pages})
    config.nav.append({"Notebooks": [path.relative_to(CHECKOUT).as_posix() for path in notebooks()]})
    return config


@event_priority(100)  # before the plugin that renders notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what lies outside docs/."""
    for source, target in FROM_THE_TOP.items():
        files.append(File.generated(config, target, content=(CHECKOUT / source).read_text(encoding="utf-8")))
    for path in notebooks():
        place = path.relative_to(CHECKOUT).as_posix()
        files.append(File(place, str(CHECKOUT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of the checkout become those of the site; what the site does not have stays as text."""
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation"]
    original = next((source for source, target in FROM_THE_TOP.items() if target == here), f"docs/{here}")
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(LABEL.sub(r"\1", found[0]))
        return f"\0{len(kept) - 1}\0"

    def linked(found: re.Match[str]) -> str:
        bang, text, link, anchor = found[1], found[2], found[3], found[4] or ""
        if not link or ":" in link:
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(original), link))
        in_site = FROM_THE_TOP.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(in_site):
            return f"{bang}[{text}]({posixpath.relpath(in_site, posixpath.dirname(here) or '.')}{anchor})"
        return text if (CHECKOUT / target).exists() else found[0]

    text = LINK.sub(linked, FENCE.sub(keep, MADE_BY.sub("", markdown)))
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], text)
