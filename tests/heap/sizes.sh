#!/bin/bash
# Large blocks of 500 sizes from one place, and a block that grew through a thousand: a profile has a few lines for each place, and
# whoever scales them comes to the same sum as we do, and to what is in use.
. "$(dirname "$0")/lib.sh"
compile "$TMP/sizes" sizes.c -I"$VT_INCLUDE" "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"
VITRINE=sample=512K "$TMP/sizes" "$TMP" >"$TMP/truth" || fail "expected status 0"
python3 - "$TMP" "$(cat "$TMP/truth")" <<'END' || exit 1
import math, re, sys
folder, truth = sys.argv[1], int(sys.argv[2])
read = lambda name: open(f"{folder}/{name}").read().split("MAPPED_LIBRARIES")[0].splitlines()
scaled = lambda n, size: size / (1 - math.exp(-size / n / 524288)) if n else 0
sums = {}
rows = [re.match(r" *(\d+): +(\d+) \[", line) for line in read("gperftools")]
rows = [(int(m[1]), int(m[2])) for m in rows if m]
sums["gperftools"] = sum(scaled(*row) for row in rows)
lines = read("jemalloc")
blocks = [re.match(r"  t\*: (\d+): (\d+) \[", lines[i + 1]) for i, line in enumerate(lines) if line.startswith("@")]
sums["jemalloc"] = sum(scaled(int(m[1]), int(m[2])) for m in blocks)
sums["collapsed"] = sum(int(line.rsplit(" ", 1)[1]) for line in read("collapsed"))
bad = [f"{k}: expected {sums['collapsed']} within 1 %, saw {v:.0f}" for k, v in sums.items() if abs(v / sums["collapsed"] - 1) > 0.01]
if abs(sums["collapsed"] / truth - 1) > 0.15:
    bad.append(f"expected {truth} within 15 %, saw {sums['collapsed']}")
if not 2 < len(rows) <= 150 or len(rows) != len(blocks):
    bad.append(f"expected up to 150 lines, saw {len(rows)} and {len(blocks)}")
print(*bad, f"{len(rows)} lines, {sums} of {truth}", sep="\n")
sys.exit(bool(bad))
END
