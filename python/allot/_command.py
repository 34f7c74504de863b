"""The command `allot` of the package: `allot run`, `allot opt`, ... as on the terminal."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the command."""
    program = Path(__file__).parent / "bin" / "allot"
    os.execv(program, [str(program), *sys.argv[1:]])
