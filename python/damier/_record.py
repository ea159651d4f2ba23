"""Records of calls: dictionaries with attributes, and short descriptions for people."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any


_MOST_DATASETS = 8  # that a short description has


class Part(dict[str, Any]):
    """A dictionary whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(map(str, self)) if not name.startswith("__") else ""
            raise AttributeError(f"there is no {name!r}; there are {known}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(key for key in self if key.isidentifier())})

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary, of plain dictionaries."""
        return {key: _plain(value) for key, value in self.items()}


class Record(Part):
    """What a call did: a dictionary of the schema ``damier/1`` (``docs/records.md``), whose entries are attributes, too.

    >>> np.save("A.npy", np.eye(3))
    >>> record = damier.multiply("A.npy", "A.npy", "R.npy")
    >>> record.verification.verdict, record["verification"]["verdict"], type(record.to_dict())
    ('PASS', 'PASS', <class 'dict'>)
    """

    def __repr__(self) -> str:
        facts = ", ".join(text for _, text in self._facts())
        return f"<Record of {self.get('verb', 'no call')}{': ' if facts else ''}{facts}>"

    def _repr_html_(self) -> str:
        import html

        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
                       for name, text in self._facts())
        parts = html.escape(", ".join(map(str, self)))
        return (f"<table><caption>damier {html.escape(str(self.get('verb', '')))}</caption>{rows}"
                f"<tr><td colspan='2' style='text-align:left'><small>record.to_dict() has {parts}</small></td></tr></table>")

    def _facts(self) -> Iterator[tuple[str, str]]:
        """What people look for first, each with its name."""
        problem, times, checked = (self.get(key) or {} for key in ("problem", "times", "verification"))
        if {"m", "n", "k"} <= problem.keys():
            yield "product", f"{problem['m']} x {problem['k']} times {problem['k']} x {problem['n']}"
        elif "dataset" in self:
            yield "dataset", f"{self['dataset'].get('shape')} {self['dataset'].get('type', '')}".strip()
        elif self.get("file"):
            yield from self._datasets()
        elif "backends" in self:
            yield from self._library()
        if str((self.get("files") or {}).get("c")).endswith(", made by an earlier run"):
            yield "result", self["files"]["c"]
        if problem.get("types"):
            yield "types", str(problem["types"])
        seconds = times.get("total_s", (self.get("forecast") or {}).get("total_s"))
        if seconds is not None:
            yield "time", f"{float(seconds):.3g} s{'' if 'total_s' in times else ' predicted'}"
        if checked.get("verdict"):
            residual = checked.get("residual")
            yield "verified", str(checked["verdict"]) + (f", {float(residual):.2g} of the allowed error" if residual is not None else "")
        for warning in self.get("warnings") or ():
            yield warning.get("kind", "warning"), str(warning.get("text", ""))


    def _datasets(self) -> Iterator[tuple[str, str]]:
        """The first of those in a file."""
        datasets = self["file"].get("datasets") or ()
        yield "file", f"{self['file'].get('name')} with {self['file'].get('count', len(datasets))} datasets"
        for one in datasets[:_MOST_DATASETS]:
            yield str(one.get("name")), f"{one.get('name')} {one.get('shape')} {one.get('type', '')}".strip()
        if len(datasets) > _MOST_DATASETS:
            yield "more", "..."

    def _library(self) -> Iterator[tuple[str, str]]:
        yield "version", f"damier {self.get('version')}"
        yield "cores", f"{(self.get('machine') or {}).get('cores')} cores"
        for name, backend in self["backends"].items():
            devices = [str(text).partition(";")[0] for key, text in backend.items() if key.startswith("device_")]
            yield name, f"{name}: {', '.join(devices) or str(backend.get('about')).partition(':')[0]}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def record_of_text(text: str | bytes | None) -> Record:
    """The record with this JSON; empty: there is none."""
    import json

    return Record(json.loads(text, object_hook=Part)) if text else Record()
