"""follow.py [--figures] DOC.md: does what a page says. Blocks fenced as "```LANG PATH" are written to PATH;
"```sh" blocks are run, together with those that follow before the next text block; "```text" is
what their output must hold, line by line and in any order, "…" standing for anything and runs
of blanks for one.

--figures: each number of the prose must stand in the output or in a block of its section, unless a
comment of the section names it: "<!-- fixed: 16 -->". "<!-- run: COMMAND -->" is run as a block is,
unseen by the reader, and must end well: its output counts too, and a claim without a number
("twice as fast") is held by a command that compares."""
import os
import re
import subprocess
import sys

figures = sys.argv[1] == "--figures"
page = sys.argv[-1]
failed = 0
output = ""    # what "text" is compared with
fresh = False
section = ""   # blocks and output since the last heading
fixed = set()
prose = []     # numbers of the section that wait for their source

NUMBER = r"(?<![\w.,])\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w]|[.,]\d)"


def fail(what):
    global failed
    failed += 1
    print(f"FAIL {page}: {what}")


def run(body):
    global section
    p = subprocess.run(["sh", "-eu", "-c", body], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, text=True)
    section += body + p.stdout
    if p.returncode:
        print(f"FAIL {page}: status {p.returncode} of\n{body}{p.stdout}")
        sys.exit(1)
    return p.stdout


def end_section():
    global section, prose, fixed
    known = set(re.findall(NUMBER, section)) | fixed
    for number, line in prose if figures else []:
        if number not in known:
            fail(f"{number} stands in no output of its section: '{line.strip()}'")
    section, prose, fixed = "", [], set()


def read_prose(text):
    for line in text.splitlines():
        if re.match(r"#+ ", line):
            end_section()
            continue
        bare = re.sub(r"`[^`]*`|\]\([^)]*\)|^\d+\. ", " ", line)
        prose.extend((n, line) for n in re.findall(NUMBER, bare))


text = open(page, encoding="utf-8").read()
at = 0
for m in re.finditer(r"^```([^\n]*)\n(.*?)^```$|<!-- (fixed|run): (.*?) -->", text, re.M | re.S):
    info, body, kind, value = m.groups()
    read_prose(text[at:m.start()])
    at = m.end()
    if kind == "fixed":
        fixed.update(value.split())
        continue
    if kind == "run":
        if figures:
            run(value)
        continue
    lang, _, path = info.partition(" ")
    if path:
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(body)
        section += body
    elif lang == "sh":
        output = (output if fresh else "") + run(body)
        fresh = True
    elif lang == "text":
        fresh = False
        got = re.sub(r"[ \t]+", " ", output)
        for line in body.splitlines():
            want = re.sub(r"\s+", " ", line.strip())
            pattern = ".*".join(re.escape(w.strip()) for w in want.split("…"))
            if want and not re.search(pattern, got):
                fail(f"'{line}' is not in\n{output}")
read_prose(text[at:])
end_section()
sys.exit(failed > 0)
