"""Strict look at a trace: trace.py TRACE.json RESULT.json [FROM TO]
Structure as Chrome's trace event format wants it; and what it says agrees with the counters
of the same run (without a window): blocks, cycles, L2 accesses, DRAM bus clocks."""
import collections
import json
import sys

trace = json.load(open(sys.argv[1]))
result = json.load(open(sys.argv[2]))
window = [int(x) for x in sys.argv[3:5]]
launches = result["kernels"]
cycles = sum(k["cycles"] for k in launches)
problems = []


def need(holds, *what):
    if not holds and len(problems) < 10:
        problems.append(" ".join(map(str, what)))


need(set(trace) == {"displayTimeUnit", "otherData", "traceEvents"}, "keys", list(trace))
names, tracks, counters = {}, collections.defaultdict(list), collections.defaultdict(list)
for e in trace["traceEvents"]:
    kind = e["ph"]
    need(kind in "MXC", "kind", e)
    if kind == "M":
        names[e["pid"], e["tid"], e["name"]] = e["args"].get("name")
        continue
    need(isinstance(e["ts"], int) and e["ts"] >= 0, "time", e)
    if kind == "X":
        need(isinstance(e["dur"], int) and e["dur"] > 0, "duration", e)
        need((e["pid"], e["tid"], "thread_name") in names, "a track without a name", e)
        tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"],
                                           e.get("args")))
    else:
        (key, value), = e["args"].items()
        need(value >= 0, "level", e)
        counters[e["pid"], e["name"], key].append((e["ts"], value))
    need((e["pid"], 0, "process_name") in names, "a process without a name", e)

sums = collections.Counter()  # of values times cycles
for (pid, name, key), samples in counters.items():
    for a, b in zip(samples, samples[1:]):
        need(a[0] < b[0], "a counter does not go on", pid, name, key, a, b)
        need(a[1] != b[1], "a counter tells the same again", pid, name, key, a, b)
        sums[name] += a[1] * (b[0] - a[0])
    need(samples[-1][1] == 0, "a counter ends at", samples[-1])
    if window:
        need(samples[0][0] >= window[0] and samples[-1][0] <= window[1],
             "outside the window", name, samples[0], samples[-1])
sums["DRAM busy %"] *= trace["otherData"]["DRAM clocks a cycle"] / 100
sums = {name: round(n, 3) for name, n in sums.items()}

blocks = collections.Counter()
warps = collections.defaultdict(int)
for (pid, tid), slices in tracks.items():
    slices.sort()
    for a, b in zip(slices, slices[1:]):
        need(a[1] <= b[0], "slices overlap", names[pid, tid, "thread_name"], a, b)
    name = names[pid, tid, "thread_name"]
    for a in slices:
        if name.startswith("block slot"):
            need(a[2].startswith("block "), name, a)
            blocks[a[2]] += 1
        elif name.startswith("warp"):
            need(a[2] in ("ready", "memory", "result", "barrier", "fence", "lock", "fetch",
                          "ended"), name, a)
            warps[a[2]] += a[1] - a[0]
if not window:
    run = tracks[1, 1]
    need(len(run) == len(launches), "launches", len(run))
    for slice, k in zip(run, launches):
        need(slice[1] - slice[0] == k["cycles"], "launch of", k["cycles"], slice)
        need(slice[2] == k["name"], "launch of", k["name"], slice)
    need([s[3] for s in run] == [{"launch": i} for i in range(len(run))], "launches", run)
    need(sum(blocks.values()) == sum(k["blocks"] for k in launches), "blocks", blocks)
    need(sums["L2 accesses/cycle"] == sum(k["l2_accesses"] for k in launches), "L2", sums)
    need(sums["DRAM busy %"] == sum(k["dram_busy"] for k in launches), "DRAM", sums)
    # a warp is on its way from its start to its retirement, resident until it ends; what
    # starts is seen in the cycle after
    resident = sum(k["resident_warp_cycles"] for k in launches)
    traced = sum(warps.values()) - warps["ended"]
    need(0.97 * resident <= traced <= 1.03 * resident, "warp cycles", traced, resident)
    need(warps["memory"] > 0 and warps["ready"] > 0, "states", dict(warps))
else:
    starts = [0]
    for k in launches:
        starts.append(starts[-1] + k["cycles"])
    ends = [max(s[1] for s in t) for t in tracks.values()]
    first = [min(s[0] for s in t) for t in tracks.values()]
    need(len(launches) == 1, "a window is tried on one launch")
    need(min(first) >= window[0] and max(ends) <= window[1], "outside the window",
         min(first), max(ends))
for p in problems:
    print(p)
sys.exit(1 if problems else 0)
