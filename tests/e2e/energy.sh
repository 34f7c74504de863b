#!/bin/sh
# energy.sh ALLOT SOURCE: energies in every output. A tiny kernel's are computed by hand here, from
# its counters and from coefficients that --set gives.
allot=$1
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

# One warp of one block: two moves, an addition of floats, a return.
cat >k.ptx <<'END'
.version 6.0
.target sm_20
.address_size 64
.visible .entry k()
{
.reg .f32 %f<3>;
mov.f32 %f0, 0f3F800000;
mov.f32 %f1, 0f40000000;
add.f32 %f2, %f0, %f1;
ret;
}
END
# All coefficients that are not of interest are 0.
zero=$("$allot" list settings | sed -n 's/^ *\(\(event\|power\)\.[a-z0-9_]*\) .*/--set \1=0/p')
run() { # OPTION...: the kernel with only these coefficients
    # shellcheck disable=SC2086
    "$allot" run k.ptx --grid 1 --block 32 --registers virtual --set compiler.cleanup= $zero "$@"
}
# 32 lanes of one addition at 3 nJ, 32 lanes of three others (moves, ret) at 5 nJ, 4 instructions at 7.
check "by hand" 0 run --energy --json --set event.f32=3 --set event.integer=5 --set event.instruction=7
cp out hand.json
is "energy" "$(python3 - <<'END'
import json
e = json.load(open("hand.json"))["kernels"][0]["energy"]
want = 32*3 + 3*32*5 + 4*7
print(round(1e9*e["energy"], 6) == want, round(1e9*e["energy_units"], 6) == 32*3 + 3*32*5,
      round(1e9*e["energy_pipeline"], 6) == 28, e["energy_dram"])
END
)" "True True True 0.0"

# Every event's energy is its count times its coefficient; events, parts and components add up.
check "json" 0 "$allot" run matmul --quick --energy --json
cp out m.json
is "identities" "$(python3 - <<'END'
import json
k = json.load(open("m.json"))["kernels"][0]
e = k["energy"]
close = lambda a, b: abs(a - b) <= 1e-9 * abs(b) + 1e-30
unit = {"nJ": 1e-9, "W": 1}
rows = e["events"].values()
print(all(close(r["joules"], r["count"] * r["coefficient"] * unit[r["unit"]]) for r in rows),
      close(sum(r["joules"] for r in rows), e["energy"]),
      close(e["energy_sm"] + e["energy_icnt"] + e["energy_l2"] + e["energy_dram"], e["energy"]),
      close(e["power"] * e["seconds"], e["energy"]),
      close(e["energy_per_instruction"] * k["warp_instructions"] * 1e-9, e["energy"]),
      close(e["energy_delay"], e["energy"] * e["seconds"]),
      e["events"]["event.flit"]["count"] == k["icnt_request_flits"] + k["icnt_reply_flits"],
      e["calibrated"])
END
)" "True True True True True True True True"

check "text" 0 "$allot" run matmul --quick --energy
has out "energy, model gpuwattch, fitted to NVIDIA GeForce GTX 480"
has out "sm         register file"
has out "nJ a warp instruction, energy-delay product"
check "uncalibrated" 0 "$allot" run vecadd --quick --energy -m titan
has out "no published calibration for this machine"
check "another model" 0 "$allot" run vecadd --quick --energy -m v100
has out "model accelwattch, fitted to NVIDIA Tesla V100"
check "physical" 0 "$allot" run vecadd --quick --energy --set energy.model=physical
has out "model physical"
check "no such node" 2 "$allot" run vecadd --quick --set energy.node=28
has err "energy.node"
check "no such temperature" 2 "$allot" run vecadd --quick --set energy.temperature=500
has err "300 to 400"
check "no time, no energy" 2 "$allot" run vecadd -f --energy
has err "--energy: the counters need the cycle model"

check "csv" 0 "$allot" run matmul --quick --energy --csv
has out ",energy,power,energy_per_instruction,energy_delay,register_leakage,register_leakage_power,register_leakage_routed,energy_sm,energy_icnt"
is "csv: as many cells as headings" "$(sed -n 1p out | tr -cd , | wc -c)" "$(sed -n 2p out | tr -cd , | wc -c)"

check "compare" 0 "$allot" compare vecadd --quick --energy --variants unshared-lrr,unshared-gto
has out "energy x delay"
check "compare --json" 0 "$allot" compare vecadd --quick --energy --json --variants unshared-lrr
has out '"energy_dram"'

# The store keeps counters and machine: the energy that is shown is that of the run.
check "stored" 0 "$allot" run matmul --quick --db e.db
check "show" 0 "$allot" results show 1 --db e.db --json -
cp out s.json
is "stored energy" "$(python3 -c '
import json
a = json.load(open("m.json"))["kernels"][0]["energy"]
b = json.load(open("s.json"))["launches"][0]["energy"]
print(all(abs(a[n] - b[n]) <= 1e-9 * abs(a[n]) for n in b if n.startswith("energy")), b["calibrated"])')" "True True"
check "show as text" 0 "$allot" results show 1 --db e.db
has out "energy_register_file"

cat >e.yaml <<'END'
title: Energy by scheduler
machine: gtx480
workloads: [{name: vecadd}, {name: matmul}]
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
baseline: lrr
metrics:
  - {name: energy, stat: energy, unit: J}
  - {name: dram, stat: energy_dram, as: decrease}
END
check "experiment" 0 "$allot" sweep e.yaml --quick --db e.db --csv e.csv
is "every value is there" "$(grep -c ',energy,J,[0-9]' e.csv)" 4
check "report" 0 "$allot" report e.yaml --quick --html page --db e.db
has page/index.html '"energy_register_file":'
finish energy
