#!/bin/sh
# signals.sh ALLOT SOURCE: Ctrl-C, SIGTERM and others at every stage (tests/e2e/signals.py).
exec python3 "$2/tests/e2e/signals.py" "$@"
