"""What the program says about its options, in Python's words; only looked at after an error or with a warning."""
from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from ._errors import UsageError

# What users of other packages call an option, or state otherwise.
_OTHERS = {
    "transpose_a": "op_a='t'", "trans_a": "op_a='t'", "transa": "op_a='t'", "ta": "op_a='t'", "opa": "op_a",
    "transpose_b": "op_b='t'", "trans_b": "op_b='t'", "transb": "op_b='t'", "tb": "op_b='t'", "opb": "op_b",
    "adjoint_a": "op_a='c'", "conjugate_a": "op_a='c'", "adjoint_b": "op_b='c'", "conjugate_b": "op_b='c'",
    "dtype": "type", "out_dtype": "type_c", "preferred_element_type": "type_c",
    "num_threads": "threads", "n_threads": "threads", "nthreads": "threads", "n_jobs": "threads", "workers": "threads",
    "num_gpus": "gpus", "n_gpus": "gpus", "ngpus": "gpus", "devices": "gpus", "device": "backend='cuda' or 'cpu'",
    "overwrite": "force=True", "exist_ok": "force=True", "compression": "deflate=6 or zstd=3", "chunks": "chunk",
    "rowvar": "of='rows' or of='columns'", "axis": "of='rows' or of='columns'", "ddof": "divide='n-1' or divide='n'",
    "bias": "divide='n'", "aweights": "weights", "fweights": "weights, with weights_are='frequency'", "skipna": "missing='pairwise'",
    "min_periods": "missing='pairwise'", "k": "top", "topk": "top", "top_k": "top", "n_best": "top", "threshold": "above or below",
    "lower_bound": "above", "n_components": "k, the second argument", "verbose": "progress=True", "show_progress": "progress=True",
    "check": "verify", "precision": "compute", "atol": "tolerance", "tol": "tolerance", "random_state": "seed", "standardize": "scale_a",
    "whiten": "damier.PCA(whiten=True)", "output": "out", "mem": "memory", "max_memory": "memory", "deterministic": "reproducible=True",
    "time_limit": "progress, a function that stops the call when it returns True", "timeout": "progress, a function that stops the call when it returns True",
    "max_time": "progress, a function that stops the call when it returns True", "dry_run": "damier.plan, which computes nothing",
    "smallest": "by='smallest'", "largest": "by='largest'", "n_neighbors": "top", "neighbors": "top", "gamma": "metric='rbf:GAMMA'",
    "squared": "metric='sqeuclidean'", "transpose": "op_a='t'", "half": "type='f16'", "compress": "deflate=6 or zstd=3",
    "compression_opts": "deflate=6", "complevel": "deflate=6", "blocksize": "memory", "block_size": "memory", "batch_size": "memory",
    "dataset": "the name of the dataset in the location: 'FILE.h5:/name'", "key": "the name of the dataset in the location: 'FILE.h5:/name'",
    "numeric_only": "table.select_dtypes('number')", "svd_solver": "method='gram' or 'passes'", "centered": "center_a",
    "mode": "append=True or force=True", "method": "metric, or a function of its own: damier.cov, damier.cor",
    "skip_existing": "if_needed=True", "skip_if_exists": "if_needed=True", "resume": "the same call, which goes on, or if_needed=True",
    "json": "json.dump(record.to_dict(), file)", "quiet": "progress; calls print nothing by themselves", "print": "progress=True",
}
# What others call a function.
_OF_OTHERS = {
    "dot": "matmul", "mm": "matmul", "bmm": "matmul", "mul": "matmul", "gemm": "matmul", "einsum": "matmul", "tensordot": "matmul",
    "inner": "matmul", "load": "open", "read": "open", "File": "open", "from_array": "open", "from_hdf5": "open", "corr": "cor", "corrcoef": "cor",
    "correlation": "cor", "covariance": "cov", "syrk": "gram", "herk": "gram", "ata": "gram", "crossprod": "gram", "write": "save",
    "to_hdf5": "save", "check": "verify", "allclose": "compare", "isclose": "compare", "describe": "info", "ls": "info", "topk": "matmul(..., top=K)",
    "argsort": "matmul(..., top=K)", "kneighbors": "gram(x, of='rows', metric='euclidean', top=K, no_self=True)",
    "cdist": "matmul(x, y, op_b='t', metric='euclidean')", "pdist": "gram(x, of='rows', metric='euclidean')",
    "pairwise_distances": "gram(x, of='rows', metric='euclidean')", "cosine_similarity": "gram(x, of='rows', metric='cosine')",
    "rbf_kernel": "gram(x, of='rows', metric='rbf:GAMMA')",
    "TruncatedSVD": "svd", "generate": "multiply; 'damier generate' is a command", "set_num_threads": "Context(threads=N)",
    "run": "multiply; 'damier run' is a command",
    "clean": "multiply; 'damier clean' is a command", "lstsq": "gram, with numpy.linalg.solve", "solve": "gram, with numpy.linalg.solve",
}
# Parameters, which stand beside the options.
_PARAMETERS = ("out", "comm", "c", "of", "progress", "scores", "output", "gpus")


