#!/usr/bin/env bash
# Record a block trace of RocksDB (db_bench) and PostgreSQL (pgbench) sharing one ext4 file system.
#
#   usage: record_trace.sh OUTPUT.blkparse.zst        (as root)
#
# The file system is on a loop device with 4-KiB sectors and is mounted with -o discard. The kernel's `blk` tracer
# notes every request issued to that device, from mkfs to the last umount. The script installs nothing, takes about
# five minutes, and undoes all its settings, however it ends. If a run lost an event, or a program failed, it leaves
# no output.
#
# Parameters are environment variables; these are their defaults:

: "${DEVICE_MIB:=704}"              # size of the device
: "${RUN_SECONDS:=200}"             # length of the mixed phase, after both databases are loaded
: "${BACKING_DIR:=/dev/shm}"        # where the loop device's file is kept
: "${TRACE_BUFFER_MIB:=64}"         # kernel trace buffer per CPU; a request takes about 52 bytes

: "${ROCKSDB_KEYS:=150000}"         # records of 16 + 1000 bytes
: "${ROCKSDB_WRITE_RATE:=2500000}"  # user bytes per second overwritten in the mixed phase
: "${ROCKSDB_READ_RATE:=2560}"      # point reads per second (2560 is the least db_bench can limit to);
                                    # their keys are skewed and most are served by the block cache

: "${POSTGRES_SCALE:=11}"           # pgbench scale: about 15 MiB each
: "${POSTGRES_RATE:=400}"           # transactions per second in the mixed phase
: "${POSTGRES_CLIENTS:=4}"
: "${POSTGRES_BIN:=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)}"

: "${SEED:=1}"                      # of both benchmarks; their timing remains the machine's

set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)

