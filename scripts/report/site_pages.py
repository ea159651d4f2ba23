"""MkDocs hook: makes pages from files outside of docs/, and links to such files.

README files of other folders, the man page, the C header and the changelog become pages.  Links to them and to other
files of the repository are rewritten, so that the same Markdown works in the repository and on the site.
"""
import pathlib
import posixpath
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {"slurm/README.md": "howto/slurm.md", "kernels/README.md": "ladder.md", "CHANGELOG.md": "changelog.md",
         "include/damier.h": "damier_h.md", "docs/damier.1": "manual.md"}
SOURCE_OF = {page: source for source, page in PAGES.items()}
SHOWN = re.compile(r"(\.svg|\.json|\.md)$")


def escaped(text):
    return re.sub(r"([*_<>\[\]`|])", r"\\\1", text.replace("\\(dq", '"').replace("\\&", "").replace("\\e", "\\\\"))


def inline(words):
    """A macro line of mdoc as Markdown."""
    out, mark = [], None
    for word in words:
        if word in ("Fl", "Ar", "Cm", "Ev", "Xr", "Op", "Nm"):
            mark = word
        elif mark == "Fl" and word not in (",", "|"):
            out.append(f"`-{word}`")
        elif mark == "Xr" and word.isdigit():
            out[-1] += f"({word})"
        elif mark == "Ar" and word not in (",", "|", ";", "."):
            out.append(f"*{escaped(word)}*")
        elif mark in ("Cm", "Ev") and word not in (",", ";", "."):
            out.append(f"`{word}`")
        else:
            out.append(escaped(word))
    return re.sub(r" ([,;.])( |$)", r"\1\2", " ".join(out))


def manual(text):
    """The subset of mdoc that damier --man-page writes."""
    out, synopsis = ["# damier(1)", ""], False
    for line in text.splitlines():
        if not line.startswith("."):
            out.append(escaped(line))
            continue
        macro, *words = line[1:].split()
        if macro in ("Sh", "Ss"):
            synopsis = words == ["SYNOPSIS"]
            out += ["", f"{'##' if macro == 'Sh' else '###'} {' '.join(words).capitalize() if macro == 'Sh' else ' '.join(words)}", ""]
        elif macro == "It":
            out += ["", inline(words if not words[0].isdigit() else [f"{words[0]}:"]), ""]
            out[-2] = f"**{out[-2]}**" if words[0].isdigit() else out[-2]
        elif macro == "Dl":
            out += [f"    {' '.join(words)}".replace("\\(dq", '"'), ""]
        elif macro == "Nm":
            out += ["", "`damier`"] if synopsis else ["damier"]
        elif macro == "Nd":
            out.append("— " + " ".join(words))
        elif macro in ("Cm", "Op", "Ar", "Fl", "Xr", "Ev"):
            out.append(inline([macro, *words]) if macro != "Op" else "[*options*]")
    return "\n".join(out) + "\n"


def page_of(source):
    text = (ROOT / source).read_text(encoding="utf-8")
    if source.endswith(".h"):
        return f"# damier.h\n\nThe whole C interface; [the library](../docs/library.md) explains it.\n\n```c\n{text}```\n"
    return manual(text) if source.endswith(".1") else text


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=page_of(source)))
    return files


def target_of(link, source):
    """The file of the repository that LINK of the file SOURCE names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def on_page_markdown(markdown, page, **_):
    here = page.file.src_uri
    source = SOURCE_OF.get(here, "docs/" + here)

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
