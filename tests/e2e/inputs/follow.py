"""follow.py DOC.md: does what a page says. Blocks fenced as "```LANG PATH" are written to PATH;
"```sh" blocks are run, together with those that follow before the next text block; "```text" is
what their output must hold, line by line and in any order, "…" standing for anything and runs
of blanks for one."""
import os
import re
import subprocess
import sys

failed = 0
output = ""
fresh = False
for info, body in re.findall(r"^```([^\n]*)\n(.*?)^```$", open(sys.argv[1], encoding="utf-8").read(), re.M | re.S):
    lang, _, path = info.partition(" ")
    if path:
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(body)
    elif lang == "sh":
        p = subprocess.run(["sh", "-eu", "-c", body], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, text=True)
        output = (output if fresh else "") + p.stdout
        fresh = True
        if p.returncode:
            print(f"FAIL {sys.argv[1]}: status {p.returncode} of\n{body}{p.stdout}")
            sys.exit(1)
    elif lang == "text":
        fresh = False
        text = re.sub(r"[ \t]+", " ", output)
        for line in body.splitlines():
            want = re.sub(r"\s+", " ", line.strip())
            pattern = ".*".join(re.escape(w.strip()) for w in want.split("…"))
            if want and not re.search(pattern, text):
                failed += 1
                print(f"FAIL {sys.argv[1]}: '{line}' is not in\n{output}")
sys.exit(failed > 0)
