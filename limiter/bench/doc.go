// Package bench measures the limiter library beside its peers, in one run on one machine,
// because only ratios travel. It is a module of its own, so that the peers are no
// dependency of anything else.
//
//	go test -bench . -benchtime 1s ./...
package bench
