#!/usr/bin/env bash
# Every slot of the table stands in docs/driver.md, and nothing else does. entries_test.sh SOURCE_FOLDER
set -u
slots=$(grep -oE '^(ENTRY|ABSENT)\(\w+' "$1/src/front/icd/entries.def" | cut -d'(' -f2 | sort)
documented=$(sed -n '/^## Entry points/,$p' "$1/docs/driver.md" | grep -oE '`cl[A-Z]\w+`' | tr -d '`' | sort)
[ "$(wc -l <<<"$slots")" -ge 149 ] && diff <(echo "$slots") <(echo "$documented")
