"""mutate_random: mutations that nobody listed. Used by tools/mutate --random (docs/testing.md, "Random mutations").

1. points() finds what may be changed in the functions of a room: comparisons, integers, conditions, arithmetic,
   increments. A seed draws N points, and one change of each.
2. All drawn changes go into one build. A changed expression `a < b` becomes `(MUTANT(7) ? (a <= b) : (a < b))`, and
   the environment variable ALLOT_MUTANT says which one is on (mutant schemata: Untch, Offutt, Harrold, ISSTA 1993).
3. Every test function of the room runs once without a mutant, and notes which mutants it reaches.
4. Each mutant runs with the test functions that reach it, quickest first, until one fails."""
import collections, concurrent.futures, glob, hashlib, json, os, re, resource, shlex, signal, subprocess, sys
import tempfile, threading, time

EQUIVALENT = "tests/mutations-equivalent.tsv"
MOST_MEMORY = 4 << 30  # bytes of a test

TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)|(?P<text>\"(?:\\.|[^\"\\])*\")|"
    r"(?P<char>'(?:\\.|[^'\\])+')|(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)|(?P<word>[A-Za-z_]\w*)|"
    r"(?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:;,.(){}\[\]])",
    re.S | re.M)

RANK = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7, "==": 6,
        "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
STOP_WORDS = {"return", "else", "do", "case", "goto", "default"}
# What a comparison or operation is changed into. Where there are several, the seed chooses.
CHANGES = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
           "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"], "<<": [">>"],
           ">>": ["<<"], "&": ["|"], "|": ["&"], "^": ["|"], "+=": ["-="], "-=": ["+="], "*=": ["+="], "/=": ["*="],
           "%=": ["/="], "|=": ["&="], "&=": ["|="], "^=": ["|="], "<<=": [">>="], ">>=": ["<<="], "++": ["--"],
           "--": ["++"]}
# Arguments that change no result: texts of diagnostics, asserts, sizes of memory (ASan builds look at those).
SKIPPED_CALLS = re.compile(
    r"(static_)?assert|_Static_assert|diag_\w+|strbuf_\w+|f?printf|snprintf|sizeof|_Alignas|__attribute__|_Pragma|VEC|"
    r"ARENA_\w+|arena_alloc\w*|xmalloc|xcalloc|xrealloc|bitset_new|__builtin_prefetch|__builtin_expect|PREFETCH\w*")
TYPE_WORD = re.compile(r"const|volatile|struct|enum|union|unsigned|signed|int|char|long|short|float|double|void|bool|"
                       r"size_t|ptrdiff_t|\w+_t|__typeof__")

PRELUDE = r"""
#ifndef ALLOT_MUTANT
#define ALLOT_MUTANT
#include <stdio.h>
#include <stdlib.h>
static int mutant_on;
static unsigned char mutant_seen[@N@], mutant_look;
extern void cmocka_set_test_filter(const char *) __attribute__((weak));
__attribute__((constructor)) static void
mutant_begin(void)
{
    const char *on = getenv("ALLOT_MUTANT"), *test = getenv("ALLOT_MUTANT_TEST");
    mutant_on = on ? atoi(on) : 0;
    mutant_look = getenv("ALLOT_MUTANT_SEEN") != NULL;
    if (test && cmocka_set_test_filter)
        cmocka_set_test_filter(test);
}
__attribute__((destructor)) static void
mutant_end(void)
{
    FILE *f = mutant_look ? fopen(getenv("ALLOT_MUTANT_SEEN"), "a") : NULL;
    for (int i = 1; f && i < @N@; i++)
        if (mutant_seen[i])
            fprintf(f, "%d\n", i);
    if (f)
        fclose(f);
}
static inline int
mutant_is(int i)
{
    if (__builtin_expect(mutant_look, 0))
        mutant_seen[i] = 1;
    return __builtin_expect(i == mutant_on, 0);
}
#define MUTANT(i) mutant_is(i)
#endif
#line 1
"""


# -- what may be changed --


class Point:
    """An expression, text[start:end] of `file`, and what it may be changed into."""

    def __init__(self, file, text, start, end, news, kind):
        self.file, self.start, self.end, self.kind = file, start, end, kind
        self.old, self.news = text[start:end], news
        self.line = text.count("\n", 0, start) + 1
        self.new = self.key = None


