#!/bin/bash
# The pages in docs/cases show what the program prints today.
cd "$(dirname "$0")/../.." || exit 1
exec docs/cases/update.sh --check
