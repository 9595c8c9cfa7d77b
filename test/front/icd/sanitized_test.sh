#!/usr/bin/env bash
# Our programs on Heddle's driver, both built with a sanitizer: no report may have a frame of ours. What the driver below does on its
# own (it is not built with the sanitizer) is not the matter here: PoCL 3.1 leaks programs and orders its locks differently in places.
# sanitized_test.sh HEDDLE FOLDER_OF_PROGRAMS SANITIZERS
set -u
heddle=$1 programs=$2 sanitizers=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data
unset "${!HEDDLE@}"
failures=0

# run NAME COMMAND...: reports go to files that begin with NAME.
run() {
  local log=$work/$1
  shift
  rm -f "$log".*
  ASAN_OPTIONS=log_path=$log:exitcode=77${ASAN_OPTIONS_MORE:-} TSAN_OPTIONS=log_path=$log:exitcode=0 timeout 300 "$@" >"$work/out" 2>"$work/err"
}
leaked() { cat "$work/$1".* 2>/dev/null | grep -oE '[0-9]+ byte\(s\) leaked' | cut -d' ' -f1; }

# clean PROGRAM ARGUMENTS...: its checks hold, or AddressSanitizer ended it (77); no report names us, and no more leaks than on the
# driver below.
clean() {
  local code
  run heddle "$heddle" run "$@"
  code=$?
  if [ $code != 0 ] && { [ $code != 77 ] || ! ls "$work"/heddle.* >/dev/null 2>&1; }; then
    echo "FAILED: $* (exit code $code)"
    head -20 "$work/err"
    failures=$((failures + 1))
  fi
  grep -q 'heddle::\|src/front/icd' "$work"/heddle.* 2>/dev/null || return
  if [ -n "$(leaked heddle)" ]; then
    run inner "$@"
    [ "$(leaked heddle)" = "$(leaked inner)" ] && return
  fi
  echo "FAILED: $*"
  cat "$work"/heddle.* | head -60
  failures=$((failures + 1))
}

# PoCL keeps a reference to the context when it refuses an image. A program still has the context's address then; behind ours nobody
# has, so it counts as a leak.
ASAN_OPTIONS_MORE=:detect_leaks=0 clean "$programs/images"
# programs.c is not among them: PoCL 3.1 itself does not survive it under AddressSanitizer.
for program in buffers devices events queues svm contexts threads forked heat; do clean "$programs/$program"; done
HEDDLE_REPORT=on HEDDLE_TRACE=$work/trace.json clean "$programs/threads"
HEDDLE_VARIANTS=always clean "$programs/groups" 20
HEDDLE_VARIANTS=beside clean "$programs/groups" 20
for ((i = 0; i < 5; ++i)); do clean "$programs/exit_in_flight" main; done
# With launches shared; the engine and its devices are there until the process ends.
export HEDDLE_DEVICES=cpu/2 HEDDLE_SPLIT=always ASAN_OPTIONS_MORE=:detect_leaks=0
for apart in '' cpu.0; do
  [[ $sanitizers == *address* ]] || break
  for program in buffers events queues threads "soak 11 3 2" "soak 12 3 1" "soak 13 2 3"; do HEDDLE_APART=$apart clean "$programs"/$program; done
done
[ $failures = 0 ] && echo "no report with a frame of ours"
exit $failures