class Scan:
    def __init__(self, file, text):
        self.file, self.text = file, text
        self.tokens = [(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text)
                       if m.lastgroup not in ("comment", "directive")]
        self.pair = {}
        stack = []
        for i, (kind, s, _, _) in enumerate(self.tokens):
            if kind == "op" and s in "([{":
                stack.append(i)
            elif kind == "op" and s in ")]}" and stack:
                j = stack.pop()
                self.pair[i], self.pair[j] = j, i

    def s(self, i):
        return self.tokens[i][1] if 0 <= i < len(self.tokens) else ""

    def bodies(self):
        """First and last token of each function's body: a block at the outermost level behind a `)`."""
        i = 0
        while i < len(self.tokens):
            if self.s(i) in ("{", "(", "[") and i in self.pair:
                if self.s(i) == "{" and self.s(i - 1) == ")":
                    name = self.s(self.pair[i - 1] - 1)
                    yield name, i, self.pair[i]
                i = self.pair[i]
            i += 1

    def skipped(self, first, last):
        """Tokens of a body that are not changed."""
        out = set()
        i = first
        while i < last:
            kind, s, _, _ = self.tokens[i]
            end = None
            if kind == "word" and SKIPPED_CALLS.fullmatch(s) and self.s(i + 1) == "(":
                end = self.pair.get(i + 1)
            elif kind == "word" and s in ("static", "enum", "case") and self.s(i - 1) in "{};:":
                end = i
                stop = ":" if s == "case" else ";"
                while end < last and self.s(end) != stop:
                    end = self.pair.get(end, end) if self.s(end) in ("(", "{", "[") else end
                    end += 1
            elif s == "{" and self.s(i + 2) == "}":  # {0}
                end = i + 2
            elif s == "[" and self.tokens[i - 1][0] == "word" and self.tokens[i - 2][0] == "word" and \
                    self.s(i - 2) not in STOP_WORDS:  # the size of an array declared
                end = self.pair.get(i)
            elif s == "." and self.s(i - 1) in ("{", ","):  # a designator
                end = i
            if end is not None:
                out.update(range(i, end + 1))
                i = end
            i += 1
        return out

    def is_cast(self, close):
        """Whether tokens up to this `)` are a type in parentheses."""
        first = self.pair.get(close)
        if first is None:
            return False
        inside = [self.tokens[k] for k in range(first + 1, close)]
        words = [t for t in inside if t[0] == "word"]
        before = self.tokens[first - 1] if first else ("", "", 0, 0)
        if before[0] == "word" and before[1] not in STOP_WORDS:
            return False
        return bool(words) and all(t[0] == "word" or t[1] == "*" for t in inside) and \
            bool(TYPE_WORD.fullmatch(words[0][1]))

    def left(self, op, rank, first):
        """First token of the operand that ends before token `op`; operators of at least `rank` belong to it."""
        i = op - 1
        while i > first:
            kind, s, _, _ = self.tokens[i]
            if kind == "op":
                if s in ("(", "[", "{", ";", "}", ",", "?", ":") or s in ASSIGN:
                    if s == "}" and self.is_cast(self.pair.get(i, 0) - 1):
                        i = self.pair[i] - 1
                        continue
                    break
                if s in (")", "]"):
                    if s == ")" and i + 1 < op and self.operand_starts(i + 1) and not self.is_cast(i):
                        break  # `if (..)`, `FOR_..(..)`: what is left of it is another statement
                    i = self.pair[i] - 1
                    continue
                if s in RANK and self.is_binary(i) and RANK[s] < rank:
                    break
            elif kind == "word":
                if s in STOP_WORDS:
                    break
                if i + 1 < op and self.tokens[i + 1][0] in ("word", "number") and s != "sizeof":
                    break  # `uint32_t x`: a declaration
            i -= 1
        return i + 1

    def operand_starts(self, i):
        kind, s, _, _ = self.tokens[i]
        return kind in ("word", "number", "text", "char") or s in ("(", "!", "~", "++", "--") or \
            (s in ("*", "&", "-") and not self.is_binary(i))

    def right(self, op, rank, last):
        i = op + 1
        while i < last:
            kind, s, _, _ = self.tokens[i]
            if kind == "op":
                if s in (")", "]", "}", ";", ",", "?", ":") or s in ASSIGN:
                    break
                if s in ("(", "["):
                    i = self.pair[i]
                elif s == "{":
                    if not self.is_cast(i - 1):
                        break
                    i = self.pair[i]
                elif s in RANK and self.is_binary(i) and RANK[s] <= rank:
                    break
            i += 1
        return i - 1

    def is_binary(self, i):
        """clang-format writes blanks on both sides of a binary operator, and none behind a unary one."""
        end = self.tokens[i][3]
        return self.text[end:end + 1] in (" ", "\n") and self.text[self.tokens[i][2] - 1] in " \n"

    def points(self):
        for name, first, last in self.bodies():
            if name in ("",) or name.endswith("_explain"):
                continue
            skip = self.skipped(first, last)
            for i in range(first + 1, last):
                if i not in skip:
                    for p in self.points_at(i, first, last, skip):
                        p.key = name
                        yield p

    def span(self, a, b, news, kind):
        return Point(self.file, self.text, self.tokens[a][2], self.tokens[b][3], news, kind)

    def sub(self, a, b, at, new):
        """Tokens a to b with token `at` replaced."""
        t = self.tokens
        return self.text[t[a][2]:t[at][2]] + new + self.text[t[at][3]:t[b][3]]

    def condition(self, a, b, loop):
        c = self.text[self.tokens[a][2]:self.tokens[b][3]]
        # A loop that never ends by itself is found by time alone: not asked for.
        return self.span(a, b, [f"!({c})", "false"] + ([] if loop else ["true"]), "condition")

    def points_at(self, i, first, last, skip):
        kind, s, _, _ = self.tokens[i]
        if kind == "number":
            m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", s)
            if m and self.s(i + 1) != ":" or m and self.s(i - 1) == "?":
                v = int(m.group(1), 0)
                news = dict.fromkeys(str(x) + m.group(2) for x in (v + 1, v - 1, 0) if x >= 0 and x != v)
                yield self.span(i, i, list(news), "constant")
        elif kind == "word" and s in ("true", "false"):
            yield self.span(i, i, ["false" if s == "true" else "true"], "constant")
        elif kind == "word" and s in ("if", "while") and self.s(i + 1) == "(":
            yield self.condition(i + 2, self.pair[i + 1] - 1, s == "while")
        elif kind == "word" and s == "for" and self.s(i + 1) == "(":
            semi = [k for k in range(i + 2, self.pair[i + 1]) if self.s(k) == ";"]
            if len(semi) == 2 and semi[1] > semi[0] + 1:
                yield self.condition(semi[0] + 1, semi[1] - 1, True)
        elif s == "?":
            a = self.left(i, 1, first)
            yield self.condition(a, i - 1, False)
        elif s in ("++", "--"):
            if self.operand_starts(i - 1) or self.s(i - 1) in (")", "]"):
                a, b = self.left(i, 11, first), i
            else:
                a, b = i, self.right(i, 10, last)
            news = [self.sub(a, b, i, CHANGES[s][0])]
            if self.s(b + 1) != ")" or self.s(a - 1) == "(":  # not a loop's only step
                news.append(self.text[self.tokens[a][2]:self.tokens[b][3]].replace(s, ""))
            yield self.span(a, b, news, "increment")
        elif s in CHANGES and s in ASSIGN:
            a, b = self.left(i, 0, first), self.right(i, 0, last)
            while self.s(b + 1) in ("?", ":") and b + 1 < last:  # the whole of `c ? a : b`
                b = self.right(b + 1, 0, last)
            yield self.span(a, b, [self.sub(a, b, i, n) for n in CHANGES[s]], "increment")
        elif s in CHANGES and self.is_binary(i):
            a, b = self.left(i, RANK[s], first), self.right(i, RANK[s], last)
            kind = "comparison" if 6 <= RANK[s] <= 7 else "condition" if RANK[s] <= 2 else "arithmetic"
            news = [self.sub(a, b, i, n) for n in CHANGES[s]]
            # as text what it is as an expression by itself
            yield self.span(a, b, [f"({x})" if RANK[n] < RANK[s] else x for x, n in zip(news, CHANGES[s])], kind)


