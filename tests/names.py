#!/usr/bin/env python3
"""Checks that a name means one thing: names.py ROOT, or --self to check the checker.

Functions (static ones, too), types, constants, macros and variables of files each occur in one file of src and bench. A name
that several parts want gets the prefix of its part, which is that of its header: `queue_open`. Files that stand in for what a
build lacks define what they stand in for. Kernels are not checked: their rungs are read side by side, and name the same step
the same.
"""
import collections
import pathlib
import re
import sys
import tempfile

PLACES = ("src", "bench")
STAND_IN = re.compile(r"(absent|_without)\.c$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
FUNCTION = re.compile(r"^(?!typedef|return|else|struct \w+ \{)[A-Za-z_][\w \t*]*?\b(\w+)\((?:[^;{}])*\)\s*\{", re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|union|enum)(?: (\w+))? \{|^\} (\w+);|^typedef (?!(?:struct|union) \w+ \w+;)[^;{}()]*?\b(\w+);", re.M)
ENUM = re.compile(r"\benum(?: \w+)? \{([^}]*)\}")
MACRO = re.compile(r"^#define (\w+)", re.M)
VARIABLE = re.compile(r"^(?:static |const |_Thread_local )+[\w \t*]*?\b(\w+)(?:\[[^\]]*\])*(?: =|;)", re.M)


def names_in(text):
    """The names that a formatted file defines at its outermost level, and all its enumerators."""
    text = COMMENT.sub(lambda found: '""' if found[0][0] == '"' else " ", text)
    names = set(MACRO.findall(text)) | set(FUNCTION.findall(text)) | set(VARIABLE.findall(text))
    names |= {name for found in TYPE.findall(text) for name in found if name}
    for inside in ENUM.findall(text):
        names |= {item.split("=")[0].strip() for item in re.sub(r"\([^()]*\)", "", inside).split(",")}
    return {name for name in names if re.fullmatch(r"[A-Za-z_]\w*", name)} - {"main"}


def check(root):
    files_of = collections.defaultdict(set)
    for file in sorted(f for place in PLACES for f in root.glob(f"{place}/**/*.[ch]")):
        for name in names_in(file.read_text()):
            files_of[name].add(file.relative_to(root).as_posix())
    problems = []
    for name, files in sorted(files_of.items()):
        own = sorted(f for f in files if not STAND_IN.search(f))
        declared = {re.sub(r"\.[ch]$", "", f) for f in own}  # a table is declared in its header
        if len(declared) > 1:
            problems.append(f"{name} is defined in {', '.join(own)}: give each the prefix of its part")
    return problems


def check_itself():
    clean = {"src/a/one.h": "typedef struct one { int x; } one;\nenum { ONE_LIMIT = 3 };\n",
             "src/a/one.c": "static int one_add(int a,\n                   int b) {\n  return a + b;\n}\n",
             "src/a/two_absent.c": "int look(void) {\n  return 0;\n}\n", "src/a/two.c": "int look(void) {\n  return 1;\n}\n",
             "src/a/three.c": '/* enum { LIMIT } */\nstatic const char *const three_texts[] = {"enum { LIMIT }"};\n'
                              "int three(void) {\n  int look = 0;\n  return look;\n}\n",
             "src/a/three.h": "typedef struct one one;\nint three(void);\nextern const char *const three_texts[];\n",
             "bench/four.c": "int main(void) {\n  return 0;\n}\n", "src/a/main.c": "int main(void) {\n  return 0;\n}\n"}
    planted = {"static": "static int one_add(int a) {\n  return a;\n}\n", "type": "typedef struct {\n  int y;\n} one;\n",
               "tag": "struct one {\n  int y;\n};\n", "constant": "void x(void) {\n  enum { ONE_LIMIT = (1 << 2) };\n}\n",
               "second constant": "enum kinds { FIRST = (1, 2), ONE_LIMIT };\n", "variable": "static const char *const three_texts[2];\n",
               "macro": "#define three_texts 3\n", "external": "dm_status one_add(int a)\n{\n}\n", "pointer": "typedef int *one;\n"}
    missed = []
    for what, text in {"": None, **planted}.items():
        with tempfile.TemporaryDirectory() as scratch:
            for name, inside in {**clean, **({"src/b/five.c": text} if text else {})}.items():
                path = pathlib.Path(scratch, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(inside)
            if bool(check(pathlib.Path(scratch))) != bool(what):
                missed.append(f"the checker is wrong about: {what or 'a clean tree'}")
    return missed


def main():
    problems = check_itself() if sys.argv[1:] == ["--self"] else check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "each name once")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
