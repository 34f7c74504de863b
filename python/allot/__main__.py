"""python -m allot: the command."""

from ._command import main

main()
