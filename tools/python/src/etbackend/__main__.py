# SPDX-License-Identifier: Apache-2.0
"""`python -m etbackend` is the command-line program."""

from __future__ import annotations

import os
import sys

from ._product import program_path
from .errors import Error


def main() -> int:
    try:
        path = str(program_path())
        os.execv(path, [path, *sys.argv[1:]])
    except (Error, OSError) as error:
        print(f"etbackend: {error}", file=sys.stderr)
    return 7  # an internal error, as docs/exit_codes.md has it


if __name__ == "__main__":
    sys.exit(main())
