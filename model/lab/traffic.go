package lab

// Given returns a source of these arrivals, which must be in the order of time.
func Given(list []Arrival) Source { return &given{list} }

type given struct{ rest []Arrival }

func (g *given) Next() (Arrival, bool) {
	if len(g.rest) == 0 {
		return Arrival{}, false
	}
	a := g.rest[0]
	g.rest = g.rest[1:]
	return a, true
}
