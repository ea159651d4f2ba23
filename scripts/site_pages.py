"""MkDocs hook: makes pages from files outside of docs/, and links to such files.

README files of other folders, the man page, the C header and the changelog become pages.  Links to them and to other
files of the repository are rewritten, so that the same Markdown works in the repository and on the site.  If the address of the
repository is known, pages that speak of a clone name it.
"""
import pathlib
import posixpath
import re
import subprocess

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {"slurm/README.md": "howto/slurm.md", "kernels/README.md": "ladder.md", "CHANGELOG.md": "changelog.md",
         "include/damier.h": "damier_h.md", "docs/damier.1": "manual.md", "packaging/README.md": "packages.md"}
SOURCE_OF = {page: source for source, page in PAGES.items()}
LANDING = "index.md"
SHOWN = re.compile(r"(\.svg|\.json|\.md)$")


def manual(source):
    """The man page as Markdown, below one title and without mandoc's first and last line. What options do is no code."""
    done = subprocess.run(["mandoc", "-T", "markdown", str(ROOT / source)], capture_output=True, text=True, check=True)
    text, examples, rest = re.sub(r"^#", "##", done.stdout, flags=re.M).partition("## EXAMPLES")
    lines = (text.replace("\n\t", "\n") + examples + rest).strip().splitlines()
    return "\n".join(["# damier(1)", *lines[1:-1], ""])


def page_of(source):
    text = (ROOT / source).read_text(encoding="utf-8")
    if source.endswith(".h"):
        return f"# damier.h\n\nThe whole C interface; [the library](../docs/library.md) explains it.\n\n```c\n{text}```\n"
    return manual(source) if source.endswith(".1") else text


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=page_of(source)))
    return files


def target_of(link, source):
    """The file of the repository that LINK of the file SOURCE names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def on_page_markdown(markdown, page, config, **_):
    here = page.file.src_uri
    source = SOURCE_OF.get(here, "docs/" + here)
    if here == LANDING:
        page.meta["hide"] = ["navigation", "toc"]
    if config.repo_url:
        markdown = markdown.replace("git clone ADDRESS", f"git clone {config.repo_url}")
        markdown = markdown.replace("a clone of the repository, on", f"a clone of [the repository]({config.repo_url}), on")

    def rewritten(match):
        text, link, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", link) or not link:
            return match[0]
        target = target_of(link, source)
        page_there = PAGES.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") and SHOWN.search(target) else None)
        if page_there is None and not (ROOT / target).exists():
            raise PluginError(f"{source}: {link} leads nowhere")
        if page_there is None:
            return f"`{target}`"
        return f"[{text}]({posixpath.relpath(page_there, posixpath.dirname(here) or '.')}{anchor})"

    return re.sub(r"(?<!`)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)#\s]*)(#[^)\s]*)?\)", rewritten, markdown)


def on_page_content(html, page, **_):
    """Images have alt texts, and no list or table of the Markdown became part of a paragraph."""
    inside = re.search(r"<p>(?:(?!</p>).)*\n *(- [^\n]*|\d+\. [^\n]*|\|[^\n]*\| *(?=\n|<))", html, re.S)
    image = re.search(r"<img(?![^>]*\balt=\"[^\"])[^>]*>", html)
    if inside or image:
        raise PluginError(f"{page.file.src_uri}: " + (f"in a paragraph: {inside[1]}" if inside else f"{image[0]} has no text"))
    return f'<div class="landing">\n{html}</div>' if page.file.src_uri == LANDING else html
