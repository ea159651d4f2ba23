#!/usr/bin/env python3
"""Checks the order of the layers: layers.py ROOT [LIBRARY.a ...], or --self to check the checker.

Includes only go downward, siblings never include each other, calls between the files of a folder have no circles, and code outside
of kernels only includes headers at the top of kernels; a rung of the ladder includes few of our headers; headers of big libraries stay
in their places; file names are unique; layers below cli have no writable static memory; one file asks HDF5 what there is.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import names

LEVEL = {"core": 0, "comm": 1, "kernels": 1, "plan": 2, "dataset": 2, "transport": 2, "backend": 2, "reduce": 2,
         "io": 3, "run": 3, "inspect": 4, "check": 4, "engine": 5, "layout": 6, "transform": 7, "product": 8, "programs": 9,
         "options": 10, "api": 11, "cli": 11, "bench": 12}
FOLDERS = ("ladder", "helpers", "residues", "split")  # folders of kernels, bottom to top; headers at the top of kernels are below them
RUNG_HEADERS, RUNG_LINES = 3, 250  # what a file of kernels/ladder may include of ours, with what these include
ALLOWED = [(r"mpi\.h", {"comm"}), (r"hdf5.*\.h", {"dataset", "io", "inspect"}), (r"nccl\.h", {"transport"}),
           (r"(cuda|cublas|nvrtc|nvToolsExt|nvtx).*", {"kernels", "backend", "transport"})]
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
DRIVES = ("engine/product.h", "engine/execute.h", "engine/endpoint.h", "engine/endpoint.h", "engine/rank_state.h")
PLACES = ("src", "kernels", "bench")  # where the layers are
SOURCES = (".c", ".h", ".cu", ".cuh", ".py")


def layer_of(path):
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def check_quoted(path, layer, target):
    """Includes of our headers have the form "layer/file.h"."""
    other = target.split("/")[0] if "/" in target else None
    if target in DRIVES and layer not in ("engine", "layout", "transform", "product", "programs"):
        return [f"{path}: only product drives the engine, not {layer} ({target})"]
    if other not in LEVEL:
        return [f"{path}: \"{target}\" does not name its layer"]
    if other != layer and LEVEL[other] >= LEVEL[layer]:
        word = "a sibling" if LEVEL[other] == LEVEL[layer] else "a layer above"
        return [f"{path}: \"{target}\" is of {word}"]
    return check_folder(path, layer, target.split("/")) if other == "kernels" else []


def check_folder(path, layer, target):
    """Folders of kernels count as layers."""
    height = FOLDERS.index(target[1]) if target[1] in FOLDERS else -1
    own = FOLDERS.index(path.parts[1]) if layer == "kernels" and path.parts[1] in FOLDERS else -1
    return [f"{path}: {'/'.join(target)} is inside of kernels"] if height > own else []


def check_system(path, layer, target):
    return [f"{path}: <{target}> belongs in {', '.join(sorted(places))}"
            for pattern, places in ALLOWED
            if re.fullmatch(pattern, target) and layer not in places]


def check_includes(root):
    problems, nccl = [], []
    for folder in PLACES:
        for file in sorted(root.glob(f"{folder}/**/*.[ch]*")):
            path = file.relative_to(root)
            layer = layer_of(path)
            if layer not in LEVEL:
                problems.append(f"{path}: {layer} is no layer")
                continue
            for quoted, system in INCLUDE.findall(file.read_text()):
                if quoted:
                    problems += check_quoted(path, layer, quoted)
                else:
                    problems += check_system(path, layer, system)
                    nccl += [path] * (system == "nccl.h")
    if len(set(nccl)) > 1:
        problems.append(f"nccl.h is included in {len(set(nccl))} files")
    return problems


HIDDEN = [(re.compile(r"hopper|dm_cuda_|\"backend/c(uda|pu)", re.I), {"backend", "transport"}),  # architectures
          (re.compile(r"(->|\.)splits\b"), {"core", "backend"})]  # which compute mode it is; other code reads its properties

# Calls of HDF5 whose negative result is easily taken for "there is none", and the file that tells the two apart.
LOOKS = re.compile(r"\bH5(Aexists|Lexists|Oexists|Aopen|Aiterate|Aget_name)\w*\s*\(")
LOOKS_PLACE = "src/dataset/hdf5_has.c"


def check_looks(root):
    return [f"{path}: {found.group(0)}) belongs in {LOOKS_PLACE}: an error of HDF5 is no absence"
            for place in ("src", "bench") for file in sorted(root.glob(f"{place}/**/*.[ch]")) if (path := file.relative_to(root).as_posix()) != LOOKS_PLACE
            for found in LOOKS.finditer(file.read_text())]


def check_hidden(root):
    """What belongs to one place is named nowhere else."""
    return [f"{file.relative_to(root)}: {found.group(0)} belongs in {', '.join(sorted(places))}"
            for place in ("src", "bench") for file in sorted(root.glob(f"{place}/**/*.[ch]"))
            for pattern, places in HIDDEN if layer_of(file.relative_to(root)) not in places
            for found in pattern.finditer(file.read_text())]


# Where files call each other in a circle because what they work on is recursive: a dataset that is made of datasets.
RECURSIVE = {"inspect": {"examine.c"}, "io": {"read.c", "read_parts.c", "sources.c"}}


def sources_of(root, folder):
    return sorted(file for place in ("src/", "") for file in root.glob(f"{place}{folder}/*.c"))


def uses_of(files):
    """For each of FILES the others that define what it names: functions and tables that are not static."""
    texts = {file.name: names.COMMENT.sub(" ", file.read_text()) for file in files}
    homes = collections.defaultdict(set)
    for name, text in texts.items():
        for found in (*names.FUNCTION.finditer(text), *names.VARIABLE.finditer(text)):
            if not re.match(r"(static|DM_INLINE)\b", found[0]):
                homes[found[1]].add(name)
    homes = {symbol: next(iter(files)) for symbol, files in homes.items() if len(files) == 1}  # else one stands in for another
    return {name: {homes[word] for word in set(re.findall(r"\w+", text)) if word in homes} - {name} for name, text in texts.items()}


def circle_in(below):
    """The nodes that are left when those are removed, again and again, that are above or below all others."""
    while True:
        free = {u for u in below if not below[u] or not any(u in b for b in below.values())}
        if not free:
            return below
        below = {u: b - free for u, b in below.items() if u not in free}


def check_levels(root):
    """The files of each folder form levels: neither their calls nor the includes of their headers have circles."""
    problems = []
    for folder in LEVEL:
        below = uses_of(sources_of(root, folder))
        while circle := circle_in(below):
            start = RECURSIVE.get(folder, set()) & circle.keys()
            if not start:
                problems.append(f"{folder}: circles among " + ", ".join(f"{u} (calls {', '.join(sorted(b))})" for u, b in sorted(circle.items())))
                break
            below = {u: b - start for u, b in circle.items() if u not in start}
        headers = {f"{folder}/{file.name}": file for place in ("src/", "") for file in root.glob(f"{place}{folder}/*.h")}
        if circle := circle_in({h: {t for t, _ in INCLUDE.findall(f.read_text()) if t in headers} - {h} for h, f in headers.items()}):
            problems.append(f"{folder}: headers include each other: {', '.join(sorted(circle))}")
    return problems


def headers_of(root, file, seen):
    """Adds our headers that FILE includes, directly or not, to SEEN."""
    for quoted, _ in INCLUDE.findall(file.read_text()):
        header = next((h for h in (root / quoted, root / "src" / quoted) if quoted and h.exists()), None)
        if header and header not in seen:
            seen.add(header)
            headers_of(root, header, seen)
    return seen


def check_rungs(root):
    """Each rung can be read with at most RUNG_HEADERS headers of RUNG_LINES lines together."""
    problems = []
    for file in sorted(root.glob("kernels/ladder/*.cu")):
        headers = headers_of(root, file, set())
        lines = sum(len(h.read_text().splitlines()) for h in headers)
        if len(headers) > RUNG_HEADERS or lines > RUNG_LINES:
            problems.append(f"{file.relative_to(root)} includes {len(headers)} of our headers with {lines} lines, not at most "
                            f"{RUNG_HEADERS} with {RUNG_LINES}: {', '.join(sorted(h.name for h in headers))}")
    return problems


def check_names(root):
    seen, problems = {}, []
    for folder in (*PLACES, "tests", "scripts"):
        for file in sorted(root.glob(f"{folder}/**/*")):
            if file.suffix not in SOURCES or "__pycache__" in file.parts:
                continue
            other = seen.setdefault(file.name, file)
            if other is not file:
                problems.append(f"{file.relative_to(root)} has the name of {other.relative_to(root)}")
    return problems


PERMITTED = {"libdm_dataset.a": ("hdf5_in_use", "watched", "entered")}  # the lock around HDF5, whose own state is global
HEADERS_OWN = ("nvtxGlobals_v3", "InitializeInjectionNvtx2_fnptr") # defined by NVTX in files that include it


def check_statics(library):
    """Symbols in writable sections; tables of constant pointers are in .data.rel.ro."""
    table = subprocess.run(["objdump", "-t", library], capture_output=True, text=True, check=True)
    problems = []
    for line in table.stdout.splitlines():
        found = re.match(r"^[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$", line)
        if not found:
            continue
        section, size, name = found.groups()
        writable = re.match(r"\.(data|bss|tdata|tbss)\b|\*COM\*", section)
        if name in HEADERS_OWN or name in PERMITTED.get(pathlib.Path(library).name, ()):
            continue
        if writable and not section.startswith(".data.rel.ro") and int(size, 16) > 0:
            problems.append(f"{pathlib.Path(library).name}: variable {name} in {section}")
    return problems


def check_itself():
    """Finds every kind of violation, planted in an otherwise clean tree; passes the clean tree."""
    clean = {"src/core/a.h": "", "src/core/b1.h": "", "src/core/b2.h": "", "src/plan/b.c": '#include "core/a.h"\n#include <stdio.h>\n',
             "src/comm/c.c": "#include <mpi.h>\n", "kernels/ladder/k.cuh": '#include "core/a.h"\n',
             "kernels/long.h": "\n" * 251, "kernels/k.h": "\n" * 200,
             "kernels/ladder/k.cu": '#include "kernels/ladder/k.cuh"\n#include "kernels/k.h"\n',
             "kernels/split/s.cu": '#include "kernels/ladder/k.cuh"\n#include "kernels/long.h"\n',
             "src/product/j.c": '#include "plan/b.h"\n#  include "comm/c.h" /* why */\n',
             "src/run/l.h": "", "src/run/l_impl.h": '#include "run/l.h"\n', "src/run/m.h": "",
             "src/run/l.c": '#include "run/m.h"\nint dm_l(void) {\n  return dm_m();\n}\n', "src/run/m.c": "int dm_m(void) {\n  return 3;\n}\n",
             "src/io/read.c": "int dm_read(void) {\n  return dm_part();\n}\n", "src/io/part.c": "int dm_part(void) {\n  return dm_read();\n}\n",
             "src/io/q.c": "int dm_q(void) {\n  return 3;\n}\n", "src/io/r.c": "int dm_r(void) {\n  return dm_q();\n}\n"}
    planted = {"src/io/y.c": "if (H5Aexists(set, name) <= 0) ;\n", "src/run/y.c": "if (dm_cuda_x()) ;\n", "src/run/z.c": "if (row->splits) ;\n",
               "src/core/x.c": '#include "plan/b.h"\n', "src/dataset/x.c": '#include "plan/b.h"\n',
               "src/comm/x.c": '#include "kernels/k.h"\n',
               "src/run/x.c": '#include "kernels/ladder/k.cuh"\n',
               "kernels/ladder/x.cu": '#include "kernels/helpers/k.h"\n',
               "kernels/ladder/y.cu": '#include "kernels/long.h"\n',
               "kernels/ladder/z.cu": "".join(f'#include "{h}"\n' for h in ("core/a.h", "kernels/ladder/k.cuh", "core/b1.h", "core/b2.h")),
               "kernels/x.h": '#include "kernels/helpers/k.h"\n', "src/product/x.c": "#include <mpi.h>\n",
               "src/plan/x.c": "#include <hdf5.h>\n", "src/cli/x.h": "#include <cublas_v2.h>\n",
               "src/backend/x.c": "#include <nccl.h>\n", "src/odd/x.c": "\n",
               "bench/x.c": '#include "engine/product.h"\n', "src/core/b.c": "\n",
               "src/run/l.h": '#include "run/l_impl.h"\n', "src/run/m.c": "int dm_m(void) {\n  return dm_l(); /* a circle */\n}\n",
               "src/io/q.c": "int dm_q(void) {\n  return dm_r();\n}\n",
                "src/plan/x.h": '#include "bare.h"\n'}
    missed = [name for name, text in {"": "", **planted}.items()
              if bool(name) != bool(problems_of({**clean, **({name: text} if name else {})}))]
    with tempfile.TemporaryDirectory() as scratch:
        for text, bad in (("int counter = 3;", True), ("static int c; int f(void) { return c++; }", True),
                          ("const char *const t[] = {\"a\"};", False), ("int x[4];", True)):
            source, made = pathlib.Path(scratch, "s.c"), pathlib.Path(scratch, "s.o")
            source.write_text(text + "\n")
            subprocess.run(["cc", "-fPIE", "-O1", "-c", source, "-o", made], check=True)
            if bool(check_statics(str(made))) != bad:
                missed.append(text)
    return [f"the checker is wrong about: {name or 'a clean tree'}" for name in missed]


def problems_of(files):
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_all(root)


def check_all(root):
    return check_includes(root) + check_levels(root) + check_hidden(root) + check_looks(root) + check_rungs(root) + check_names(root)


def main():
    if sys.argv[1:] == ["--self"]:
        problems = check_itself()
    else:
        root = pathlib.Path(sys.argv[1])
        problems = check_all(root)
        for library in sys.argv[2:]:
            problems += check_statics(library)
    print("\n".join(problems) or "in order")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
