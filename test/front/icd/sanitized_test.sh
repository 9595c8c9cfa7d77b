#!/usr/bin/env bash
# Our programs on Heddle's driver, both built with a sanitizer: no report may have a frame of ours. What the driver below does on its
# own (it is not built with the sanitizer) is not the matter here: PoCL 3.1 leaks programs and orders its locks differently in places.
# sanitized_test.sh HEDDLE FOLDER_OF_PROGRAMS
set -u
heddle=$1 programs=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work/data
unset HEDDLE HEDDLE_DEVICES HEDDLE_LOG HEDDLE_TRACE HEDDLE_SHOW HEDDLE_REPORT
failures=0

# clean PROGRAM ARGUMENTS...: its checks hold, or a sanitizer ended it; and no report names us.
clean() {
  local log=$work/$(basename "$1").log
  ASAN_OPTIONS=log_path=$log TSAN_OPTIONS=log_path=$log:exitcode=0 timeout 300 "$heddle" run "$@" >"$work/out" 2>"$work/err"
  local code=$?
  if [ $code != 0 ] && ! ls "$log".* >/dev/null 2>&1; then
    echo "FAILED: $* (exit code $code)"
    head -20 "$work/err"
    failures=$((failures + 1))
  fi
  if grep -l 'heddle::\|src/front/icd' "$log".* 2>/dev/null; then
    echo "FAILED: $*"
    cat "$log".* | head -60
    failures=$((failures + 1))
  fi
  rm -f "$log".*
}

for program in buffers images events queues svm contexts threads forked heat; do clean "$programs/$program"; done
HEDDLE_REPORT=on HEDDLE_TRACE=$work/trace.json clean "$programs/threads"
for ((i = 0; i < 5; ++i)); do clean "$programs/exit_in_flight" main; done
[ $failures = 0 ] && echo "no report with a frame of ours"
exit $failures
