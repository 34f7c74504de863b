# model_sources.cmake: patterns of the files that results depend on. MODEL: the simulator; WORKLOADS:
# the host's part of the workloads, which makes inputs and launches kernels (their PTX has a hash of
# its own); VALUES: what a figure's values are computed with, from counters or without a run. The build
# watches all of them, and model_id.cmake hashes no others.
set(MODEL
  src/base/*.[ch] src/ptx/*.[ch] src/ptx/*.def src/ptx/*.re src/analysis/*.[ch] src/passes/*.[ch]
  src/passes/*.def src/machine/*.[ch] src/machine/*.def src/stats/*.[ch] src/stats/*.def
  src/exec/*.[ch] src/timing/*.[ch] src/timing/*.def src/energy/*.[ch] src/cta/*.[ch]
  src/runtime/*.[ch])
set(WORKLOADS workloads/*.[ch] workloads/*/*.[ch] workloads/*/*.zst)
set(VALUES
  src/experiments/comparisons.def src/experiments/experiment.[ch] src/experiments/figure.[ch]
  src/experiments/launch.[ch] src/experiments/ranges.[ch] src/experiments/resources.c
  src/experiments/stored_energy.[ch] src/experiments/subject.[ch])