def points_of(root, files, seed):
    """All points of the files in the order in which the seed draws them, each with its change. A point is known by its
    function, its text and how often that came before: edits elsewhere in a file do not move it."""
    out = []
    for f in files:
        with open(f"{root}/{f}", encoding="utf-8") as x:
            text = x.read()
        seen = collections.Counter()
        for p in Scan(f, text).points():
            same = (f, p.key, p.kind, p.old)
            seen[same] += 1
            h = hashlib.sha256("\0".join([str(seed), *same, str(seen[same])]).encode()).hexdigest()
            p.new = p.news[int(h[-8:], 16) % len(p.news)]
            p.order = h
            out.append(p)
    return sorted(out, key=lambda p: p.order)


# -- equivalent mutants --


def load_equivalent(root):
    """(file, old, new) of each row, and what is wrong with the list."""
    rows, wrong = [], []
    path = f"{root}/{EQUIVALENT}"
    for i, line in enumerate(open(path, encoding="utf-8").read().split("\n") if os.path.exists(path) else [], 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 4 or not all(cells):
            wrong.append(f"{EQUIVALENT}:{i}: {len(cells)} columns, not file, old, new, reason, with a tab between")
            continue
        f, old, new = (c.replace("\\n", "\n") for c in cells[:3])
        if not os.path.isfile(f"{root}/{f}"):
            wrong.append(f"{EQUIVALENT}:{i}: there is no file {f}")
            continue
        n = open(f"{root}/{f}", encoding="utf-8").read().count(old)
        if n != 1:
            wrong.append(f"{EQUIVALENT}:{i}: its old text occurs {n} times in {f}, not once: `{old}`")
        elif not is_mutant(root, f, old, new):
            wrong.append(f"{EQUIVALENT}:{i}: --random never changes {f} from `{old}` to `{new}`")
        rows.append((f, old, new))
    return rows, wrong


def is_mutant(root, file, old, new):
    with open(f"{root}/{file}", encoding="utf-8") as f:
        text = f.read()
    want, at = text.replace(old, new), text.find(old)
    return any(text[:p.start] + n + text[p.end:] == want for p in Scan(file, text).points()
               if p.start < at + len(old) and at < p.end for n in p.news)


def whole(text, p):
    return text[:p.start] + p.new + text[p.end:]


def row_of(text, p):
    """Old and new text for a row of a list: what changes, extended within its lines until the old one occurs once."""
    same = len(os.path.commonprefix([p.old, p.new]))
    tail = len(os.path.commonprefix([p.old[same:][::-1], p.new[same:][::-1]]))
    start, end, new = p.start + same, p.end - tail, p.new[same:len(p.new) - tail]
    at, stop = start, end
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    while (start == end or text.count(text[start:end]) > 1) and (start > first or end < last):
        start, end = max(first, start - 1), min(last, end + 1)
    # from word to word
    while start > first and text[start - 1] not in " \n":
        start -= 1
    while end < last and text[end] not in " \n":
        end += 1
    return text[start:end], text[start:at] + new + text[stop:end]


# -- one build with all of them --


def render(text, chosen, a, b):
    """text[a:b] with the switches of the points, which nest. A changed expression keeps no inner switch: one mutant is
    on at a time."""
    out, at = [], a
    inside = sorted((p for p in chosen if a <= p.start and p.end <= b), key=lambda p: (p.start, -p.end, p.number))
    while inside:
        p = inside[0]
        same = [q for q in inside if (q.start, q.end) == (p.start, p.end)]
        below = [q for q in inside if q.start >= p.start and q.end <= p.end and q not in same]
        inner = render(text, below, p.start, p.end)
        out.append(text[at:p.start] + "(" +
                   "".join(f"MUTANT({q.number}) ? ({q.new}) : " for q in same) + f"({inner}))")
        at = p.end
        inside = [q for q in inside if q.start >= p.end]
    return "".join(out) + text[at:b]


def crosses(p, q):
    return p.file == q.file and p.start < q.end and q.start < p.end and \
        not (p.start <= q.start and q.end <= p.end) and not (q.start <= p.start and p.end <= q.end)


def plant(root, src, chosen):
    """Writes the sources with switches into the scratch copy."""
    prelude = PRELUDE.replace("@N@", str(len(chosen) + 1)).lstrip()
    for f in sorted({p.file for p in chosen}):
        with open(f"{root}/{f}", encoding="utf-8") as x:
            text = x.read()
        mine = [p for p in chosen if p.file == f]
        new = prelude + render(text, mine, 0, len(text))
        with open(f"{src}/{f}", encoding="utf-8") as x:
            if x.read() == new:
                continue
        with open(f"{src}/{f}", "w", encoding="utf-8") as x:
            x.write(new)


def does_not_compile(said, chosen, src, depth):
    """The points on the lines of the compiler's errors."""
    bad = set()
    for f, line in re.findall(r"^(\S+?):(\d+):\d+: error:", said, re.M):
        f = os.path.relpath(f if os.path.isabs(f) else os.path.join(depth, f), src)
        for p in chosen:
            if p.file == f and p.line <= int(line) <= p.line + p.old.count("\n"):
                bad.add(p)
    return bad


# -- tests --


def watch(pid, over, wall):
    """Kills the process group of a test that runs too long or takes more than MOST_MEMORY. Memory that is only
    reserved, as that of a simulated device, does not count."""
    end = time.monotonic() + wall
    while not over.wait(0.25):
        try:
            with open(f"/proc/{pid}/statm") as f:
                pages = int(f.read().split()[1])
            if time.monotonic() > end or pages * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
                os.killpg(pid, signal.SIGKILL)
        except (OSError, IndexError):
            return


def hash_of(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class Test:
    """A test function of a unit program, or a golden file."""

    def __init__(self, name, command, cwd, program, case=None):
        self.name, self.command, self.cwd, self.program_path, self.case = name, command, cwd, program, case
        self.cpu, self.reaches, self.text = 0.0, set(), ""

    def run(self, mutant=0, seen=None, cpu=300.0, wall=3600.0):
        """Exit status (negative: killed, also where it took too long), CPU seconds, what it said."""
        env = dict(os.environ, ALLOT_MUTANT=str(mutant), CMOCKA_MESSAGE_OUTPUT="STDOUT", ALLOT_VERIFY_EACH="1")
        if self.case:
            env["ALLOT_MUTANT_TEST"] = self.case
        if seen:
            env["ALLOT_MUTANT_SEEN"] = seen

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with open(os.devnull) as none, tempfile.TemporaryFile() as out:
            p = subprocess.Popen(self.command, cwd=self.cwd, env=env, stdin=none, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit)
            over = threading.Event()
            threading.Thread(target=watch, args=(p.pid, over, wall), daemon=True).start()
            _, status, used = os.wait4(p.pid, 0)
            over.set()
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            return p.returncode, used.ru_utime + used.ru_stime, out.read().decode(errors="replace")

    def measure(self, seen, known, slow, longest):
        """Runs it without a mutant; False: it fails or is skipped. `known`: what was found with the same program.
        What takes longer than `longest` is not run to its end, and not again if it was in `slow`."""
        self.key = f"{self.program} {self.name} {self.text}".strip()
        if self.name in slow:
            known[self.key] = [True, slow[self.name], []]
        if self.key not in known:
            if os.path.exists(seen):
                os.remove(seen)
            status, cpu, said = self.run(seen=seen, cpu=2 * longest)
            reaches = []
            if os.path.exists(seen):
                with open(seen) as f:
                    reaches = sorted({int(x) for x in f.read().split()})
                os.remove(seen)
            good = status == 0 and (not self.case or "[  SKIPPED ]" not in said)
            known[self.key] = [good or cpu > longest, cpu, reaches]
        good, self.cpu, reaches = known[self.key]
        self.reaches = set(reaches)
        return good

    def fails(self, mutant):
        status, _, _ = self.run(mutant, cpu=2 + 5 * self.cpu, wall=60 + 60 * self.cpu)
        return status != 0


def unit_tests(root, build, folder):
    out = []
    for f in sorted(glob.glob(f"{root}/tests/unit/{folder}/**/*.c", recursive=True)):
        name = os.path.splitext(os.path.basename(f))[0]
        with open(f, encoding="utf-8") as x:
            text = x.read()
        inc = re.match(r'\s*(?:/\*.*?\*/\s*)?(?:#define .*\n)*#include "(\w+\.c)"', text, re.S)
        if inc:
            with open(f"{os.path.dirname(f)}/{inc.group(1)}", encoding="utf-8") as x:
                text = x.read()
        cases = list(dict.fromkeys(re.findall(r"cmocka_unit_test\w*\(\s*(\w+)", text)))
        for c in cases or [None]:
            out.append(Test(f"{name}:{c}" if c else name, [f"{build}/unit-{name}"], build, f"{build}/unit-{name}", c))
    return out


def golden_tests(root, build, folder):
    check = next((p for p in ("FileCheck", "FileCheck-14", "FileCheck-15", "FileCheck-16", "FileCheck-19")
                  if any(os.access(f"{d}/{p}", os.X_OK) for d in os.environ["PATH"].split(":"))), None)
    out = []
    for f in sorted(glob.glob(f"{root}/tests/golden/{folder}/*.ptx") if check else []):
        with open(f, encoding="utf-8") as x:
            runs = re.findall(r"RUN:\s*(.*)", re.sub(r"\\\n\S*\s*RUN:", "", x.read()))
        if not runs:
            continue
        scratch = f"{build}/golden-{os.path.basename(f)}"
        lines = []
        for r in runs:
            r = r.replace("%s", shlex.quote(f)).replace("%t", '"$T"')
            r = re.sub(r"(?<![\w/.-])FileCheck\b", check, r)
            lines.append(re.sub(r"(?<![\w/.-])allot(?= )", f"{build}/allot", r))
        script = f"T=$(mktemp -u {shlex.quote(scratch)}-XXXXXX); set -o pipefail; trap 'rm -f \"$T\"*' EXIT; " + \
            " && ".join(f"{{ {r.strip()} ; }}" for r in lines)
        out.append(Test(f"golden/{folder}/{os.path.basename(f)}", ["bash", "-c", script], root, f"{build}/allot"))
        out[-1].text = hash_of(f)
    return out


# -- the command --


def files_of(root, rooms):
    out = []
    for r in rooms:
        path = f"{root}/{r}"
        if os.path.isfile(path):
            out.append(r)
        else:
            found = [os.path.relpath(f, root) for f in glob.glob(f"{path}/**/*.[ch]", recursive=True)]
            if not found:
                raise SystemExit(f"mutate: there is no source in {r}")
            out += found
    return sorted(set(out))


def folder_of(f):
    return f.split("/")[1]


def draw(root, files, n, seed, equivalent):
    texts = {f: open(f"{root}/{f}", encoding="utf-8").read() for f in files}
    marked = {(f, texts[f].replace(old, new)) for f, old, new in equivalent if f in texts}
    chosen, rest, left_out = [], [], 0
    for p in points_of(root, files, seed):
        if (p.file, whole(texts[p.file], p)) in marked:
            left_out += len(chosen) < n
        elif len(chosen) < n and not any(crosses(p, q) for q in chosen):
            chosen.append(p)
        else:
            rest.append(p)
    return chosen, rest, left_out, texts


def escaped(text):
    return text.replace("\n", "\\n")


def recall(path, otherwise):
    if not os.path.exists(path):
        return otherwise
    with open(path) as f:
        return json.load(f)


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def random_mutants(tool, n, rooms, seed, again, list_only, longest):
    """`tool`: tools/mutate's copy_tree, configure, build and paths. Returns the exit status."""
    root, src, build_dir = tool.ROOT, tool.SRC, tool.BUILD
    equivalent, wrong = load_equivalent(root)
    if wrong:
        tool.die("\n".join(wrong))
    files = files_of(root, rooms)
    folders = sorted({folder_of(f) for f in files})
    chosen, rest, marked, texts = draw(root, files, n, seed, equivalent)
    if list_only:
        for p in chosen:
            print(f"{p.file}:{p.line}: {p.kind}: {one_line(p.old)} -> {one_line(p.new)}")
        return 0
    state = f"{os.path.dirname(src)}/random-{'-'.join(r.replace('/', '_') for r in rooms)}"
    tests = [t for f in folders for t in unit_tests(root, build_dir, f)]
    golden = [t for f in folders for t in golden_tests(root, build_dir, f)]
    targets = {"unit-" + os.path.basename(t.command[0])[5:] for t in tests} | ({"allot"} if golden else set())
    tool.copy_tree()
    tool.configure()
    failed = 0
    while True:  # until all compile
        for i, p in enumerate(chosen, 1):
            p.number = i
        plant(root, src, chosen)
        r = tool.run(["ninja", "-C", build_dir, "-k", "0"] + sorted(targets))
        if not r.returncode:
            break
        bad = does_not_compile(r.stdout, chosen, src, build_dir)
        if not bad:
            tool.die("the tree does not build:\n" + "\n".join(re.findall(r"^.*error.*$", r.stdout, re.M)[:20]))
        failed += len(bad)
        chosen = [p for p in chosen if p not in bad]
        while len(chosen) < n and rest:
            p = rest.pop(0)
            if not any(crosses(p, q) for q in chosen):
                chosen.append(p)

    every = tests + golden
    programs = {p: hash_of(p) for p in {t.program_path for t in every}}
    for t in every:
        t.program = programs[t.program_path]
    known = recall(f"{state}-reach.json", {})
    slow = recall(f"{state}-slow.json", {})
    slow = {name: cpu for name, cpu in slow.items() if cpu > 1.5 * longest}
    with concurrent.futures.ThreadPoolExecutor(tool.JOBS) as pool:
        good = list(pool.map(lambda i: every[i].measure(f"{build_dir}/seen-{i}", known, slow, longest),
                             range(len(every))))
    with open(f"{state}-reach.json", "w") as f:
        json.dump({t.key: known[t.key] for t in every}, f)
    with open(f"{state}-slow.json", "w") as f:
        json.dump({t.name: t.cpu for t in every if t.cpu > longest}, f)
    skipped = [t.name for t, ok in zip(every, good) if not ok]
    usable = sorted((t for t, ok in zip(every, good) if ok), key=lambda t: t.cpu)
    slow = [t.name for t in usable if t.cpu > longest]
    usable = [t for t in usable if t.cpu <= longest]
    print(f"{len(chosen)} mutants of {len(chosen) + len(rest)} points in {' '.join(rooms)}, seed {seed}; "
          f"{failed} did not compile, "
          f"{marked} are marked as equivalent; {len(usable)} tests, {sum(t.cpu for t in usable):.0f} s")
    print(f"{len(slow)} tests take more than {longest:g} s and are not used: {' '.join(slow)}")
    for s in skipped:
        print(f"not used, fails or is skipped without a mutant: {s}")
    sys.stdout.flush()

    before = set(recall(f"{state}-killed.json", []) if again else [])

    def judge(p):
        if p.order in before:
            return "before", 0.0
        start = time.monotonic()
        reach = [t for t in usable if p.number in t.reaches]
        killer = next((t.name for t in reach if t.fails(p.number)), None)
        return (killer or ("SURVIVED" if reach else "NOT REACHED")), time.monotonic() - start

    count, survivors = collections.defaultdict(lambda: [0, 0, 0]), []
    with concurrent.futures.ThreadPoolExecutor(tool.JOBS) as pool:
        for p, (how, seconds) in zip(chosen, pool.map(judge, chosen)):
            c = count[os.path.dirname(p.file)]
            c[1] += 1
            if how in ("SURVIVED", "NOT REACHED"):
                c[2] += how == "NOT REACHED"
                survivors.append(p)
                old, new = row_of(texts[p.file], p)
                lines = texts[p.file].split("\n")[p.line - 1:p.line + p.old.count("\n")]
                print(f"{how} {p.file}:{p.line}: {p.key}: {p.kind} ({seconds:.0f} s)\n"
                      f"    {one_line(' '.join(lines))}\n    {escaped(old)}\t{escaped(new)}", flush=True)
            else:
                c[0] += 1
                if tool.VERBOSE and how != "before":
                    print(f"killed {p.file}:{p.line}: {one_line(p.old)} -> {one_line(p.new)}  {how}", flush=True)
    with open(f"{state}-killed.json", "w") as f:
        json.dump([p.order for p in chosen if p not in survivors], f)
    print("\n| room | mutants | killed | | not reached |\n| --- | ---: | ---: | ---: | ---: |")
    total = [sum(c[k] for c in count.values()) for k in range(3)]
    for room, (k, t, u) in sorted(count.items()) + [("all", total)]:
        print(f"| {room} | {t} | {k} | {100 * k / t if t else 0:.0f} % | {u} |")
    return 1 if survivors else 0
