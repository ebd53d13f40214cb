#!/usr/bin/env bats
# case.bats - the case studies from the command line.

setup() {
	cd "$BATS_TEST_DIRNAME/../.."
	db=$BATS_TEST_TMPDIR/case.db
}

@test "every figure printed is in the database" {
	run ./pagereel case refault-flush -o "$db"
	[ "$status" = 0 ]
	[[ $output = *"6 of 6 bounds kept"* ]]
	[ "$(./pagereel sql "$db" "SELECT count(*) FROM case_value WHERE verdict = 'ok'" --format csv | tail -1)" = 6 ]
	[ "$(./pagereel sql "$db" "SELECT count(DISTINCT section) FROM case_value" --format csv | tail -1)" = 5 ]
	run ./pagereel info "$db"
	[ "$status" = 0 ]
	[[ $output = *refault-flush* ]]
}

@test "an existing database is kept unless --force" {
	./pagereel case refault-flush --set duration=2 -o "$db" >/dev/null
	before=$(cksum <"$db")
	run ./pagereel case refault-flush --set duration=2 -o "$db"
	[ "$status" != 0 ]
	[ "$(cksum <"$db")" = "$before" ]
	./pagereel case refault-flush --set duration=2 --force -o "$db" >/dev/null
}

@test "a failed bound is shown and makes the exit status 1" {
	run ./pagereel case kswapd-slab --format csv
	failed=$(grep -c ',FAILED$' <<<"$output" || true)
	[ "$status" = $((failed > 0)) ]
	[ "$(head -1 <<<"$output")" = case,what,reported,replayed,bound,verdict ]
}

@test "json has one object for each figure with a report" {
	run ./pagereel case cleancache --format json
	[ "$(jq length <<<"$output")" = 9 ]
	[ "$(jq -r '.[0].case' <<<"$output")" = cleancache ]
}

@test "--set runs once with the parameter changed" {
	one() { ./pagereel case swappiness --set "accesses=100K,$1" --format json | jq -r '.[] | select(.what == "swapped out").replayed'; }
	[ "$(one swappiness=60)" = '0 pages' ]
	[ "$(one swappiness=100)" != '0 pages' ]
}

@test "--params names every parameter that --set takes" {
	for name in $(./pagereel case cleancache --params | awk '/^    /{print $1}'); do
		run ./pagereel case cleancache --set "$name=nonsense"
		[ "$status" = 2 ]
		[[ $output = *"$name=nonsense"* ]]
	done
}

@test "typing errors get the nearest case and parameter" {
	run ./pagereel case kswapd-slap
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'kswapd-slab'"* ]]
	run ./pagereel case kswapd-slab --set superblock=5
	[ "$status" = 2 ]
	[[ $output = *"did you mean 'superblocks'"* ]]
	run ./pagereel case kswapd-slab --set superblocks
	[ "$status" = 2 ]
	run ./pagereel case
	[ "$status" = 2 ]
}

@test "the same case prints the same figures again" {
	[ "$(./pagereel case swappiness | cksum)" = "$(./pagereel case swappiness | cksum)" ]
}