say() { printf 'record_trace: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# --- What must be there -------------------------------------------------------------------------------

declare -A missing=()  # Debian package -> its programs that are not there

require() {  # require PACKAGE PROGRAM...
    local package=$1 program
    for program in "${@:2}"; do
        command -v "$program" >/dev/null || missing[$package]+=" ${program##*/}"
    done
}

check_everything() {
    require rocksdb-tools db_bench
    require postgresql "$POSTGRES_BIN"/{initdb,pg_ctl,pgbench}
    require e2fsprogs mkfs.ext4
    require util-linux losetup setpriv
    require zstd zstd
    require python3 python3
    local package
    for package in "${!missing[@]}"; do
        say "missing:${missing[$package]} (Debian package $package)"
    done
    [[ ${#missing[@]} -eq 0 ]] || die "install what is missing and try again"
    [[ $EUID -eq 0 ]] || die "must be run as root: it mounts a file system and traces the kernel"
    [[ -d $BACKING_DIR ]] || die "BACKING_DIR: no such directory: $BACKING_DIR"
    [[ -d $(dirname "$output") ]] || die "no such directory: $(dirname "$output")"
}

# --- Undoing everything -------------------------------------------------------------------------------

scratch='' backing='' device='' mounted='' postgres='' tracefs=''
declare -A running=()         # process id -> name of a benchmark under way
declare -A tracing_before=()  # tracefs file -> its content before we came

clean_up() {
    local status=$?
    trap - EXIT INT TERM HUP
    set +e
    if [[ ${#running[@]} -gt 0 ]]; then
        kill "${!running[@]}"
        wait
    fi 2>/dev/null
    [[ -z $postgres ]] || control_postgres --mode=immediate stop
    [[ -z $mounted ]] || umount "$scratch/fs"
    restore_tracing
    [[ -z $device ]] || losetup -d "$device"
    [[ -z $tracefs ]] || umount "$tracefs"
    [[ -z $backing ]] || rm -f "$backing"
    [[ -z $scratch ]] || rm -rf --one-file-system "$scratch"
    exit "$status"
}

# --- Tracing ------------------------------------------------------------------------------------------

set_tracing() {  # set_tracing FILE VALUE, remembering the old value
    # Some files show more than the value that they accept: `7 (expanded: 1408)`, `[local] global mono`.
    tracing_before[$1]=$(sed -E 's/.*(\[|expanded: )([^])]*).*/\2/' "$tracefs/$1")
    echo "$2" >"$tracefs/$1"
}

start_tracing() {
    mkdir "$scratch/tracing"
    mount -t tracefs none "$scratch/tracing"
    tracefs=$scratch/tracing
    switches=/sys/block/${device##*/}/trace
    [[ -d $switches ]] || die "this kernel has no blk tracer (CONFIG_BLK_DEV_IO_TRACE)"
    [[ $(<"$tracefs/current_tracer") == nop ]] ||
        die "the kernel's tracer is in use: $(<"$tracefs/current_tracer")"
    set_tracing tracing_on 0
    set_tracing buffer_size_kb $((TRACE_BUFFER_MIB * 1024))
    set_tracing saved_cmdlines_size 32768  # process names
    set_tracing trace_clock mono           # one clock for all CPUs
    set_tracing options/overwrite 0        # a full buffer counts what it drops
    set_tracing current_tracer blk
    set_tracing options/blk_classic 1      # blkparse's columns
    echo issue >"$switches/act_mask"
    echo 1 >"$switches/enable"
    echo 1 >"$tracefs/tracing_on"
}

save_events() {  # save_events FILE; fails if the kernel lost any
    local lost
    echo 0 >"$tracefs/tracing_on"
    lost=$(awk '/overrun:|dropped events:/ { lost += $NF } END { print lost + 0 }' \
        "$tracefs"/per_cpu/cpu*/stats)
    [[ $lost -eq 0 ]] || die "the kernel lost $lost events: raise TRACE_BUFFER_MIB"
    cat "$tracefs/trace" >"$1"
}

restore_tracing() {
    local file
    [[ ${#tracing_before[@]} -gt 0 ]] || return 0
    echo 0 >"$tracefs/tracing_on"
    echo 0 >"$switches/enable"
    for file in options/blk_classic current_tracer options/overwrite trace_clock saved_cmdlines_size \
        buffer_size_kb tracing_on; do
        [[ -z ${tracing_before[$file]:-} ]] || echo "${tracing_before[$file]}" >"$tracefs/$file"
    done
}

# --- The device and its file system -------------------------------------------------------------------

attach_device() {
    backing=$(mktemp "$BACKING_DIR/record_trace.XXXXXX")
    truncate -s "${DEVICE_MIB}M" "$backing"
    if ! device=$(losetup -f --show -b 4096 --direct-io=on "$backing" 2>/dev/null); then
        say "no direct I/O in $BACKING_DIR: the backing file goes through the page cache"
        device=$(losetup -f --show -b 4096 "$backing")
    fi
}

mount_device() {
    # Inode tables and the journal are initialised immediately, so that no background thread writes zeroes during the
    # recording.
    mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "$device"
    mkdir "$scratch/fs"
    mount -o discard "$device" "$scratch/fs"
    mounted=yes
}

unmount_device() {
    umount "$scratch/fs"
    mounted=''
}

# --- The two databases --------------------------------------------------------------------------------

as_postgres() { (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"); }

control_postgres() {
    as_postgres "$POSTGRES_BIN/pg_ctl" --pgdata="$scratch/fs/postgres" \
        --log="$scratch/fs/postgres/server.log" --wait --silent "$@"
}

start_postgres() {
    install -d -o postgres "$scratch/fs/postgres" "$scratch/socket"
    as_postgres "$POSTGRES_BIN/initdb" --pgdata="$scratch/fs/postgres" --auth=trust --encoding=UTF8 \
        --locale=C --wal-segsize=4 >/dev/null
    cat >>"$scratch/fs/postgres/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$scratch/socket'
shared_buffers = 16MB
checkpoint_timeout = 30s
min_wal_size = 16MB
max_wal_size = 48MB
backend_flush_after = 64kB
CONF
    postgres=yes
    control_postgres start
}

stop_postgres() {
    control_postgres --mode=fast stop
    postgres=''
}

# Both functions replace the shell that runs them, so they are called through `start`.

postgres_bench() {
    exec "$POSTGRES_BIN/pgbench" -h "$scratch/socket" -U postgres "$@" postgres
}

rocksdb_bench() {
    exec db_bench --db="$scratch/fs/rocksdb" --seed="$SEED" --num="$ROCKSDB_KEYS" \
        --key_size=16 --value_size=1000 --compression_type=none \
        --write_buffer_size=$((4 << 20)) --target_file_size_base=$((4 << 20)) \
        --max_bytes_for_level_base=$((16 << 20)) --level_compaction_dynamic_level_bytes=true \
        --max_background_jobs=2 --bloom_bits=10 --cache_size=$((32 << 20)) \
        --wal_bytes_per_sync=$((64 << 10)) \
        --use_direct_reads=true --use_direct_io_for_flush_and_compaction=true \
        --compaction_readahead_size=$((1 << 20)) "$@"
}

start() {  # start BENCHMARK ARGUMENT...: runs it in the background
    "$@" >"$scratch/$1.log" 2>&1 &
    running[$!]=$1
}

wait_for_all() {
    local id
    for id in "${!running[@]}"; do
        if ! wait "$id"; then
            tail -n 20 "$scratch/${running[$id]}.log" >&2
            die "${running[$id]} failed"
        fi
        unset "running[$id]"
    done
}

load_databases() {
    start postgres_bench --initialize --init-steps=dtGvp --scale="$POSTGRES_SCALE" --fillfactor=80
    start rocksdb_bench --benchmarks=filluniquerandom
    wait_for_all
}

run_databases() {
    start postgres_bench --time="$RUN_SECONDS" --rate="$POSTGRES_RATE" --client="$POSTGRES_CLIENTS" \
        --no-vacuum --random-seed="$SEED"
    start rocksdb_bench --benchmarks=readwhilewriting --use_existing_db=true --duration="$RUN_SECONDS" \
        --benchmark_write_rate_limit="$ROCKSDB_WRITE_RATE" --benchmark_read_rate_limit="$ROCKSDB_READ_RATE" \
        --read_random_exp_range=40
    wait_for_all
}

# --- The recording ------------------------------------------------------------------------------------

if [[ $# -ne 1 || $1 == -* ]]; then
    sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0" >&2
    exit 2
fi
output=$1
check_everything

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

scratch=$(mktemp -d)
chmod 755 "$scratch"  # the server runs as the user postgres
attach_device
start_tracing
mount_device
start_postgres

say "loading both databases"
load_databases
say "running both for $RUN_SECONDS seconds"
run_databases
stop_postgres
unmount_device

say "converting"
save_events "$scratch/events"
python3 "$here/blk_tracer_to_blkparse.py" --device-bytes=$((DEVICE_MIB << 20)) "$scratch/events" \
    >"$scratch/blkparse"
zstd -q -19 -T0 "$scratch/blkparse" -o "$scratch/blkparse.zst"
install -m 644 "$scratch/blkparse.zst" "$output"
say "wrote $output: $(wc -l <"$scratch/blkparse") requests, $(stat -c %s "$output") bytes"
