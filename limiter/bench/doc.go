// Package bench measures the limiter library beside its peers, in one run on one machine,
// because only ratios travel. It is a module of its own, so that the peers are no
// dependency of anything else.
//
//	go test -run '^$' -bench . -benchtime 1x .
//
// prints every table, in about five minutes: a decision in this process (BenchmarkLocal),
// on a server (BenchmarkServer, BenchmarkStreamDepth, BenchmarkExpired), and from many
// goroutines beside the peers and beside the bare script through go-redis and rueidis
// (BenchmarkThroughput). Contestants take turns and the best turn of each counts, so a
// machine that also does other things changes the ratios little. TestPeers tries what each
// of them does, and writes docs/peers.md.
package bench
