# slurm.sh: a Slurm of one node in the folder $PWD/slurm, for tests. Sourced.
#   slurm_start: 0 it runs ($SLURM_CONF is set), 1 it cannot: $slurm_why tells
#   slurm_stop:  ends what was started
slurm_why=
slurm_pids=

slurm_start() {
    for c in munged slurmctld slurmd sbatch; do
        PATH=$PATH:/usr/sbin command -v $c >/dev/null || {
            slurm_why="needs $c (Debian: slurm-wlm, munge)"
            return 1
        }
    done
    [ "$(id -u)" -eq 0 ] || {
        slurm_why="slurmd wants root"
        return 1
    }
    PATH=$PATH:/usr/sbin
    s=$PWD/slurm
    mkdir -p "$s/state" "$s/spool"
    chmod 755 "$PWD" "$s"
    dd if=/dev/urandom of="$s/key" bs=128 count=1 2>/dev/null
    chmod 400 "$s/key"
    port=$((20000 + $$ % 20000))
    host=$(hostname -s)
    cat >"$s/slurm.conf" <<END
ClusterName=allot
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$s/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool
SlurmctldPidFile=$s/ctld.pid
SlurmdPidFile=$s/d.pid
SlurmctldLogFile=$s/ctld.log
SlurmdLogFile=$s/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
MinJobAge=300
InactiveLimit=0
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=3000 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
END
    export SLURM_CONF="$s/slurm.conf"
    munged --force --foreground --key-file="$s/key" --socket="$s/munge.socket" \
        --pid-file="$s/munge.pid" --log-file="$s/munge.log" --seed-file="$s/munge.seed" \
        >"$s/munged.out" 2>&1 &
    slurm_pids=$!
    i=0
    until [ -S "$s/munge.socket" ] || [ $i -gt 50 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    slurmctld -D >"$s/ctld.out" 2>&1 &
    slurm_pids="$! $slurm_pids"
    slurmd -D >"$s/d.out" 2>&1 &
    slurm_pids="$! $slurm_pids"
    i=0
    until sinfo -h -o %T 2>/dev/null | grep -q idle; do
        sleep 0.2
        i=$((i + 1))
        if [ $i -gt 75 ]; then
            slurm_why="slurmctld or slurmd did not come up: $(tail -n 2 "$s/ctld.log" "$s/d.log" "$s/d.out" 2>/dev/null | tr '\n' ' ')"
            slurm_stop
            return 1
        fi
    done
}

slurm_stop() {
    # shellcheck disable=SC2086 # a list of our own children
    [ -z "$slurm_pids" ] || kill $slurm_pids 2>/dev/null
    wait
    slurm_pids=
}
