#!/usr/bin/env python3
"""Compares what users build on with the lists in tests/promised, as docs/promise.md promises.

promise.py --damier PROGRAM --library FOLDER [--update]. A line that is gone breaks the promise; --update adds new lines, and writes
changed ones, which only a new major version may have.
"""
import argparse
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests/promised"


def told(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True).stdout


def header():
    """damier.h without comments and lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include/damier.h").read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)


def symbols(options):
    """The functions that the shared library exports."""
    names = [line.split()[-1] for line in told("nm", "-D", "--defined-only", options.library / "libdamier.so").splitlines()]
    return [name for name in names if name.startswith("damier_")]


def interface(_):
    """Declarations of functions; values of constants, and sizes and places of fields, as a compiler sees them."""
    text = header()
    lines = [" ".join(found.split()) for found in re.findall(r"DAMIER_API ([^;]*);", text)]
    asked = []
    for name, body in re.findall(r"typedef enum (\w+) \{(.*?)\} \1;", text, re.S):
        asked += [f'printf("{name}: {c} = %d\\n", (int){c});' for c in re.findall(r"\b(DAMIER_\w+)", body)]
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S):
        asked.append(f'printf("{name}: %zu bytes\\n", sizeof({name}));')
        for field in re.findall(r"(\w+)(?:\[\w+\])?\s*;", body):
            asked.append(f'printf("{name}.{field} at %zu, %zu bytes\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    program = f"#include <damier.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{ {' '.join(asked)} }}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text(program)
        told(os.environ.get("CC", "cc"), "-DDAMIER_MPI=0", f"-I{ROOT / 'include'}", source, "-o", made)
        return lines + told(made).splitlines()


def options_of_verbs(options):
    """The options of each verb but those of bench, with the words they take."""
    lines = []
    for verb in re.findall(r"^  ([a-z]+)  ", told(options.damier, "--help").partition("\nVerbs:")[2], re.M):
        lines += [f"{verb} {' '.join(found.split())}"
                  for found in re.findall(r"^ {2,6}((?:-\w, )?--[\w-]+(?: \S+)?)", told(options.damier, verb, "--help-all"), re.M)]
    return lines


def exit_codes(options):
    page = told(options.damier, "--man-page").partition(".Sh EXIT STATUS")[2].partition(".Sh ")[0]
    return [f"{code}: {meaning}" for code, meaning in re.findall(r"^\.It (\d+)\n(.*)$", page, re.M)]


def fields(schema, definitions, path=""):
    """The fields of a record with their types."""
    while "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    for option in schema.get("anyOf", []) + schema.get("oneOf", []):
        yield from fields(option, definitions, path)
    kind = schema.get("type", "" if "const" not in schema else json.dumps(schema["const"]))
    if path and kind:
        yield f"{path}: {kind if isinstance(kind, str) else ' or '.join(kind)}"
    for name, inner in schema.get("properties", {}).items():
        yield from fields(inner, definitions, f"{path}.{name}" if path else name)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], definitions, path + ".*")
    if isinstance(schema.get("items"), dict):
        yield from fields(schema["items"], definitions, path + "[]")


def measured(options):
    """The fields of a product's record, of parts whose names the schema leaves open."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        told(options.damier, "generate", folder / "A.h5", "--size", 100, "-q")
        text = told(options.damier, "multiply", folder / "A.h5", folder / "A.h5", "-o", folder / "C.h5", "--backend", "cpu", "-q", "--json", "-")
    for part in ("problem", "plan", "forecast", "times", "rates", "memory", "verification"):
        yield from (f"{part}.{field} in the record of multiply" for field in json.loads(text)[part])


def record(options):
    """docs/record.schema.json, which records of every verb are checked against (records/schema_cases.py), and what a product writes."""
    schema = json.loads((ROOT / "docs/record.schema.json").read_text(encoding="utf-8"))
    return [*fields(schema, schema.get("$defs", {})), *measured(options)]


def python(_):
    """The names of the package, and the parameters of its functions."""
    sys.path.insert(0, str(ROOT / "python"))
    import damier
    for name in damier.__all__:
        yield name
        what = getattr(damier, name)
        parameters = [] if inspect.isclass(what) or not callable(what) else inspect.signature(what).parameters.values()
        for place, parameter in enumerate(parameters, 1):
            where = "keyword" if parameter.kind is parameter.KEYWORD_ONLY else place
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                yield f"{name}, {where}: {parameter.replace(annotation=parameter.empty)}"


PROMISED = {"symbols": symbols, "interface": interface, "options": options_of_verbs, "exit_codes": exit_codes, "record": record, "python": python}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damier", required=True, type=pathlib.Path)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    os.environ["DAMIER_LIBRARY"] = str(options.library)
    wrong = False
    for name, find in PROMISED.items():
        file = LISTS / f"{name}.txt"
        found = sorted(set(find(options)))
        if options.update:
            file.write_text("".join(line + "\n" for line in found), encoding="utf-8")
        promised = file.read_text(encoding="utf-8").splitlines()
        for line in sorted(set(promised) ^ set(found)):
            wrong = True
            print(f"{file.relative_to(ROOT)}: {'is promised, and gone or changed' if line in promised else 'is new'}: {line}")
    print("tests/promise.py --update accepts this: docs/promise.md says when that is right" if wrong else "in order")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
