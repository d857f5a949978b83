package cmd

import (
	"strings"

	"ratescope/model"
	"ratescope/model/report"
)

// orDash returns *s, or a dash where nothing is known.
func orDash(s *string) string {
	if s == nil {
		return report.Dash
	}
	return *s
}

// evidenceMark puts a tilde before what is only likely.
func evidenceMark(evidence string) string {
	if evidence == model.Likely.String() {
		return "~ " + evidence
	}
	return evidence
}

func windowText(ms *int64) string {
	if ms == nil {
		return report.Dash
	}
	return strings.ReplaceAll(report.Each(*ms), " ", "")
}
