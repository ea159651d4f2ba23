"""``python -m damier``: the program."""
from __future__ import annotations

import os
import sys

from ._errors import Error
from ._program import find


def main() -> None:
    """Becomes the program, with the arguments of this one."""
    try:
        program = find()
    except Error as error:
        print(f"damier: error: {error}", file=sys.stderr)
        sys.exit(error.code)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
