#!/bin/sh
# outputs.sh ALLOT SOURCE: files that cannot be written (tests/e2e/outputs.py).
exec python3 "$2/tests/e2e/outputs.py" "$@"
