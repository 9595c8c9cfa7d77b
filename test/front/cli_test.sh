#!/usr/bin/env bash
# The program as a user meets it: exit codes, one-line errors, JSON that parses, help everywhere.
set -u
heddle=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache
unset OCL_ICD_FILENAMES HEDDLE HEDDLE_SHOW HEDDLE_REPORT HEDDLE_DEVICES HEDDLE_STORE HEDDLE_CACHE HEDDLE_CACHE_LIMIT HEDDLE_LOG HEDDLE_TRACE HEDDLE_KERNELC HEDDLE_PROVE
failures=0

# expect CODE PATTERN COMMAND...: the exit code, and a pattern that standard output and error together must hold.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output
  output=$("$@" 2>&1)
  local got=$?
  if [ "$got" != "$code" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED: %s\n  exit code %s (expected %s), pattern: %s\n%s\n' "$*" "$got" "$code" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}
# one_line COMMAND...: a caller's mistake gives exit code 2 and exactly one line.
one_line() {
  local output
  output=$("$@" 2>&1)
  local got=$?
  if [ "$got" != 2 ] || [ "$(wc -l <<<"$output")" != 1 ]; then
    printf 'FAILED: %s\n  exit code %s (expected 2), one line expected:\n%s\n' "$*" "$got" "$output"
    failures=$((failures + 1))
  fi
}
json() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert eval(sys.argv[2]), d' "$1" "$2" || failures=$((failures + 1)); }

expect 0 '^heddle [0-9]+\.[0-9]+\.[0-9]+$' "$heddle" --version
expect 0 'HEDDLE_DEVICES' "$heddle" --help
for command in analyze devices run demo bench profile tune; do expect 0 'Usage' "$heddle" "$command" --help; done
for command in list show export import forget calibrate; do expect 0 'Usage' "$heddle" profile "$command" --help; done
expect 2 "no command 'nosuch'; there are: " "$heddle" nosuch
expect 2 'heddle|--help' "$heddle"
expect 2 '--nosuch' "$heddle" devices --nosuch

# Tuning, and replaying a search.
cat >"$work/t.cl" <<'CL'
#pragma heddle tune BX 4 8 16
#pragma heddle group BX
kernel void t(global const float* in, global float* out) { out[get_global_id(0)] = W * in[get_global_id(0)]; }
CL
tune=("$heddle" tune "$work/t.cl" --kernel t --grid 4096 --arg 'float[4096]' --arg 'float[64*64]' --options -DW=2)
expect 0 'best: BX=' "${tune[@]}"
expect 0 '2 of 2 configurations.*all were tried' "${tune[@]}" --constraint 'BX > 4' --strategy exhaustive --json "$work/t.json"
json "$work/t.json" 'len(d["results"]) == 2 and d["results"][0]["invalidity"] == "correct"'
expect 0 '2 configurations, 0 of which fail' "$heddle" tune --replay "$work/t.json" --runs 3 --json "$work/r.json"
json "$work/r.json" 'd["failed_runs"] == 0 and d["median_to_5pct"] <= 2'
expect 0 'build options: -DBX=32 -DW=5' "$heddle" tune "$work/t.cl" --kernel t --grid 4096 --arg 'float[4096]' --arg 'float[4096]' --param BX=32 --derive W=BX-27
[ -e "$work/t.json.partial" ] && { echo "FAILED: t.json.partial is left"; failures=$((failures + 1)); }
expect 0 'transpose \(tiny, random\) on cpu: 3 of' "$heddle" tune transpose --size tiny --budget 3
one_line "$heddle" tune
one_line "$heddle" tune nosuch
one_line "$heddle" tune reduce
one_line "$heddle" tune sgemm --grid 3
one_line "$heddle" tune sgemm --strategy luck
one_line "$heddle" tune sgemm --until 'soon > 3'
one_line "$heddle" tune sgemm --device nosuch
one_line "$heddle" tune sgemm --resume
one_line "${tune[@]}" --constraint 'BX > 99'
one_line "${tune[@]}" --constraint 'BY > 99'
one_line "${tune[@]}" --constraint 'BX / (BX - BX) > 1'
one_line "${tune[@]}" --param BY=
one_line "${tune[@]}" --arg 'int[4]'
one_line "${tune[@]}" --arg 'quad[4]'
one_line "$heddle" tune "$work/t.cl" --kernel t --grid 0 --arg 'float[4096]' --arg 'float[4096]' --options -DW=2
# Two halves of a CPU, measured in parts.
halves=(env HEDDLE_DEVICES=cpu/2 HEDDLE_STORE="$work/calibrated.db" "$heddle" profile calibrate)
expect 0 '^full +cpu.0 cpu.1 +[0-9]+ ' "${halves[@]}" vector_add
expect 0 'parts' env HEDDLE_STORE="$work/calibrated.db" "$heddle" profile list
printf 'kernel void twice(global float* to, global const float* from) { const size_t i = get_global_id(0); to[i] = 2 * from[i]; }\n' >"$work/c.cl"
expect 0 '^- +cpu.0 cpu.1 ' "${halves[@]}" "$work/c.cl" --kernel twice --grid 262144 --arg 'float[262144]' --arg 'float[262144]'
one_line env HEDDLE_DEVICES=cpu "$heddle" profile calibrate vector_add
expect 2 "WHAT is required" "${halves[@]}"
one_line "${halves[@]}" nosuch
one_line "${halves[@]}" vector_add --grid 4
one_line "${halves[@]}" vector_add --input nosuch
one_line "${halves[@]}" "$work/c.cl" --grid 4096
one_line "${halves[@]}" "$work/c.cl" --kernel twice
one_line "$heddle" tune --replay "$work/t.cl"
one_line "$heddle" tune --replay "$work"
one_line "$heddle" tune --replay "$work/nosuch.json"

# A build with a sanitizer has no kernel compiler.
if [ -x "$(dirname "$(dirname "$heddle")")/libexec/heddle/kernelc" ]; then
cat >"$work/k.cl" <<'CL'
#include "n.h"
kernel void k(global int* out, int n) { int i = get_global_id(0); if (i < n) out[i] = N * get_group_id(0); }
CL
echo '#define N 7' >"$work/n.h"
expect 0 'writes  out\[x\] where x < n' "$heddle" analyze "$work/k.cl"
expect 0 'can be cut: in box form' "$heddle" analyze "$work/k.cl"
expect 0 'heddle_base' "$heddle" analyze "$work/k.cl" --emit box
expect 0 'heddle_begin0' "$heddle" analyze "$work/k.cl" --emit window
expect 0 'heddle_clock' "$heddle" analyze "$work/k.cl" --emit clock
expect 0 'heddle_first_x' "$heddle" analyze - --emit schedule:k:x:4x1x1 <<<'kernel void k(global int* o) { o[get_global_id(0)] = 1; }'
expect 0 'schedule of least strides: yx' "$heddle" analyze - <<<'kernel void k(global int* o) { o[get_global_id(1) * 99 + get_global_id(0)] = 1; }'
expect 1 'no schedules: it asks for get_local_id' "$heddle" analyze - --emit schedule:k:x:4x1x1 <<<'kernel void k(global int* o) { o[get_local_id(0)] = 1; }'
expect 2 'schedule:KERNEL:ORDER:TILE' "$heddle" analyze "$work/k.cl" --emit schedule:k:x
expect 0 'no kernels' "$heddle" analyze "$work/n.h"
expect 2 'does not compile with BX=4' "$heddle" tune "$work/t.cl" --grid 4096 --arg 'float[4096]' --arg 'float[4096]' --options -DW=nosuch
one_line "$heddle" tune "$work/t.cl" --grid 4096 --arg 'float[4096]' --arg int=3 --options -DW=2
one_line "$heddle" tune "$work/t.cl" --grid 4096 --arg 'float[4096]' --options -DW=2
expect 0 'kernel late' "$heddle" analyze - -- -DNAME=late "-D TEXT(a)=a b" <<<'kernel void NAME() {}'
expect 1 'source has errors' "$heddle" analyze - <<<'kernel void k() { nonsense; }'
expect 1 'no kernel compiler' env HEDDLE_KERNELC=off "$heddle" analyze "$work/k.cl"
expect 1 'cannot be started' env HEDDLE_CACHE=off HEDDLE_KERNELC=/nowhere "$heddle" analyze "$work/k.cl"
expect 2 'cannot be read' "$heddle" analyze "$work/nosuch.cl"
expect 2 '--emit' "$heddle" analyze "$work/k.cl" --emit nosuch
"$heddle" analyze "$work/k.cl" --json >"$work/facts.json" || failures=$((failures + 1))
json "$work/facts.json" 'd["kernels"][0]["name"] == "k" and d["kernels"][0]["answers"]["can_be_cut"]'
fi

expect 0 'cpu' "$heddle" devices
"$heddle" devices --json >"$work/devices.json" || failures=$((failures + 1))
json "$work/devices.json" 'len(d["devices"]) >= 1 and all(len(x["fingerprint"]) == 32 for x in d["devices"])'
if [ "$(nproc)" -ge 2 ]; then
  HEDDLE_DEVICES=cpu/2 "$heddle" devices --json >"$work/halves.json" || failures=$((failures + 1))
  json "$work/halves.json" '[x["id"] for x in d["devices"]] == ["cpu.0", "cpu.1"]'
fi
for value in nosuch cpu/0 cpu/99999 , 'cpu,cpu/2'; do one_line env HEDDLE_DEVICES="$value" "$heddle" devices; done
for value in cpu/0 , /2; do one_line env HEDDLE_DEVICES="$value" "$heddle" profile list; done
one_line env HEDDLE_LOG=loud "$heddle" devices
one_line env HEDDLE_CACHE_LIMIT=much "$heddle" devices
one_line env HEDDLE_TRACE=/proc/nowhere/t.json "$heddle" devices
expect 0 'HEDDLE_DEVICE is not a setting; did you mean HEDDLE_DEVICES' env HEDDLE_DEVICE=cpu "$heddle" devices
expect 1 'no OpenCL device can be used; Debian' env OCL_ICD_VENDORS="$work" "$heddle" devices
expect 1 'libnosuch.so cannot be loaded' env OCL_ICD_VENDORS=libnosuch.so "$heddle" devices
mkdir -p "$work/pocl"
expect 0 "cpu" env -u HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME POCL_CACHE_DIR="$work/pocl" "$heddle" devices

expect 0 'runs agree with the host reference' "$heddle" demo --size tiny vector_add transpose
expect 2 "no workload 'nosuch'" "$heddle" demo nosuch
expect 2 "size 'huge'" "$heddle" demo --size huge
expect 0 'agree' env HEDDLE_TRACE="$work/trace.json" "$heddle" demo --size tiny saxpy
json "$work/trace.json" '{"slice", "transfer", "build"} <= {e.get("cat") for e in d}'

"$heddle" bench overhead --quick --json "$work/overhead.json" >/dev/null || failures=$((failures + 1))
json "$work/overhead.json" 'd["suite"] == "overhead" and len(d["rows"]) > 0 and d["summary"]["trace_event_ns"] > 0'
"$heddle" bench clock --quick --json "$work/clock.json" >/dev/null || failures=$((failures + 1))
json "$work/clock.json" 'd["problems"] == [] and all(s["spread_pct"] for s in d["summary"].values()) and any("in kernel" in r["name"] and r["median"] > 0 for r in d["rows"])'
"$heddle" bench dropin --quick --json "$work/dropin.json" >/dev/null || failures=$((failures + 1))
json "$work/dropin.json" '{"launch_overhead_us", "chain_ratio", "transfer_ratio", "threads_ratio"} <= d["summary"].keys()'
expect 2 "no suite 'nosuch'; there are: " "$heddle" bench nosuch
expect 2 'cannot be written' "$heddle" bench device --quick --json /proc/nowhere/x.json
expect 2 'is a folder' "$heddle" bench device --quick --json "$work"
expect 2 'resume needs' env HEDDLE_CACHE=off "$heddle" bench device --resume
expect 2 "no part of suite 'device' has 'nosuch' in its name; there are: " "$heddle" bench device --quick --only nosuch --json "$work/only.json"
[ ! -e "$work/only.json.partial" ] || { echo "a partial result of nothing stays"; failures=$((failures + 1)); }
expect 2 'source checkout' "$heddle" test

# A program that is run has its own words, exit code, signals and streams; its options are not ours.
expect 0 '^-- a --show run demo$' "$heddle" run --devices cpu -- echo -- a --show run demo
expect 3 '^in out$' "$heddle" run --show sh -c 'read x; echo "$x" out; exit 3' <<<in
expect 143 '' "$heddle" run sh -c 'kill -TERM $$'
expect 127 'nosuch cannot be run: No such file' "$heddle" run ./nosuch
expect 126 'cannot be run: Permission denied' "$heddle" run "$work"
expect 2 'which program' "$heddle" run
expect 2 'which program' "$heddle" run --show --
expect 2 'is not a device' "$heddle" run --devices cpu/0 true
expect 2 '--nosuch' "$heddle" run --nosuch true
expect 0 "^$work/vendors\$" env OCL_ICD_VENDORS="$work/vendors" "$heddle" run sh -c 'echo "$HEDDLE_INNER_OCL_ICD_VENDORS"'
expect 0 "^$work/vendors\$" env OCL_ICD_VENDORS="$work/vendors" "$heddle" run "$heddle" run sh -c 'echo "$HEDDLE_INNER_OCL_ICD_VENDORS"'
expect 0 "^/[^ ]*/trace.json on cpu\$" "$heddle" run --trace "$work/../trace.json" --show --devices=cpu sh -c 'echo "$HEDDLE_TRACE $HEDDLE_REPORT $HEDDLE_DEVICES"'

# Whether the demo's own times were kept depends on what else the machine does, so a record is imported.
cat >"$work/import.json" <<'JSON'
{"heddle_profile": 1, "names": {"0123456789abcdef0123456789abcdef": "some_kernel"},
 "records": [{"kernel": "0123456789abcdef0123456789abcdef", "variant": "base", "parameters": "", "device": "d", "shape": "8x1x1/8x1x1",
   "count": 1, "mean_ns_per_point": 2.0, "m2": 0.0, "least": 2.0, "most": 2.0, "failures": {},
   "samples": [{"points": 8, "duration_ns": 16, "bytes_in": 0, "bytes_out": 0, "contention": 1.0, "when": 1}]}]}
JSON
one_line "$heddle" profile show some_kernel
one_line "$heddle" profile import "$work/devices.json"
one_line "$heddle" profile import "$work/nosuch.json"
expect 0 '' "$heddle" profile import "$work/import.json"
expect 0 'some_kernel' "$heddle" profile list
expect 0 'some_kernel' "$heddle" profile show some_kernel
"$heddle" profile export "$work/export.json" >/dev/null || failures=$((failures + 1))
json "$work/export.json" 'any(r["shape"] == "8x1x1/8x1x1" for r in d["records"])'
"$heddle" profile show some_kernel --json >"$work/show.json" || failures=$((failures + 1))
json "$work/show.json" 'len(d["records"]) == 1 and len(d["names"]) == 1 and len(d["records"][0]["samples"]) == 1'
# Where something is written: new files are private, others keep their mode, links stay links, nothing else is left.
[ "$(stat -c %a "$work/export.json")" = 600 ] || { echo "FAILED: mode of a new export"; failures=$((failures + 1)); }
mkdir "$work/out" && echo old >"$work/out/real.json" && chmod 640 "$work/out/real.json"
ln -s real.json "$work/out/link.json" && ln -s later.json "$work/out/dangling.json"
expect 0 'written' "$heddle" profile export "$work/out/link.json"
expect 0 'written' "$heddle" profile export "$work/out/dangling.json"
json "$work/out/real.json" 'len(d["records"]) >= 1'
[ "$(stat -c %a "$work/out/real.json")" = 640 ] || { echo "FAILED: mode of a replaced file"; failures=$((failures + 1)); }
[ "$(cd "$work/out" && find . -type l | sort | xargs)" = "./dangling.json ./link.json" ] && [ -f "$work/out/later.json" ] &&
  [ "$(find "$work/out" | wc -l)" = 5 ] || { echo "FAILED: links, or something left"; failures=$((failures + 1)); }
one_line "$heddle" profile export "$work/out"
one_line "$heddle" profile export "$work/nosuch/x.json"
# A store that cannot be read is not an empty one, and no export is lost to it.
mkdir "$work/folder"
for command in list 'show k' "export $work/out/real.json" 'forget --kernel k' 'forget --all'; do
  # shellcheck disable=SC2086
  one_line env HEDDLE_STORE="$work/folder" "$heddle" profile $command
  # shellcheck disable=SC2086
  one_line env HEDDLE_STORE=off "$heddle" profile $command
done
echo garbage >"$work/garbage.db"
expect 2 'moved' env HEDDLE_STORE="$work/garbage.db" "$heddle" profile export "$work/out/real.json"
json "$work/out/real.json" 'len(d["records"]) >= 1'
# Names are shown, not obeyed, and no line is wider than 100 columns.
sed 's/some_kernel/\\u001b[2J\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22\\u6f22/
  s/"variant": "base"/"variant": "a_rather_long_name_of_a_variant_that_does_not_end_soon"/' "$work/import.json" >"$work/odd.json"
expect 0 'imported' env HEDDLE_STORE="$work/odd.db" "$heddle" profile import "$work/odd.json"
for columns in 20 100 300; do
  HEDDLE_STORE="$work/odd.db" COLUMNS=$columns "$heddle" profile list >"$work/list.txt" || failures=$((failures + 1))
  python3 - "$work/list.txt" <<'PYTHON' || failures=$((failures + 1))
import sys, unicodedata
for line in open(sys.argv[1], encoding="utf-8").read().splitlines():
    assert "\x1b" not in line, line
    assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) <= 100, line
PYTHON
done
HEDDLE_STORE="$work/odd.db" "$heddle" profile show 0123 | grep -q $'\x1b' && { echo "FAILED: show obeys"; failures=$((failures + 1)); }
python3 -c 'print("{\"heddle_profile\": 1, \"names\": {}, \"records\": " + "[" * 100000 + "]" * 100000 + "}")' >"$work/deep.json"
one_line "$heddle" profile import "$work/deep.json"
for option in --kernel --device; do
  one_line "$heddle" profile forget "$option" ''
  expect 2 "$option" "$heddle" profile forget "$option="
done
one_line "$heddle" profile show ''
one_line "$heddle" profile forget
one_line "$heddle" profile forget --kernel nosuch
expect 0 '' "$heddle" profile forget --all
"$heddle" profile export "$work/empty.json" >/dev/null || failures=$((failures + 1))
json "$work/empty.json" 'd["records"] == []'
expect 0 '' "$heddle" profile list

[ "$failures" = 0 ] && echo "all right" || { echo "$failures failed"; exit 1; }
