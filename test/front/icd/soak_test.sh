#!/usr/bin/env bash
# Random programs give the same on Heddle as on the driver below it, whoever shares their launches.
# soak_test.sh HEDDLE FOLDER_OF_PROGRAMS [SECONDS [FIRST_SEED]]
set -u
heddle=$1 programs=$2 seconds=${3:-60} seed=${4:-$(date +%s)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data
unset "${!HEDDLE@}"
# The devices; who has memory of its own, as GPUs do; which launches are shared, or timed in another queue. Rounds and
# threads.
settings=(
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always 4 2"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always HEDDLE_APART=cpu.0 4 2"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always HEDDLE_APART=cpu.1 4 1"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=auto HEDDLE_APART=cpu.0 8 3"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always HEDDLE_APART=cpu.0,cpu.1 4 2"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=auto 8 4"
  "HEDDLE_VARIANTS=beside 8 3"
  "HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=auto HEDDLE_APART=cpu.0 HEDDLE_VARIANTS=beside 8 2"
)
# PoCL (3.1 and 5.0 seen) counts what it has loaded of a kernel wrongly where two forms of it run at once, with and
# without Heddle: such an end says nothing.
driver_fault() { grep -q 'pocl_release_dlhandle_cache: Assertion' "$1"; }

failures=0 done=0 faults=0
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ] && [ $failures -lt 3 ]; do
  words=(${settings[$((done % ${#settings[@]}))]})
  threads=${words[-1]} rounds=${words[-2]}
  done=$((done + 1)) seed=$((seed + 1))
  expected=$(timeout 300 "$programs/soak" $seed $rounds $threads 2>"$work/inner.err")
  code=$?
  if [ $code != 0 ]; then
    driver_fault "$work/inner.err" && faults=$((faults + 1)) && continue
    echo "FAILED on the driver below: soak $seed $rounds $threads (exit code $code)"
    cat "$work/inner.err"
    failures=$((failures + 1))
  fi
  got=$(env "${words[@]:0:${#words[@]}-2}" timeout 300 "$heddle" run "$programs/soak" $seed $rounds $threads 2>"$work/outer.err")
  code=$?
  if [ $code != 0 ] || [ "$got" != "$expected" ]; then
    driver_fault "$work/outer.err" && faults=$((faults + 1)) && continue
    echo "FAILED: ${words[*]:0:${#words[@]}-2} heddle run soak $seed $rounds $threads (exit code $code; '$got', expected '$expected')"
    cat "$work/outer.err"
    failures=$((failures + 1))
  fi
done
echo "$done random programs, $failures wrong, $faults ended by a fault of the driver below"
# Where the driver is at fault all the time, nothing was tested.
exit $((failures > 0 || 2 * faults > done))
