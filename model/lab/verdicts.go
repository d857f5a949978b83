package lab

// Verdicts is what became of one arrival at every candidate, by their numbers.
type Verdicts struct{ allowed, wrong, over, sent uint8 }

// Allowed reports whether candidate i admitted the arrival.
func (v Verdicts) Allowed(i int) bool { return v.allowed&(1<<i) != 0 }

// Wrong reports whether candidate i decided otherwise than the true window of what it had
// admitted itself: admitted with that window full, or denied with room in it. GCRA and the buckets, which
// promise a burst and a rate and nothing of a window, are never wrong but by a fault.
func (v Verdicts) Wrong(i int) bool { return v.wrong&(1<<i) != 0 }

// Over reports whether candidate i, which promises a burst and a rate, has with this arrival admitted more above the
// limit in one true window than ever before: its excess, which is no mistake.
func (v Verdicts) Over(i int) bool { return v.over&(1<<i) != 0 }

// Sent reports whether the arrival was sent to candidate i. Clients that retry send to
// the candidate that denied them, see Arrival.Only.
func (v Verdicts) Sent(i int) bool { return v.sent&(1<<i) != 0 }

func (v *Verdicts) set(i int, allowed, wrong, over bool) {
	v.sent |= 1 << i
	if allowed {
		v.allowed |= 1 << i
	}
	if wrong {
		v.wrong |= 1 << i
	}
	if over {
		v.over |= 1 << i
	}
}
