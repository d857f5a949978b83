package main

import "recorder"

// redisTutorials are the limiters that redis.io shows to its readers, as far as their form is no other program's.
func redisTutorials() []recorder.Scenario {
	const name, version = "redis-tutorial", "redis.io"
	first := library(name, version, "fixed-window", "charged", "request of 10.0.0.1", []string{},
		func(c recorder.Configured, s store, _ int64) recorder.Answer {
			n := s.number(0, "INCR", "rate.limit:10.0.0.1")
			if n == 1 {
				s.do("EXPIRE", "rate.limit:10.0.0.1", plain(c.WindowMS/1000))
			}
			return answer(n <= c.Limit, nil, nil, nil, nil, map[string]any{"count": n})
		}, "INCR, and EXPIRE at the first: the window begins with the first request")
	return first.Scenarios(recorder.Variant{Name: "incr-expire", Configured: recorder.Per(5, 4000), Story: recorder.Single})
}

func increx() []recorder.Scenario {
	l := library("increx", "Redis 8.8", "fixed-window", "free", "INCREX alice BYINT %d UBOUND 5 PX 4000 ENX", []string{},
		func(c recorder.Configured, s store, cost int64) recorder.Answer {
			n := s.number(0, "GET", "alice")
			if n+float64(cost) > c.Limit {
				return answer(false, nil, nil, nil, nil, []float64{n, 0})
			}
			n = s.number(0, "INCRBY", "alice", cost)
			if s.number(-2, "PTTL", "alice") == -1 {
				s.do("PEXPIRE", "alice", plain(c.WindowMS))
			}
			return answer(true, nil, nil, nil, nil, []float64{n, float64(cost)})
		}, "the server used here does not know INCREX: GET, INCRBY and PEXPIRE stand for it", "a refused request leaves value and TTL alone; ENX sets the TTL only where there is none")
	return l.Scenarios(recorder.Variant{Name: "whole", Configured: recorder.Per(5, 4000), Story: recorder.Whole})
}
