#!/bin/bash
# prices.sh - every operation that a model counts has a price in the built-in profile: one without
# makes the CPU cost of the whole replay unknown.
cd "$(dirname "$0")/../.." || exit 1
bad=0
for op in $(grep -rhoE '"[a-z_]+\.(page|call|pair|superblock|object|folio|node|batch)"' replay/*.c replay/kernel replay/models | sort -u); do
	grep -q "{ $op, " replay/cost.c || { echo "$op is counted, and has no price in replay/cost.c"; bad=1; }
done
exit $bad