def _options() -> dict[str, str]:
    """Their types, by their names."""
    from .options import ContextOptions, PlanOptions

    found = {name: getattr(kind, "__forward_arg__", str(kind))
            for table in (PlanOptions, ContextOptions) for name, kind in table.__annotations__.items()}
    names = {name: 'Literal["f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i32", "i64"]' for name, kind in found.items() if kind.startswith("TypeName")}
    return found | names | {"of": 'Literal["columns", "rows"]', "c": "str"}


def closest_option(name: str) -> str:
    """A hint for somebody who calls an option NAME.

    >>> closest_option("transpose_a"), closest_option("thread")
    ("did you mean op_a='t'?", 'did you mean threads?')
    """
    import difflib

    known = _options()
    key = name.lower().replace("-", "_")
    close = difflib.get_close_matches(key, [*known, *_PARAMETERS, *_OTHERS], 1)
    found = _OTHERS.get(key) or "".join(close)
    found = _OTHERS.get(found, found)
    return f"did you mean {found}?" if found else "damier.options.ContextOptions has the options"


def is_option(name: str) -> bool:
    """Whether a function has an option NAME."""
    return name in _options()


def unknown_option(name: str) -> UsageError:
    """The error of an option that does not exist."""
    key = name.replace("-", "_")
    return UsageError(f"there is no option {key!r}", hint=closest_option(key))


# What functions do in place of an option that they lack.
_INSTEAD = {
    "center": {"pca": "components are those of centered variables; damier.svd subtracts nothing", "svd": "damier.pca subtracts means",
               "cov": "covariances are those of centered variables; damier.gram centers nothing",
               "cor": "correlations are those of centered variables; metric='cosine' of damier.gram centers nothing",
               "matmul": "center_a and center_b of two matrices", "multiply": "center_a and center_b of two matrices"},
    "scale": {"cov": "damier.cor divides by deviations", "cor": "damier.cov divides by none", "svd": "damier.pca(x, k, scale=True)",
              "matmul": "scale_a and scale_b of two matrices", "multiply": "scale_a and scale_b of two matrices"},
    "method": {"cor": "correlations of ranks (Spearman's) are those of scipy.stats.rankdata(x, axis=0)"},
}


def foreign_option(function: str, options: Mapping[str, Any]) -> UsageError | None:
    """The error of an option in OPTIONS that other functions have, and this FUNCTION would ignore."""
    if not options:
        return None
    from . import options as tables

    names = ("multiply", "gram", "cov", "cor", "pca", "svd", "verify", "info", "plan")
    of = {name: getattr(tables, f"{name.capitalize()}Options").__optional_keys__ for name in names}
    own = of["multiply" if function == "matmul" else function] | {"allow_unchecked", *(["divide"] if function in ("cov", "cor") else [])}
    known = frozenset(["rank"]).union(*of.values())
    wrong = next((key for key, value in options.items() if value is not None and key in known and key not in own), None)
    if wrong is None:
        return None
    having = [f"damier.{name}" for name in ("matmul", *names[:6]) if wrong in of["multiply" if name == "matmul" else name]]
    with_it = " and ".join([", ".join(having[:-1]), having[-1]]) if len(having) > 1 else "".join(having)
    hint = _INSTEAD.get(wrong, {}).get(function) or (f"it is an option of {with_it}" if with_it else closest_option(wrong))
    return UsageError(f"damier.{function} has no option {wrong!r}", hint=hint)


# What arrays have, and matrices in files do not.
_OF_ARRAYS = {
    "mean": "damier.matmul(numpy.full(n, 1 / n), x) has the means of columns; damier.pca has them, too",
    "sum": "damier.matmul(numpy.ones(n), x) has the sums of columns, damier.matmul(x, numpy.ones(k)) those of rows",
    "var": "the diagonal of damier.cov(x) has the variances of columns", "std": "the diagonal of damier.cov(x) has the variances of columns",
    "values": "compute() reads it", "to_numpy": "compute() reads it", "read": "compute() reads it",
    "reshape": "shape_a and row_axes_a of damier.matmul state another shape", "mT": "op_a='t' and op_b='t' of damier.matmul",
    "conj": ".H transposes and conjugates", "min": "damier.matmul(x, numpy.eye(k), reduce='min') has those of rows",
    "max": "damier.matmul(x, numpy.eye(k), reduce='max') has those of rows", "astype": "type= of the call states the type of its computation",
    "to": "type= of the call states the type of its computation", "attrs": "h5py reads attributes", "chunks": "damier.info describes it",
}


def unknown_attribute(given: Any, name: str) -> AttributeError:
    """The error of an attribute that a matrix in a file, or an expression, lacks."""
    hint = _OF_ARRAYS.get(name)
    error = AttributeError(f"{type(given).__name__} has no attribute {name!r}{f': {hint}' if hint else ''}")
    if not hint:
        error.name, error.obj = name, given
    return error


