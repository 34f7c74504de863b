"""What a limit leaves of a trace: trace-cut.py WHOLE.json CUT.json MESSAGE.txt
CUT is WHOLE up to the cycle that it tells, to the last event: what goes on there ends, and
counters go to 0. The message tells the same cycle, counted from the start of its launch."""
import collections
import json
import re
import sys

whole, cut = (json.load(open(f))["traceEvents"] for f in sys.argv[1:3])
(lost,) = (e["args"] for e in cut if e["name"] == "trace_lost_events")
assert lost["lost"] and lost.keys() == {"lost", "ts", "launch", "cycle"}, lost
(unlost,) = (e["args"] for e in whole if e["name"] == "trace_lost_events")
assert unlost == {"lost": False}, unlost
end = lost["ts"]


def lines(events):
    return collections.Counter(json.dumps(e, sort_keys=True) for e in events)


want, level = [], {}
for e in whole:
    if e["ph"] == "X" and e["ts"] < end:
        want.append(dict(e, dur=min(e["dur"], end - e["ts"])))
    elif e["ph"] == "C" and e["ts"] < end:
        want.append(e)
        level[e["pid"], e["name"], *e["args"]] = e
for e in level.values():
    ((key, value),) = e["args"].items()
    if value:
        want.append(dict(e, ts=end, args={key: 0}))
tracks = {(e["pid"], e["tid"]) for e in want if e["ph"] == "X"}
names = {(e["pid"], e["tid"]) for e in cut if e["name"] == "thread_name"}
assert names == tracks | {(1, 1)}, names ^ tracks

a, b = lines(want), lines(e for e in cut if e["ph"] in "XC")
print(sum(a.values()), sum(b.values()), list((a - b) + (b - a))[:4])
launch = [e for e in whole if e["ph"] == "X" and e["tid"] == 1]
start = launch[lost["launch"]]["ts"] - 1
assert end == start + lost["cycle"], (end, start, lost)
assert lost["cycle"] <= launch[lost["launch"]]["dur"], (lost, launch)
said = re.search(r"full from cycle (\d+) of launch (\d+) on", open(sys.argv[3]).read())
assert said.groups() == (str(lost["cycle"]), str(lost["launch"])), said
sys.exit(a != b)