def unknown_name(module: str, name: str) -> AttributeError:
    """The error of a function that does not exist.

    >>> str(unknown_name("damier", "corr"))
    "module 'damier' has no attribute 'corr': it has damier.cor"
    """
    hint = f": it has damier.{_OF_OTHERS[name]}" if name in _OF_OTHERS else ""
    error = AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
    if not hint:
        error.name, error.obj = name, sys.modules[module]  # Python looks for similar names
    return error


# Hints for shells, and what they are here.
_SENTENCES = (
    ("shells replace ~ only where a word begins, without quotes: $HOME/... always works", "os.path.expanduser(name) replaces ~"),
    ("numpy.save writes each array to a .npy file, which is read; 'unzip FILE' unpacks others",
     "numpy.load(FILE)['NAME'] is an array, which damier takes; numpy.save writes a file that it reads"),
    ("in Python: ", ""), ("is not yes or no", "is neither True nor False"),
    ("damier_choose_kernels", "damier.choose_kernels()"),
    ("k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024", "pass an int"),
    ("wait until it is closed; --swmr reads it once", "close it if this Python has it open, else wait until it is closed; --swmr reads it once"),
)


def in_python(text: str, operands: tuple[str, str] = ("a", "b")) -> str:
    """A hint or warning of the program or the library, whose options are keyword arguments here; commands stay as they are.
    OPERANDS: what A and B are called, if they are in memory.

    >>> in_python("--force replaces it; --io-threads 2 reads less at a time; damier info --help")
    'force=True replaces it; io_threads=2 reads less at a time; damier info --help'
    >>> in_python("--type f32 or --type f64 converts the inputs first; --no-protect leaves it out; --c names it")
    "type='f32' or type='f64' converts the inputs first; protect=False leaves it out; c names it"
    >>> in_python("memory:A: a value is missing; --missing nan, zero or mean (cov and cor: or pairwise) says what it becomes", ("x", "y"))
    "x: a value is missing; missing='nan', 'zero' or 'mean' (cov and cor: or 'pairwise') says what it becomes"
    >>> in_python('"center-a" and its like do not apply to gram')
    'center_a and its like do not apply to gram'
    """
    names = {"A": operands[0], "B": operands[1], "C": "out"}
    text = re.sub(r"\bmemory:([\w-]+)", lambda found: names.get(found[1]) or found[1].replace("-", "_"), text)
    for sentence, here in _SENTENCES:
        text = text.replace(sentence, here)
    text = re.sub(r"^option '([\w-]+)'", lambda found: "k" if found[1] == "rank" else found[1].replace("-", "_"), text)
    if '"' in text:  # the library's way to name one
        text = re.sub(r'"([a-z][a-z-]*)"', lambda found: name if is_option(name := found[1].replace("-", "_")) else found[0], text)
    if "--" not in text:
        return text
    pieces = re.split(r"('(?:damier)[^']*'|\bdamier [^;]*)", text)
    known = _options()
    text = "".join(one if i % 2 else _with_keywords(one, known) for i, one in enumerate(pieces))
    return re.sub(r"'damier[^']*--help-all'", "damier.options.ContextOptions", text)


def _with_keywords(text: str, known: dict[str, str]) -> str:
    def choice(word: re.Match[str], kind: str) -> str:
        return repr(word[0]) if _is_choice(word[0], kind) else word[0]

    def keyword(found: re.Match[str]) -> str:
        name, value, more = found["name"].replace("-", "_"), found["value"], str(found["more"])
        negated = name.startswith("no_") and name[3:] in known
        if negated:
            name = name[3:]
        kind = known.get(name, "")
        if kind.startswith("bool"):
            return f"{name}={not negated}" + (f" {value}" if value else "") + more
        if name == "rank":  # an argument of damier.pca and damier.svd
            name = "k"
        if not value:
            return name + more
        if not _is_value(value, kind):
            return f"{name} {value}{more}"
        return f"{name}={_literal(value)}" + re.sub(r"\w+", partial(choice, kind=kind), more)

    others = r"(?P<more>(?:,? (?:or )?[a-z]+\b)*(?: \([^)]*\))?)"  # words that may be further values
    return re.sub(rf"(?<![\w-])--(?P<name>[a-z][\w-]*)(?:[ =](?P<value>[^\s;,)]+))?{others}", keyword, text)


def _is_choice(word: str, kind: str) -> bool:
    return f"'{word}'" in kind.replace('"', "'")


def _is_value(word: str, kind: str) -> bool:
    return _is_choice(word, kind) or bool(re.fullmatch(r"[-+]?[\d.][\w.:]*|[A-Z]+|(host|device)=\S+|f\d\d:\S+|[\w.]+\.h5\S*", word))


def _literal(word: str) -> str:
    return word if re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|[A-Z]+", word) else repr(word)
